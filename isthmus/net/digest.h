// A fingerprint of a text that cannot be turned back into it.
#pragma once

#include <string>
#include <string_view>

namespace isthmus::net {

// SHA-256: 32 bytes, not printable.
std::string sha256(std::string_view text);

}  // namespace isthmus::net
