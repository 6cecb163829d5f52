// Files that are part of the program, put in by trainyard_embed() of CMakeLists.txt.
#pragma once

#include <span>
#include <string_view>

namespace trainyard {

struct EmbeddedFile {
  std::string_view name;  ///< path below the embedded folder: "a100.json", "gpu/a100.json"
  std::string_view text;  ///< the file's bytes; a zero byte follows, outside the view
};

/// models/catalog/**/*.json, sorted by path. Valid for the life of the program.
std::span<const EmbeddedFile> embedded_catalog();

/// models/validation/*.json: published measurements.
std::span<const EmbeddedFile> embedded_validation();

}  // namespace trainyard
