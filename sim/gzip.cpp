#include "sim/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "sim/error.hpp"

namespace trainyard {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, in gzip's format

// zlib counts in 32 bits and wants its input writable.
unsigned int piece(std::size_t bytes) {
  return static_cast<unsigned int>(
      std::min<std::size_t>(bytes, std::numeric_limits<unsigned int>::max()));
}
Bytef* input(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw ScenarioError(Diagnostic{file, "", why, "run the scenario again, or delete the file"});
}

/// A stream that is ended when it goes out of scope.
template <int (*End)(z_stream*)>
struct Stream : z_stream {
  Stream() : z_stream{} {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { End(this); }
};

}  // namespace

std::string gzip(std::string_view bytes) {
  constexpr int kMemory = 8, kLevel = 6;  // zlib's defaults
  Stream<deflateEnd> stream;
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string packed;
  char block[1 << 16];
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      stream.avail_in = piece(bytes.size());
      stream.next_in = input(bytes);
      bytes.remove_prefix(stream.avail_in);
    }
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    state = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    require(state == Z_OK || state == Z_STREAM_END, "bytes that cannot be packed");
    packed.append(block, sizeof block - stream.avail_out);
  }
  return packed;
}

std::string gunzip(std::string_view packed, std::size_t most, const std::string& file) {
  Stream<inflateEnd> stream;
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw std::bad_alloc();
  std::string bytes;
  char block[1 << 16];
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      if (packed.empty()) refuse(file, "ends too early");
      stream.avail_in = piece(packed.size());
      stream.next_in = input(packed);
      packed.remove_prefix(stream.avail_in);
    }
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    state = inflate(&stream, Z_NO_FLUSH);
    if (state == Z_MEM_ERROR) throw std::bad_alloc();
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
      refuse(file, fmt::format("is damaged or no gzip file ({})",
                               stream.msg != nullptr ? stream.msg : "it needs a dictionary"));
    const std::size_t count = sizeof block - stream.avail_out;
    if (count > most - bytes.size())
      refuse(file, fmt::format("unpacks to more than {} bytes", most));
    bytes.append(block, count);
  }
  if (stream.avail_in > 0 || !packed.empty()) refuse(file, "goes on after its end");
  return bytes;
}

}  // namespace trainyard
