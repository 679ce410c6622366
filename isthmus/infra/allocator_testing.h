// A ledger in memory for tests of the allocator: what it answers is what stands from then on.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/infra/allocator.h"
#include "isthmus/infra/instance_record.h"

namespace isthmus::infra {

inline IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

// TCP listeners on those ports.
inline api::LoadBalancerSpec balancer_spec(const std::vector<std::uint16_t>& ports = {80}) {
  api::LoadBalancerSpec spec;
  spec.families = {IpFamily::v4};
  spec.target_groups = {{.name = "web", .target_set = "web", .port = 8080}};
  for (std::uint16_t port : ports) {
    api::Listener listener;
    listener.name = fmt::format("tcp-{}", port);
    listener.port = port;
    listener.target_group = "web";
    spec.listeners.push_back(std::move(listener));
  }
  return spec;
}

inline api::LoadBalancerSpec asking_for(const std::vector<std::string>& addresses) {
  api::LoadBalancerSpec spec = balancer_spec();
  spec.families.clear();
  for (const std::string& text : addresses) {
    spec.addresses.push_back(ip(text));
    IpFamily family = spec.addresses.back().family;
    bool known = !spec.families.empty() && spec.families.back() == family;
    if (!known) spec.families.push_back(family);
  }
  return spec;
}

class TestLedger {
 public:
  void add_pool(const std::string& name, const std::vector<std::string>& ranges,
                bool auto_assign = true) {
    PoolRecord record;
    record.pool.name = name;
    for (const std::string& range : ranges) {
      record.pool.ranges.push_back(parse_prefix(range).value());
    }
    record.pool.auto_assign = auto_assign;
    snapshot.pools[name] = std::make_shared<const PoolRecord>(std::move(record));
  }

  // "192.0.2.0 2001:db8::1", or the problem's suffix and detail.
  std::string put(const ObjectName& name, const api::LoadBalancerSpec& spec) {
    auto allocation = allocate(snapshot, name, spec, circumstances());
    if (!allocation) {
      const api::Problem& problem = allocation.error();
      std::string text = fmt::format("{}: {}", problem.suffix(), problem.detail);
      for (const api::FieldError& error : problem.errors) {
        text += fmt::format(" ({}: {})", error.pointer, error.detail);
      }
      last_problem = problem;
      return text;
    }
    BalancerRecord record;
    record.metadata.owner = name.owner;
    record.metadata.name = name.name;
    record.metadata.uid = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
    record.metadata.generation = 1;
    record.spec = spec;
    record.addresses = allocation->addresses;
    commit(allocation->writes);
    snapshot.balancers[name] = std::make_shared<const BalancerRecord>(std::move(record));
    orphans.erase(name);
    std::vector<std::string> texts;
    for (const IpAddress& address : allocation->addresses) texts.push_back(to_string(address));
    return fmt::format("{}", fmt::join(texts, " "));
  }

  // The deletion is requested: the host still holds it.
  void leave(const ObjectName& name) {
    BalancerRecord record = *snapshot.balancer(name);
    record.metadata.deletion_requested_at = now;
    ++snapshot.revision;
    snapshot.balancers[name] = std::make_shared<const BalancerRecord>(std::move(record));
  }

  // The host holds it no more.
  void finalize(const ObjectName& name) {
    std::vector<AddressRecord> writes = release(snapshot, name, circumstances());
    BalancerRecord record = *snapshot.balancer(name);
    record.addresses.clear();
    record.deleted_at = now;
    commit(writes);
    snapshot.balancers[name] = std::make_shared<const BalancerRecord>(std::move(record));
  }

  void remove(const ObjectName& name) {
    leave(name);
    finalize(name);
  }

  // Records of addresses that have cooled down.
  void forget() {
    std::vector<IpAddress> forgotten;
    for (const auto& [address, record] : snapshot.addresses) {
      if (record->holders.empty() && !record->is_cooling(now)) forgotten.push_back(address);
    }
    for (const IpAddress& address : forgotten) snapshot.addresses.erase(address);
  }

  void commit(const std::vector<AddressRecord>& writes) {
    ++snapshot.revision;
    for (AddressRecord record : writes) {
      record.revision = snapshot.revision;
      const IpAddress address = record.address;
      snapshot.addresses[address] = std::make_shared<const AddressRecord>(std::move(record));
    }
  }

  Circumstances circumstances() const {
    return {.now = now,
            .host = host,
            .orphans = orphans,
            .pools_allowed = pools_allowed ? &*pools_allowed : nullptr,
            .unusable = &unusable,
            .machines = &machines,
            .preferred = &preferred};
  }

  const AddressRecord& record(std::string_view address) const {
    const AddressRecord* found = snapshot.address(ip(address));
    ISTHMUS_ASSERT(found != nullptr, "the test knows that there is a record");
    return *found;
  }

  LedgerSnapshot snapshot;
  WallTime now{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z
  std::string host = "lb1";
  Orphans orphans;
  UnusableAddresses unusable;
  InstanceSnapshot machines;
  Preferred preferred;  // Of every put.
  std::optional<std::set<std::string, std::less<>>> pools_allowed;
  api::Problem last_problem;
};

}  // namespace isthmus::infra
