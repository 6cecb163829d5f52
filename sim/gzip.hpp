// gzip (RFC 1952) in memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainyard {

/// Packs: the same bytes always give the same (no date, no name).
std::string gzip(std::string_view bytes);

/// Unpacks one whole gzip file. Throws ScenarioError naming `file` when it is none, is damaged, or
/// would unpack to more than `most` bytes.
std::string gunzip(std::string_view packed, std::size_t most, const std::string& file);

}  // namespace trainyard
