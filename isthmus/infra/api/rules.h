// What the texts of a machine or another object may look like: one set of rules for the inventory
// file, the configuration and the API, so that nothing can be said in one that another would
// refuse.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "isthmus/base/ip.h"

namespace isthmus::infra::api {

inline constexpr std::size_t kUidBytesMax = 63;
inline constexpr std::size_t kNameBytesMax = 253;
inline constexpr std::size_t kLabelBytesMax = 63;
inline constexpr std::size_t kAddressesMax = 64;
inline constexpr std::size_t kLabelsMax = 64;

// Each answers nothing when the text is right, else what would be right ("expected …"), without
// quoting the text.
std::optional<std::string> wrong_uid(std::string_view text);          // See openapi.yaml, Uid.
std::optional<std::string> wrong_name(std::string_view text);         // DNS-1123 subdomain.
std::optional<std::string> wrong_object_name(std::string_view text);  // DNS-1123 label.
std::optional<std::string> wrong_label_key(std::string_view text);    // [DNS-1123 subdomain/]name
std::optional<std::string> wrong_label_value(std::string_view text);  // Also type, region and zone.
std::optional<std::string> wrong_system_uuid(std::string_view text);  // With dashes or without.
std::optional<std::string> wrong_hostname(std::string_view text);     // RFC 1123, any case.

// What wrong_system_uuid finds right, in the one form that compares: lower case, 8-4-4-4-12.
std::string canonical_system_uuid(std::string_view text);

// An IPv4 or IPv6 address that a machine can have as its own: no unspecified, loopback, multicast
// or broadcast address, and no IPv4 address written as IPv6.
std::optional<std::string> wrong_ip(std::string_view text);

// Likewise, and one that others can reach without saying by which link: no link-local address.
std::optional<std::string> wrong_reachable_ip(std::string_view text);

// What wrong_ip finds right, in the one form that compares (RFC 5952), or nothing.
std::optional<std::string> canonical_ip(std::string_view text);

// A prefix with none of the addresses that can be nobody's: of IPv4 "this network",
// loopback, link-local, multicast and reserved ones (RFC 6890); of IPv6 what is unspecified,
// loopback, mapped or translated, link-local and multicast.
std::optional<std::string> wrong_network(const IpPrefix& prefix);

// In lower case, which is how uuids compare.
std::string lower_case(std::string_view text);

}  // namespace isthmus::infra::api
