#include "isthmus/infra/ledger_upkeep.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "isthmus/infra/api/prefix_set.h"
#include "isthmus/infra/balancer_codec.h"

namespace isthmus::infra {
namespace {

// Enough for somebody to know where to look.
constexpr std::size_t kAddressesNamedMax = 3;

struct Tombstone {
  WallTime deleted_at;
  std::string key;

  friend auto operator<=>(const Tombstone&, const Tombstone&) = default;
};

std::vector<Tombstone> tombstones_of(const LedgerSnapshot& snapshot) {
  std::vector<Tombstone> tombstones;
  for (const auto& [name, record] : snapshot.balancers) {
    if (!record->deleted_at) continue;
    tombstones.push_back({*record->deleted_at, key_of(kBalancerPrefix, name)});
  }
  for (const auto& [name, record] : snapshot.target_sets) {
    if (!record->deleted_at) continue;
    tombstones.push_back({*record->deleted_at, key_of(kTargetSetPrefix, name)});
  }
  for (const auto& [name, record] : snapshot.route_tables) {
    if (!record->deleted_at) continue;
    tombstones.push_back({*record->deleted_at, key_of(kRouteTablePrefix, name)});
  }
  std::ranges::sort(tombstones);
  return tombstones;
}

void find_overlaps(const std::vector<api::Pool>& pools, Mistakes& mistakes) {
  struct Owned {
    IpPrefix range;
    std::string_view pool;
  };
  std::vector<Owned> ranges;
  for (const api::Pool& pool : pools) {
    for (const IpPrefix& range : pool.ranges) ranges.push_back({range, pool.name});
  }
  // Two prefixes overlap only where one contains the other, so that with the larger first the one
  // that contains is the last that did not end.
  std::ranges::sort(ranges, {}, [](const Owned& owned) {
    return std::pair(owned.range.address, owned.range.bits);
  });
  const Owned* around = nullptr;
  for (const Owned& owned : ranges) {
    if (around != nullptr && around->range.contains(owned.range)) {
      mistakes.add(fmt::format("pool {}", owned.pool),
                   fmt::format("{} overlaps {} of pool {}", to_string(owned.range),
                               to_string(around->range), around->pool));
    } else {
      around = &owned;
    }
  }
}

// What is held stays in a range of its pool.
void find_held(const LedgerSnapshot& snapshot,
               const std::map<std::string_view, const api::Pool*>& named, Mistakes& mistakes) {
  std::map<std::string, std::vector<const AddressRecord*>> outside;
  for (const auto& [address, record] : snapshot.addresses) {
    // Outside every pool lies what was adopted from the kernel.
    if (record->holders.empty() || record->pool.empty()) continue;
    auto pool = named.find(record->pool);
    const bool stays = pool != named.end() && api::lies_in(pool->second->ranges, address);
    if (!stays) outside[record->pool].push_back(record.get());
  }
  for (const auto& [pool, records] : outside) {
    std::string held;
    for (std::size_t i = 0; i < std::min(records.size(), kAddressesNamedMax); ++i) {
      const AddressRecord& record = *records[i];
      held += fmt::format("{}{} ({}/{})", i == 0 ? "" : ", ", to_string(record.address),
                          record.owner, record.holders.front());
    }
    if (records.size() > kAddressesNamedMax) {
      held += fmt::format(" and {} more", records.size() - kAddressesNamedMax);
    }
    mistakes.add(fmt::format("pool {}", pool),
                 fmt::format("its ranges no longer contain what is still held: {}; delete the load "
                             "balancers first",
                             held));
  }
}

// What becomes of an address that nobody holds; nothing while it goes on cooling down.
std::optional<Write> cool_down(const LedgerSnapshot& snapshot, const AddressRecord& record,
                               WallTime now) {
  AddressRecord next = record;
  const WallTime latest = now + snapshot.cool_down(record.pool);
  if (record.free_at > latest) {
    next.free_at = latest;
  } else if (record.is_cooling(now)) {
    return std::nullopt;
  } else if (!record.last_holder.empty()) {
    next.last_holder.clear();
    next.free_at = now;
  } else if (record.free_at && now < *record.free_at + kFreeAge) {
    return std::nullopt;
  } else {
    return Write{address_key(record.address), std::nullopt};
  }
  return Write{address_key(record.address), encode(next)};
}

}  // namespace

std::vector<Write> plan_finalize(const LedgerSnapshot& snapshot, std::span<const ObjectName> names,
                                 const Circumstances& circumstances) {
  // Load balancers that share an address are released one after the other.
  LedgerSnapshot after = snapshot;
  std::map<std::string, std::optional<std::string>> writes;
  for (const ObjectName& name : names) {
    const BalancerRecord* standing = after.balancer(name);
    if (standing == nullptr || !standing->is_leaving()) continue;
    for (AddressRecord& record : release(after, name, circumstances)) {
      writes[address_key(record.address)] = encode(record);
      const IpAddress address = record.address;
      after.addresses[address] = std::make_shared<const AddressRecord>(std::move(record));
    }
    BalancerRecord tombstone = *standing;
    tombstone.deleted_at = circumstances.now;
    tombstone.addresses.clear();
    for (api::TargetGroup& group : tombstone.spec.target_groups) group.targets = {};
    writes[key_of(kBalancerPrefix, name)] = encode(tombstone);
    after.balancers[name] = std::make_shared<const BalancerRecord>(std::move(tombstone));
    if (after.status(name) != nullptr) writes[key_of(kStatusPrefix, name)] = std::nullopt;
  }
  std::vector<Write> list;
  for (auto& [key, value] : writes) list.push_back({key, std::move(value)});
  return list;
}

std::vector<Write> plan_forget(const LedgerSnapshot& snapshot, WallTime now) {
  std::vector<Write> writes;
  for (const auto& [address, record] : snapshot.addresses) {
    if (!record->holders.empty()) continue;
    if (auto write = cool_down(snapshot, *record, now)) writes.push_back(std::move(*write));
  }
  std::vector<Tombstone> tombstones = tombstones_of(snapshot);
  const std::size_t too_many = tombstones.size() - std::min(tombstones.size(), kTombstonesMax);
  for (std::size_t i = 0; i < tombstones.size(); ++i) {
    if (i >= too_many && now < tombstones[i].deleted_at + kTombstoneAge) break;
    writes.push_back({std::move(tombstones[i].key), std::nullopt});
  }
  for (const auto& [name, status] : snapshot.statuses) {
    if (snapshot.balancer(name) == nullptr) {
      writes.push_back({key_of(kStatusPrefix, name), std::nullopt});
    }
  }
  for (const auto& [name, status] : snapshot.route_statuses) {
    if (snapshot.route_table(name) == nullptr) {
      writes.push_back({key_of(kRouteStatusPrefix, name), std::nullopt});
    }
  }
  return writes;
}

Duration until_forgetting(const LedgerSnapshot& snapshot, WallTime now) {
  Duration pause = kForgetPeriod;
  for (const auto& [name, record] : snapshot.pools) {
    if (!record->removed) pause = std::min(pause, record->pool.cool_down);
  }
  for (const auto& [address, record] : snapshot.addresses) {
    // One without a last holder was told already.
    if (!record->holders.empty() || record->last_holder.empty() || !record->free_at) continue;
    if (*record->free_at < now + pause) pause = *record->free_at - now;
  }
  return std::max(pause, kForgetPauseMin);
}

std::vector<PoolRecord> plan_pools(const LedgerSnapshot& snapshot,
                                   const std::vector<api::Pool>& pools, Mistakes& mistakes) {
  std::map<std::string_view, const api::Pool*> named;
  for (const api::Pool& pool : pools) {
    const bool fresh = named.emplace(pool.name, &pool).second;
    if (!fresh) mistakes.add(fmt::format("pool {}", pool.name), "is there twice");
  }
  find_overlaps(pools, mistakes);
  find_held(snapshot, named, mistakes);

  std::vector<PoolRecord> writes;
  for (const auto& [name, pool] : named) {
    PoolRecord next{.pool = *pool};
    next.pool.use.clear();
    next.pool.revision = 0;
    if (const PoolRecord* standing = snapshot.pools.look_up(name)) {
      next.pool.revision = standing->pool.revision;
      if (*standing == next) continue;
    }
    writes.push_back(std::move(next));
  }
  for (const auto& [name, record] : snapshot.pools) {
    if (record->removed || named.contains(name)) continue;
    PoolRecord next = *record;
    next.removed = true;
    writes.push_back(std::move(next));
  }
  return writes;
}

}  // namespace isthmus::infra
