#pragma once

#include <string>
#include <string_view>

namespace trainyard {

/// The SHA-256 of the bytes, as 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace trainyard
