// Attributes of netlink messages, read by type. For the sources of this folder.
#pragma once

#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "isthmus/base/result.h"

namespace isthmus::infra::drivers {

// No type that we look at has a higher number.
using Attributes = std::array<const nlattr*, 64>;

// libmnl's own loops assign a void pointer, which C++ does not.
inline Result<> each_attribute(std::span<const char> data,
                               const std::function<Result<>(const nlattr*)>& each) {
  const auto* attribute = reinterpret_cast<const nlattr*>(data.data());
  const char* end = data.data() + data.size();
  while (mnl_attr_ok(attribute, static_cast<int>(end - reinterpret_cast<const char*>(attribute)))) {
    TRY(each(attribute));
    attribute = mnl_attr_next(attribute);
  }
  return {};
}

// The attributes by their type; what is unknown is left out.
inline Attributes attributes_of(std::span<const char> data) {
  Attributes found{};
  const auto* attribute = reinterpret_cast<const nlattr*>(data.data());
  const char* end = data.data() + data.size();
  while (mnl_attr_ok(attribute, static_cast<int>(end - reinterpret_cast<const char*>(attribute)))) {
    std::uint16_t type = mnl_attr_get_type(attribute);
    if (type < found.size()) found[type] = attribute;
    attribute = mnl_attr_next(attribute);
  }
  return found;
}

inline std::span<const char> inside(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  return {static_cast<const char*>(mnl_attr_get_payload(attribute)),
          mnl_attr_get_payload_len(attribute)};
}

// What follows the fixed header of its subsystem in a message.
inline std::span<const char> inside(const nlmsghdr& header, std::size_t fixed = sizeof(nfgenmsg)) {
  if (mnl_nlmsg_get_payload_len(&header) < fixed) return {};
  const auto* payload = static_cast<const char*>(mnl_nlmsg_get_payload_offset(&header, fixed));
  const auto* end = static_cast<const char*>(mnl_nlmsg_get_payload_tail(&header));
  return payload < end ? std::span(payload, end) : std::span<const char>();
}

inline Attributes nested(const nlattr* attribute) { return attributes_of(inside(attribute)); }

// A number of exactly this type, or the fallback where there is none or one of another size.
template <class Number>
Number number_in(const nlattr* attribute, Number fallback) {
  if (attribute == nullptr || mnl_attr_get_payload_len(attribute) != sizeof(Number))
    return fallback;
  Number number{};
  __builtin_memcpy(&number, mnl_attr_get_payload(attribute), sizeof number);
  return number;
}

}  // namespace isthmus::infra::drivers
