// Random wishes for addresses, and the promises of allocator.h as somebody else would check them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/infra/allocator.h"
#include "isthmus/infra/allocator_testing.h"

namespace isthmus::infra {

// Few addresses, so that they run out: public assigns by itself, reserved does not.
inline const std::vector<std::string> kPublicRanges = {"192.0.2.0/29", "2001:db8::/126"};
inline const std::vector<std::string> kReservedRanges = {"192.0.2.8/30"};

inline std::vector<IpAddress> all_addresses() {
  std::vector<IpAddress> all;
  for (int i = 0; i < 12; ++i) all.push_back(ip(fmt::format("192.0.2.{}", i)));
  for (int i = 0; i < 4; ++i) all.push_back(ip(fmt::format("2001:db8::{:x}", i)));
  return all;
}

inline ObjectName name_of(int who) {
  return {who < 6 ? "prod" : "test", std::string(1, "abcdefgh"[who])};
}

// What somebody may want: kind below 14, sharing key below 4, a set of three ports, any number.
inline api::LoadBalancerSpec wish_of(int kind, int sharing_key, int port_set, int number) {
  api::LoadBalancerSpec wish = balancer_spec();
  if (kind == 5) wish.families = {IpFamily::v6};
  if (kind == 6 || kind == 8) wish.families = {IpFamily::v4, IpFamily::v6};
  if (kind == 7) wish.pool = "reserved";
  if (kind == 8) wish.pool = "public";
  if (kind >= 9) wish = asking_for({fmt::format("192.0.2.{}", number % 12)});
  if (kind == 12) {
    wish = asking_for(
        {fmt::format("192.0.2.{}", number % 8), fmt::format("2001:db8::{:x}", number % 4)});
  }
  std::vector<std::uint16_t> ports;
  for (std::uint16_t bit = 0; bit < 3; ++bit) {
    if ((port_set >> bit & 1) != 0) ports.push_back(static_cast<std::uint16_t>(1000 + bit));
  }
  wish.listeners = balancer_spec(ports).listeners;
  if (sharing_key > 1) wish.sharing_key = fmt::format("key{}", sharing_key);
  return wish;
}

using Holders = std::set<ObjectName>;

inline Holders holders_of(const LedgerSnapshot& snapshot, const IpAddress& address) {
  Holders holders;
  const AddressRecord* record = snapshot.address(address);
  if (record == nullptr) return holders;
  for (const std::string& name : record->holders) holders.insert({record->owner, name});
  return holders;
}

inline bool contains(const std::vector<IpAddress>& addresses, const IpAddress& address) {
  return std::ranges::find(addresses, address) != addresses.end();
}

inline bool serve_one_port(const api::LoadBalancerSpec& left, const api::LoadBalancerSpec& right) {
  return std::ranges::any_of(left.listeners, [&right](const api::Listener& listener) {
    return std::ranges::any_of(right.listeners, [&listener](const api::Listener& other) {
      return listener.protocol == other.protocol && listener.port == other.port;
    });
  });
}

// Empty, or what is wrong with what stands: an address that is held twice, sharers that do not get
// along, and what only one side of the ledger says.
inline std::string wrong_with(const LedgerSnapshot& snapshot) {
  for (const auto& [address, record] : snapshot.addresses) {
    const std::string where = to_string(address);
    if (record->holders.size() > 1 && record->sharing_key.empty()) return where + " is held twice";
    for (const std::string& holder : record->holders) {
      const BalancerRecord* balancer = snapshot.balancer({record->owner, holder});
      if (balancer == nullptr) return where + " is held by nobody who stands";
      if (!contains(balancer->addresses, address)) return where + " is not known to its holder";
      if (balancer->spec.sharing_key != record->sharing_key) return where + " has another key";
      for (const std::string& other : record->holders) {
        if (other == holder) continue;
        const BalancerRecord* beside = snapshot.balancer({record->owner, other});
        if (beside == nullptr) return where + " is held by nobody who stands";
        if (serve_one_port(balancer->spec, beside->spec)) return where + " has a port twice";
      }
    }
  }
  for (const auto& [name, record] : snapshot.balancers) {
    for (const IpAddress& address : record->addresses) {
      if (holders_of(snapshot, address).contains(name)) continue;
      return to_string(name) + " does not hold " + to_string(address);
    }
  }
  return "";
}

// What somebody who only watches remembers: the highest epoch of each address.
using Epochs = std::map<IpAddress, std::uint64_t>;

// Empty, or what should not have changed when only the actors did something, once each, at that
// time: somebody else's addresses; an address that went without cooling down, or came back to
// somebody else meanwhile; an epoch that did not rise.
inline std::string unlawful_change(const LedgerSnapshot& before, const LedgerSnapshot& after,
                                   const Orphans& orphans_before, const Holders& actors,
                                   WallTime now, Epochs& epochs) {
  for (const auto& [name, record] : before.balancers) {
    if (actors.contains(name) || record->is_tombstone()) continue;
    const BalancerRecord* stands = after.balancer(name);
    if (stands == record.get()) continue;
    if (stands == nullptr || stands->addresses != record->addresses) {
      return to_string(name) + " has other addresses without having asked";
    }
  }
  static const std::vector<IpAddress> kAll = all_addresses();
  for (const IpAddress& address : kAll) {
    if (before.addresses.look_up(address) == after.addresses.look_up(address)) continue;
    const Holders were = holders_of(before, address);
    const Holders are = holders_of(after, address);
    if (were == are) continue;
    const std::string where = to_string(address);
    Holders others_were = were;
    Holders others_are = are;
    for (const ObjectName& actor : actors) {
      others_were.erase(actor);
      others_are.erase(actor);
    }
    if (others_were != others_are) return where + " went from or to a bystander";
    const AddressRecord& record = *after.address(address);
    const ObjectName last{record.owner, record.last_holder};
    if (are.empty()) {
      bool cools = record.free_at == now + api::Pool{}.cool_down && actors.contains(last);
      if (!cools) return where + " does not cool down";
    }
    const AddressRecord* old = before.address(address);
    if (!are.empty() && old != nullptr && old->is_cooling(now)) {
      bool comes_back = are.contains({old->owner, old->last_holder});
      for (const auto& [orphan, found] : orphans_before) {
        comes_back = comes_back || (are.contains(orphan) && contains(found.addresses, address));
      }
      if (!comes_back) return where + " was given away while it cooled down";
    }
    if (record.epoch <= epochs[address]) return where + " has an epoch that did not rise";
    epochs[address] = record.epoch;
  }
  return "";
}

}  // namespace isthmus::infra
