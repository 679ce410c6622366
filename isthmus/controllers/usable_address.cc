#include "isthmus/controllers/usable_address.h"

namespace isthmus::controllers {

std::optional<std::string_view> why_unusable(const IpAddress& address) {
  if (address.bytes == decltype(address.bytes){}) return "an unspecified address";
  const auto& bytes = address.bytes;
  if (address.family == IpFamily::v4) {
    if (bytes[0] == 0) return "an unspecified address";
    if (bytes[0] == 127) return "a loopback address";
    if (bytes[0] == 169 && bytes[1] == 254) return "a link-local address";
    if (bytes[0] >= 240) return "a broadcast or reserved address";
    if (bytes[0] >= 224) return "a multicast address";
    return std::nullopt;
  }
  IpAddress loopback{.family = IpFamily::v6};
  loopback.bytes.back() = 1;
  if (address == loopback) return "a loopback address";
  if (bytes[0] == 0xff) return "a multicast address";
  if (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) return "a link-local address";
  return std::nullopt;
}

}  // namespace isthmus::controllers
