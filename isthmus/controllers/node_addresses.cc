#include "isthmus/controllers/node_addresses.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/text.h"
#include "isthmus/cloud/ip_address.h"

namespace isthmus::controllers {
namespace {

constexpr std::string_view kHostname = "Hostname";

// Of what a cloud says wrong, enough to find it there.
constexpr std::size_t kLeftOutNamedMax = 5;
constexpr std::size_t kLeftOutBytesMax = 64;

using Types = std::set<std::string, std::less<>>;

// nullopt: a Node may show it.
std::optional<std::string_view> why_left_out(std::string_view type, std::string_view address) {
  if (type != "InternalIP" && type != "ExternalIP") return std::nullopt;
  const std::optional<IpAddress> ip = cloud::read_ip(address);
  if (!ip) return "no IP address";
  return kind_of_nobody(*ip);
}

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

// Of a type of which the cloud says nothing but nonsense, a Node keeps what it has: it would lose
// the address at which it is reached.
void keep_own(const kube::Node& node, const Types& in_doubt,
              std::vector<kube::NodeAddress>& addresses) {
  if (addresses.empty()) return;
  std::vector<kube::NodeAddress> kept;
  std::ranges::copy_if(node.addresses, std::back_inserter(kept), [&](const auto& own) {
    return in_doubt.contains(own.type) && !is_nobodys(own.address) &&
           std::ranges::find(addresses, own.type, &kube::NodeAddress::type) == addresses.end();
  });
  std::ranges::move(kept, std::back_inserter(addresses));
}

}  // namespace

Result<std::vector<kube::NodeAddress>> wanted_addresses(const kube::Node& node,
                                                        const cloud::Instance& machine,
                                                        NodeIpFilter filter) {
  std::vector<kube::NodeAddress> addresses;
  Types in_doubt;
  bool has_hostname = false;
  for (const cloud::Address& address : machine.addresses) {
    std::string type(to_string(address.type));
    if (why_left_out(type, address.address)) {
      in_doubt.insert(std::move(type));
      continue;
    }
    addresses.push_back({std::move(type), address.address});
    has_hostname = has_hostname || address.type == cloud::AddressType::hostname;
  }
  if (!addresses.empty() && !has_hostname) {
    std::ranges::copy_if(node.addresses, std::back_inserter(addresses),
                         [](const auto& address) { return address.type == kHostname; });
  }
  const auto annotation = node.meta.annotations.find(kProvidedNodeIpAnnotation);
  if (annotation) addresses = TRY(prefer_provided(addresses, *annotation, machine, filter));
  keep_own(node, in_doubt, addresses);
  return addresses;
}

bool is_nobodys(std::string_view address) {
  const std::optional<IpAddress> ip = cloud::read_ip(address);
  return ip && kind_of_nobody(*ip);
}

std::string addresses_left_out(const cloud::Instance& machine) {
  std::vector<std::string> named;
  std::size_t count = 0;
  for (const cloud::Address& address : machine.addresses) {
    const std::string_view type = to_string(address.type);
    const std::optional<std::string_view> why = why_left_out(type, address.address);
    if (!why || ++count > kLeftOutNamedMax) continue;
    named.push_back(
        fmt::format("{} {}: {}", type, quoted(shortened(address.address, kLeftOutBytesMax)), *why));
  }
  if (count > named.size()) named.push_back(fmt::format("{} more", count - named.size()));
  return fmt::format("{}", fmt::join(named, "; "));
}

}  // namespace isthmus::controllers
