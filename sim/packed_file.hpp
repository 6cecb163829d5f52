// A WholeFile that is packed where its name says so.
#pragma once

#include <string>

#include "sim/whole_file.hpp"

namespace trainyard {

/// Packs what is added where the path ends in ".gz", a megabyte at a time: members of a gzip file
/// that follow one another are one file (RFC 1952).
class PackedFile {
 public:
  explicit PackedFile(const std::string& path) : file_(path), packs_(path.ends_with(".gz")) {}
  void add(const std::string& text);
  /// Once, at the end, as WholeFile::keep().
  std::string keep();

 private:
  WholeFile file_;
  bool packs_;
  std::string waiting_;
};

}  // namespace trainyard
