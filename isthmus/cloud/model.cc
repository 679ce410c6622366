#include "isthmus/cloud/model.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

constexpr std::array<std::pair<AddressType, std::string_view>, 5> kAddressTypes{{
    {AddressType::hostname, "Hostname"},
    {AddressType::internal_ip, "InternalIP"},
    {AddressType::external_ip, "ExternalIP"},
    {AddressType::internal_dns, "InternalDNS"},
    {AddressType::external_dns, "ExternalDNS"},
}};

}  // namespace

std::string to_string(const ProviderId& id) { return id.scheme + "://" + id.id; }

Result<ProviderId> parse_provider_id(std::string_view text) {
  constexpr std::string_view kSeparator = "://";
  const std::size_t at = text.find(kSeparator);
  if (at == std::string_view::npos) {
    return fail(Outcome::invalid, fmt::format("provider id \"{}\" has no \"://\"", text));
  }
  const std::string_view id = text.substr(at + kSeparator.size());
  if (at == 0 || id.empty()) {
    return fail(Outcome::invalid, fmt::format("provider id \"{}\" is only half of one", text));
  }
  return ProviderId{std::string(text.substr(0, at)), std::string(id)};
}

std::string_view to_string(AddressType type) {
  for (const auto& [candidate, word] : kAddressTypes) {
    if (candidate == type) return word;
  }
  ISTHMUS_ASSERT(false, "an AddressType that has no name");
}

std::optional<AddressType> parse_address_type(std::string_view text) {
  for (const auto& [type, word] : kAddressTypes) {
    if (word == text) return type;
  }
  return std::nullopt;
}

std::string_view to_string(Power power) {
  switch (power) {
    case Power::unknown:
      return "unknown";
    case Power::running:
      return "running";
    case Power::stopped:
      return "stopped";
  }
  ISTHMUS_ASSERT(false, "a Power that has no name");
}

std::string_view to_string(Presence presence) {
  switch (presence) {
    case Presence::unknown:
      return "unknown";
    case Presence::present:
      return "present";
    case Presence::absent:
      return "absent";
  }
  ISTHMUS_ASSERT(false, "a Presence that has no name");
}

std::string Instance::describe() const {
  if (names.empty()) return to_string(provider_id);
  return fmt::format("{} ({})", names.front(), to_string(provider_id));
}

}  // namespace isthmus::cloud
