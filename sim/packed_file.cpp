#include "sim/packed_file.hpp"

#include "sim/gzip.hpp"

namespace trainyard {

void PackedFile::add(const std::string& text) {
  constexpr std::size_t kMember = std::size_t{1} << 20;
  if (!packs_) {
    file_.add(text);
    return;
  }
  waiting_ += text;
  if (waiting_.size() < kMember) return;
  file_.add(gzip(waiting_));
  waiting_.clear();
}

std::string PackedFile::keep() {
  if (packs_) file_.add(gzip(waiting_));
  return file_.keep();
}

}  // namespace trainyard
