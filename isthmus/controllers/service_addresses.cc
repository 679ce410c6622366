#include "isthmus/controllers/service_addresses.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isthmus/base/text.h"
#include "isthmus/controllers/usable_address.h"

namespace isthmus::controllers {
namespace {

bool has(const std::vector<IpFamily>& families, IpFamily family) {
  return std::ranges::find(families, family) != families.end();
}

std::string words(const std::vector<IpFamily>& families) {
  std::vector<std::string_view> words;
  for (const IpFamily family : families) words.push_back(to_string(family));
  return fmt::format("{}", fmt::join(words, " and "));
}

std::optional<IpAddress> read_load_balancer_ip(const kube::Service& service,
                                               Complaints& complaints) {
  const std::string_view text = trimmed(service.load_balancer_ip);
  if (text.empty()) return std::nullopt;
  const Result<IpAddress> address = parse_ip(text);
  if (!address) {
    complaints.add(complaint::address,
                   fmt::format("spec.loadBalancerIP: {} is not an IP address", shown(text)));
    return std::nullopt;
  }
  if (const auto kind = why_unusable(*address)) {
    complaints.add(complaint::address,
                   fmt::format("spec.loadBalancerIP: {} is {}, which nobody can reach",
                               to_string(*address), *kind));
    return std::nullopt;
  }
  return *address;
}

std::vector<IpAddress> read_requested(const kube::Service& service, const ServiceWishes& wishes,
                                      Complaints& complaints) {
  const std::optional<IpAddress> one = read_load_balancer_ip(service, complaints);
  if (wishes.addresses.empty()) return one ? std::vector{*one} : std::vector<IpAddress>{};
  if (one && std::ranges::find(wishes.addresses, *one) == wishes.addresses.end()) {
    complaints.add(complaint::address,
                   fmt::format("spec.loadBalancerIP asks for {}, and {}addresses does not; remove "
                               "one of them",
                               to_string(*one), kAnnotationPrefix));
  }
  return wishes.addresses;
}

}  // namespace

std::vector<IpFamily> families_of(const kube::Service& service) {
  std::vector<IpFamily> families;
  const auto add = [&](IpFamily family) {
    if (!has(families, family)) families.push_back(family);
  };
  for (const std::string& word : service.ip_families) {
    if (word == "IPv4") add(IpFamily::v4);
    if (word == "IPv6") add(IpFamily::v6);
  }
  if (!families.empty()) return families;
  for (const std::string& text : service.cluster_ips) {
    if (const Result<IpAddress> address = parse_ip(text)) add(address->family);
  }
  if (families.empty()) families.push_back(IpFamily::v4);
  return families;
}

ServiceAddresses addresses_of(const kube::Service& service, const ServiceWishes& wishes,
                              Complaints& complaints, std::vector<Notice>& notices) {
  const std::vector<IpFamily> families = families_of(service);
  ServiceAddresses result{.requested = read_requested(service, wishes, complaints)};
  if (result.requested.empty()) {
    result.families = families;
    for (const IpAddress& address : addresses_in(service.ingress)) {
      const bool is_new = std::ranges::find(result.preferred, address) == result.preferred.end();
      if (is_new && has(families, address.family) && !why_unusable(address)) {
        result.preferred.push_back(address);
      }
    }
    return result;
  }
  for (const IpAddress& address : result.requested) {
    if (has(families, address.family)) continue;
    complaints.add(complaint::address,
                   fmt::format("{} is asked for, and ipFamilies of the Service has {} only",
                               to_string(address), words(families)));
  }
  for (const IpFamily family : families) {
    if (std::ranges::find(result.requested, family, &IpAddress::family) != result.requested.end()) {
      result.families.push_back(family);
      continue;
    }
    notices.push_back(
        {false, "SingleFamily",
         fmt::format("it gets no {0} address, because an address is asked for and none of {0}; to "
                     "have both, name both in the annotation {1}addresses",
                     to_string(family), kAnnotationPrefix)});
  }
  return result;
}

}  // namespace isthmus::controllers
