#include "isthmus/controllers/node_addresses.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/text.h"
#include "isthmus/cloud/ip_address.h"

namespace isthmus::controllers {
namespace {

constexpr std::string_view kHostname = "Hostname";

std::unexpected<Error> unreadable(std::string_view annotation, std::string_view why) {
  return fail(Outcome::invalid, fmt::format("annotation {} is \"{}\": {}",
                                            kProvidedNodeIpAnnotation, annotation, why));
}

Result<std::vector<IpAddress>> parse_provided(std::string_view annotation) {
  const std::vector<std::string_view> parts = split(annotation, ',');
  if (parts.size() > 2) return unreadable(annotation, "at most two addresses are allowed");
  std::vector<IpAddress> provided;
  for (const std::string_view part : parts) {
    const std::optional<IpAddress> address = cloud::read_ip(part);
    if (!address) return unreadable(annotation, "not an IP address, or two with a comma");
    provided.push_back(*address);
  }
  if (provided.size() == 2) {
    if (provided[0].family == provided[1].family) {
      return unreadable(annotation, "two addresses must be of different families");
    }
    if (cloud::is_unspecified(provided[0]) || cloud::is_unspecified(provided[1])) {
      return unreadable(annotation, "an unspecified address cannot be one of two");
    }
  }
  return provided;
}

// An address type that a provided address has taken for itself.
struct Enforced {
  std::string type;
  IpFamily family;
};

bool is_enforced(const kube::NodeAddress& candidate, const std::vector<Enforced>& enforced,
                 NodeIpFilter filter) {
  const std::optional<IpAddress> address = cloud::read_ip(candidate.address);
  return std::ranges::any_of(enforced, [&](const Enforced& one) {
    if (one.type != candidate.type) return false;
    return filter == NodeIpFilter::whole_type || !address || address->family == one.family;
  });
}

Result<std::vector<kube::NodeAddress>> prefer_provided(
    const std::vector<kube::NodeAddress>& addresses, std::string_view annotation,
    const cloud::Instance& machine, NodeIpFilter filter) {
  const std::vector<IpAddress> provided = TRY(parse_provided(annotation));
  std::vector<kube::NodeAddress> chosen;
  std::vector<Enforced> enforced;
  for (const IpAddress& wanted : provided) {
    bool found = false;
    for (const kube::NodeAddress& candidate : addresses) {
      if (cloud::read_ip(candidate.address) != wanted) continue;
      found = true;
      chosen.push_back(candidate);
      enforced.push_back({candidate.type, wanted.family});
    }
    if (!found) {
      return fail(Outcome::absent,
                  fmt::format("machine {} has no address {}, which its kubelet was told to use",
                              machine.describe(), annotation));
    }
  }
  std::ranges::copy_if(addresses, std::back_inserter(chosen), [&](const auto& candidate) {
    return !is_enforced(candidate, enforced, filter);
  });
  return chosen;
}

}  // namespace

Result<std::vector<kube::NodeAddress>> wanted_addresses(const kube::Node& node,
                                                        const cloud::Instance& machine,
                                                        NodeIpFilter filter) {
  std::vector<kube::NodeAddress> addresses;
  bool has_hostname = false;
  for (const cloud::Address& address : machine.addresses) {
    addresses.push_back({std::string(to_string(address.type)), address.address});
    has_hostname = has_hostname || address.type == cloud::AddressType::hostname;
  }
  if (!addresses.empty() && !has_hostname) {
    std::ranges::copy_if(node.addresses, std::back_inserter(addresses),
                         [](const auto& address) { return address.type == kHostname; });
  }
  const auto annotation = node.meta.annotations.find(kProvidedNodeIpAnnotation);
  if (!annotation) return addresses;
  return prefer_provided(addresses, *annotation, machine, filter);
}

}  // namespace isthmus::controllers
