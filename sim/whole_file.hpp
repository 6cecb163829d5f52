// Writing: all of a text, and files that are there whole or not at all.
#pragma once

#include <string>

namespace trainyard {

/// Writes all of the text to an open file. Returns 0 or the errno of what went wrong.
int write_all(int file, const std::string& text);

/// Writes the text beside the path first, then renames it over what was there: a reader, and
/// whoever comes after a crash, sees the old file or the new one. Returns why it could not, or an
/// empty string; then nothing is left behind and the old file is as it was.
std::string write_whole_file(const std::string& path, const std::string& text);

}  // namespace trainyard
