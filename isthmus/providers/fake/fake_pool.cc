#include "isthmus/providers/fake/fake_pool.h"

#include <algorithm>

#include <fmt/format.h>

namespace isthmus::providers::fake {

std::vector<IpAddress> FakePool::first_addresses() {
  std::vector<IpAddress> all;
  for (int i = 1; i <= 14; ++i) all.push_back(parse_ip(fmt::format("192.0.2.{}", i)).value());
  for (int i = 1; i <= 14; ++i) all.push_back(parse_ip(fmt::format("2001:db8::{:x}", i)).value());
  return all;
}

void FakePool::set_addresses(const std::vector<std::string_view>& texts) {
  addresses.clear();
  for (const std::string_view text : texts) addresses.push_back(parse_ip(text).value());
}

Result<std::vector<IpAddress>> FakePool::allocate(const std::string& holder,
                                                  const cloud::LoadBalancerSpec& spec,
                                                  const std::vector<IpAddress>& has) {
  std::vector<IpAddress> chosen = TRY(choose(holder, spec, has));
  free_all_of(holder);
  for (const IpAddress& address : chosen) holders[address] = holder;
  return chosen;
}

Result<std::vector<IpAddress>> FakePool::choose(const std::string& holder,
                                                const cloud::LoadBalancerSpec& spec,
                                                const std::vector<IpAddress>& has) const {
  if (!spec.pool.empty() && spec.pool != name) {
    return fail(Outcome::invalid,
                fmt::format("there is no pool \"{}\"; the one here is \"{}\"", spec.pool, name));
  }
  if (!spec.requested_addresses.empty()) {
    for (const IpAddress& wanted : spec.requested_addresses) TRY(requestable(holder, wanted));
    return spec.requested_addresses;
  }
  std::vector<IpAddress> chosen;
  for (const IpFamily family : spec.families) {
    chosen.push_back(TRY(one_of(family, holder, spec, has)));
  }
  return chosen;
}

bool FakePool::free_all_of(const std::string& holder) {
  return std::erase_if(holders, [&](const auto& entry) { return entry.second == holder; }) > 0;
}

Result<> FakePool::requestable(const std::string& holder, const IpAddress& address) const {
  if (std::ranges::find(addresses, address) == addresses.end()) {
    return fail(Outcome::conflict,
                fmt::format("{} is not in pool {}; ask for an address of it or enlarge it",
                            to_string(address), name));
  }
  if (is_free_for(address, holder)) return {};
  return fail(Outcome::conflict, fmt::format("{} is held by {}; release that or ask for another",
                                             to_string(address), holders.at(address)));
}

Result<IpAddress> FakePool::one_of(IpFamily family, const std::string& holder,
                                   const cloud::LoadBalancerSpec& spec,
                                   const std::vector<IpAddress>& has) const {
  const auto kept = std::ranges::find(has, family, &IpAddress::family);
  if (kept != has.end()) return *kept;
  const auto fits = [&](const IpAddress& address) {
    return address.family == family && is_free_for(address, holder);
  };
  const auto preferred = std::ranges::find_if(spec.preferred_addresses, [&](const auto& address) {
    return fits(address) && std::ranges::find(addresses, address) != addresses.end();
  });
  if (preferred != spec.preferred_addresses.end()) return *preferred;
  const auto first = std::ranges::find_if(addresses, fits);
  if (first != addresses.end()) return *first;

  std::string held;
  for (const auto& [address, by] : holders) {
    if (address.family != family) continue;
    held += fmt::format("{}{} is held by {}", held.empty() ? ": " : ", ", to_string(address), by);
  }
  return fail(Outcome::conflict,
              fmt::format("pool {} has no free {} address{}; enlarge it or release one", name,
                          to_string(family), held));
}

bool FakePool::is_free_for(const IpAddress& address, const std::string& holder) const {
  const auto held = holders.find(address);
  return held == holders.end() || held->second == holder;
}

}  // namespace isthmus::providers::fake
