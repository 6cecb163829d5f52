// Writing: all of a text, and files that are there whole or not at all.
#pragma once

#include <cstdio>
#include <string>

namespace trainyard {

/// Writes all of the text to an open file. Returns 0 or the errno of what went wrong.
int write_all(int file, const std::string& text);

/// A file that grows beside its path and takes the place of what was there when it is whole.
class WholeFile {
 public:
  explicit WholeFile(std::string path);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  /// Without keep(), leaves nothing behind, and the old file as it was.
  ~WholeFile();
  /// Does nothing after something went wrong.
  void add(const std::string& text);
  /// What went wrong so far, or an empty string.
  std::string why() const;
  /// Once, at the end: forces it to the disk and puts it in place. Returns why it could not, now or
  /// before, or an empty string.
  std::string keep();

 private:
  void note(bool right);
  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
  int error_ = 0;  ///< errno of what went wrong first
};

/// Writes the text beside the path first, then renames it over what was there: a reader, and
/// whoever comes after a crash, sees the old file or the new one. Returns why it could not, or an
/// empty string; then nothing is left behind and the old file is as it was.
std::string write_whole_file(const std::string& path, const std::string& text);

}  // namespace trainyard
