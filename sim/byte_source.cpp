#include "sim/byte_source.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sim/error.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;

[[noreturn]] void refuse(const std::string& file, const std::string& why, const std::string& hint) {
  throw ScenarioError(Diagnostic{file, "", why, hint});
}

}  // namespace

class ByteSource::Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  explicit Input(std::FILE* file) : file_(file), block_(kPiece, '\0') {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() {
    if (file_ != nullptr) std::fclose(file_);
  }
  std::string_view next(const std::string& name) {
    if (file_ == nullptr) {
      const std::string_view piece = bytes_.substr(0, kPiece);
      bytes_.remove_prefix(piece.size());
      return piece;
    }
    errno = 0;
    const std::size_t count = std::fread(block_.data(), 1, block_.size(), file_);
    if (count == 0 && std::ferror(file_) != 0)
      refuse(name, fmt::format("cannot be read: {}", std::strerror(errno)), "");
    return {block_.data(), count};
  }

 private:
  std::FILE* file_ = nullptr;
  std::string_view bytes_;
  std::string block_;
};

class ByteSource::Unpacker {
 public:
  Unpacker() : block_(kPiece, '\0') {
    constexpr int kGzipWindow = 15 + 16;  // the largest window, in gzip's format
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  ~Unpacker() { inflateEnd(&stream_); }

  std::string_view next(ByteSource& source) {
    while (true) {
      if (stream_.avail_in == 0) {
        const std::string_view packed = source.raw();
        if (packed.empty()) {
          if (!between_) refuse(source.name_, "ends in the middle of packed data", "copy it again");
          return {};
        }
        taken_ += static_cast<double>(packed.size());
        stream_.avail_in = static_cast<unsigned int>(packed.size());
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      }
      if (between_) inflateReset(&stream_);  // another member of the file
      between_ = false;
      const std::size_t count = inflate_block(source.name_);
      if (count > 0) return {block_.data(), count};
    }
  }

 private:
  std::size_t inflate_block(const std::string& name) {
    stream_.next_out = reinterpret_cast<Bytef*>(block_.data());
    stream_.avail_out = static_cast<unsigned int>(block_.size());
    const int state = inflate(&stream_, Z_NO_FLUSH);
    if (state == Z_MEM_ERROR) throw std::bad_alloc();
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
      refuse(name,
             fmt::format("is damaged ({})",
                         stream_.msg != nullptr ? stream_.msg : "it needs a dictionary"),
             "copy it again");
    between_ = state == Z_STREAM_END;
    const std::size_t count = block_.size() - stream_.avail_out;
    given_ += static_cast<double>(count);
    // Traces pack to about a thirtieth; gzip's most is a thousandth.
    constexpr double kAlwaysRight = 256 << 20, kMostTimes = 400;
    if (given_ > kAlwaysRight && given_ > kMostTimes * taken_)
      refuse(name, fmt::format("unpacks to more than {} times its size", kMostTimes),
             "unpack it yourself if that is meant");
    return count;
  }

  z_stream stream_{};
  std::string block_;
  bool between_ = false;  ///< a member has ended and no other has begun
  double taken_ = 0, given_ = 0;
};

ByteSource::ByteSource(const std::string& path) : name_(path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr)
    refuse(path, fmt::format("cannot be opened: {}", std::strerror(errno)), "check the path");
  input_ = std::make_unique<Input>(file);
}

ByteSource::ByteSource(std::string name, std::string_view bytes)
    : name_(std::move(name)), input_(std::make_unique<Input>(bytes)) {}

ByteSource::~ByteSource() = default;

// What was looked at before is taken first.
std::string_view ByteSource::raw() {
  std::string_view piece = ahead_;
  ahead_ = {};
  return piece.empty() ? input_->next(name_) : piece;
}

std::string_view ByteSource::peek() {
  if (!begun_) {
    begun_ = true;
    ahead_ = input_->next(name_);
    if (ahead_.starts_with("\x1f\x8b")) {
      unpacker_ = std::make_unique<Unpacker>();
      const std::string_view first = unpacker_->next(*this);
      ahead_ = first;
    }
  }
  return ahead_;
}

std::string_view ByteSource::next() {
  peek();
  if (!ahead_.empty() || unpacker_ == nullptr) return raw();
  return unpacker_->next(*this);
}

bool LineReader::next(std::string_view& line) {
  if (ended_) return false;
  whole_.clear();
  while (true) {
    const std::size_t end = rest_.find('\n');
    if (end != std::string_view::npos || rest_.empty()) {
      if (end == std::string_view::npos) {
        rest_ = source_.next();
        if (!rest_.empty()) continue;
        ended_ = true;
        line = whole_;
        if (whole_.empty()) return false;
        break;
      }
      const std::string_view piece = rest_.substr(0, end);
      rest_.remove_prefix(end + 1);
      line = whole_.empty() ? piece : std::string_view(whole_.append(piece));
      break;
    }
    if (whole_.size() + rest_.size() > kLongest)
      refuse(source_.name(), fmt::format("line {} is longer than 64 MiB", number_ + 1),
             "is it the right file?");
    whole_.append(rest_);
    rest_ = {};
  }
  ++number_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

}  // namespace trainyard
