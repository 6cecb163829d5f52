// A JSON document that is read element by element, so that memory does not grow with the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sim/byte_source.hpp"
#include "sim/json.hpp"

namespace trainyard {

/// Takes an element of the list and the byte at which it begins.
using JsonElement = std::function<void(Json element, std::uint64_t position)>;
/// Takes another member of the document.
using JsonMember = std::function<void(const std::string& key, Json value)>;

struct StreamedJson {
  bool has_list = false;  ///< the document is one, or has the member
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;  ///< of the document, unpacked
};

/// The longest element, or member that is given away, in bytes.
inline constexpr std::uint64_t kLongestElement = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kLongestMember = std::uint64_t{16} << 20;

/// Reads a JSON object that has a list as its member `list`, or a bare list. Gives away each
/// element of the list and each other member in the order of the file; members longer than
/// kLongestMember are passed over. Of a key that appears twice in an object the last value holds,
/// as everywhere else. Throws ScenarioError naming file and byte when it is no such document, ends
/// too early, goes on after its end, or has an element that is longer than kLongestElement or
/// nested deeper than 100 levels.
StreamedJson stream_json(ByteSource& source, std::string_view list, const JsonElement& element,
                         const JsonMember& member = {});

}  // namespace trainyard
