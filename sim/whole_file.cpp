#include "sim/whole_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace trainyard {

int write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

WholeFile::WholeFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".part") {
  file_ = std::fopen(temporary_.c_str(), "wbe");
  note(file_ != nullptr);
}

WholeFile::~WholeFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  unlink(temporary_.c_str());
}

void WholeFile::note(bool right) {
  if (!right && error_ == 0) error_ = errno;
}

std::string WholeFile::why() const { return error_ == 0 ? std::string() : std::strerror(error_); }

void WholeFile::add(const std::string& text) {
  if (error_ == 0) note(std::fwrite(text.data(), 1, text.size(), file_) == text.size());
}

std::string WholeFile::keep() {
  if (file_ == nullptr) return std::strerror(error_);
  if (error_ == 0) note(std::fflush(file_) == 0 && fsync(fileno(file_)) == 0);
  note(std::fclose(std::exchange(file_, nullptr)) == 0);
  if (error_ == 0) note(rename(temporary_.c_str(), path_.c_str()) == 0);
  if (error_ == 0) return {};
  unlink(temporary_.c_str());
  return std::strerror(error_);
}

std::string write_whole_file(const std::string& path, const std::string& text) {
  WholeFile file(path);
  file.add(text);
  return file.keep();
}

}  // namespace trainyard
