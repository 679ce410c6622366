// The addresses of a cloud in memory: a list, and who holds what.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"
#include "isthmus/cloud/load_balancer.h"

namespace isthmus::providers::fake {

struct FakePool {
  std::string name = "public";

  // Given in this order: 192.0.2.1 to .14 and 2001:db8::1 to ::e, unless the test says otherwise.
  std::vector<IpAddress> addresses = first_addresses();

  // By other people's hands, too: an address that a stranger's name stands at is not free.
  std::map<IpAddress, std::string> holders = {};

  // Exactly those texts, which must be addresses.
  void set_addresses(const std::vector<std::string_view>& texts);

  // What the load balancer gets that now has `has`: what is requested, or one per family, that is
  // what it has, else what is preferred and free, else the first that is free. Takes it for the
  // holder and frees the rest, all of it or nothing.
  //
  // conflict: exhausted, or a requested address is held or not in the pool, naming who holds what.
  // invalid: another pool is asked for.
  Result<std::vector<IpAddress>> allocate(const std::string& holder,
                                          const cloud::LoadBalancerSpec& spec,
                                          const std::vector<IpAddress>& has);

  // The same answer, and nothing is taken.
  Result<std::vector<IpAddress>> choose(const std::string& holder,
                                        const cloud::LoadBalancerSpec& spec,
                                        const std::vector<IpAddress>& has) const;

  // Whether anything was freed.
  bool free_all_of(const std::string& holder);

 private:
  static std::vector<IpAddress> first_addresses();
  Result<> requestable(const std::string& holder, const IpAddress& address) const;
  Result<IpAddress> one_of(IpFamily family, const std::string& holder,
                           const cloud::LoadBalancerSpec& spec,
                           const std::vector<IpAddress>& has) const;
  bool is_free_for(const IpAddress& address, const std::string& holder) const;
};

}  // namespace isthmus::providers::fake
