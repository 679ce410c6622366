#include "isthmus/infra/owner_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "isthmus/infra/object_views.h"

namespace isthmus::infra {
namespace {

using Type = api::WatchEvent::Type;

// What follows the prefix, or nothing where the key has another.
std::optional<std::string_view> behind(std::string_view prefix, std::string_view key) {
  if (!key.starts_with(prefix)) return std::nullopt;
  return key.substr(prefix.size());
}

// The last of the changes that touched an object.
struct Touched {
  Revision at = 0;
  std::optional<AddressRecord> own_address = {};  // Of an address that was this owner's.
};

api::WatchEvent event(bool removed) {
  api::WatchEvent event;
  event.type = removed ? Type::removed : Type::changed;
  return event;
}

}  // namespace

OwnerEvents::OwnerEvents(Ledger& ledger, const Access& access, const Clock& clock,
                         std::string owner, bool sees_all_pools)
    : ledger_(ledger),
      access_(access),
      clock_(clock),
      owner_(std::move(owner)),
      sees_all_pools_(sees_all_pools) {}

// The key of the object that a change of this key is told as; empty for what is not the owner's.
// The owner of an address is only known by its record.
std::string OwnerEvents::touched(const std::string& key) const {
  const std::string own = owner_ + "/";
  if (auto rest = behind(kStatusPrefix, key)) {
    return rest->starts_with(own) ? fmt::format("{}{}", kBalancerPrefix, *rest) : "";
  }
  if (auto rest = behind(kRouteStatusPrefix, key)) {
    return rest->starts_with(own) ? fmt::format("{}{}", kRouteTablePrefix, *rest) : "";
  }
  for (std::string_view prefix : {kBalancerPrefix, kTargetSetPrefix, kRouteTablePrefix}) {
    if (auto rest = behind(prefix, key)) return rest->starts_with(own) ? key : "";
  }
  return key.starts_with(kPoolPrefix) || key.starts_with(kAddressPrefix) ? key : "";
}

std::optional<api::WatchEvent> OwnerEvents::pool_event(const LedgerSnapshot& snapshot,
                                                       std::string_view name) {
  const PoolRecord* record = snapshot.pools.look_up(name);
  const auto allowed = sees_all_pools_ ? nullptr : access_.pools_of(owner_);
  if (record == nullptr || (allowed != nullptr && !allowed->contains(name))) return std::nullopt;
  api::WatchEvent told = event(record->removed);
  told.pool = record->pool;
  return told;
}

std::optional<api::WatchEvent> OwnerEvents::address_event(
    const LedgerSnapshot& snapshot, std::string_view address,
    const std::optional<AddressRecord>& last_own) {
  Result<IpAddress> parsed = parse_ip(address);
  if (!parsed) return std::nullopt;
  const AddressRecord* record = snapshot.address(*parsed);
  const bool is_own = record != nullptr && record->owner == owner_;
  if (!is_own && !last_own) return std::nullopt;
  const AddressRecord& shown_one = is_own ? *record : *last_own;
  const WallTime now = clock_.wall_now();
  api::WatchEvent told = event(!is_own || (record->holders.empty() && !record->is_cooling(now)));
  told.address = shown(shown_one, now);
  return told;
}

// The record of an address that the change says is this owner's. One that cannot be read is told by
// the ledger.
std::optional<AddressRecord> OwnerEvents::own_address(const Change& change) const {
  if (!change.value || !change.key.starts_with(kAddressPrefix)) return std::nullopt;
  Result<AddressRecord> record = decode_address_record(*change.value, change.revision);
  if (!record || record->owner != owner_) return std::nullopt;
  return std::move(*record);
}

// Of what lies under the owner's name.
std::optional<api::WatchEvent> OwnerEvents::own_event(const LedgerSnapshot& snapshot,
                                                      std::string_view key) {
  const ObjectName name{owner_, std::string(key.substr(key.rfind('/') + 1))};
  if (key.starts_with(kBalancerPrefix)) {
    const BalancerRecord* record = snapshot.balancers.look_up(name);
    if (record == nullptr) return std::nullopt;
    api::WatchEvent told = event(record->is_tombstone());
    told.load_balancer = shown(snapshot, *record, clock_.wall_now());
    return told;
  }
  if (key.starts_with(kTargetSetPrefix)) {
    const TargetSetRecord* record = snapshot.target_sets.look_up(name);
    if (record == nullptr) return std::nullopt;
    api::WatchEvent told = event(record->deleted_at.has_value());
    told.target_set = shown(snapshot, *record);
    return told;
  }
  const RouteTableRecord* record = snapshot.route_tables.look_up(name);
  if (record == nullptr) return std::nullopt;
  api::WatchEvent told = event(record->is_tombstone());
  told.route_table = shown(snapshot, *record, clock_.wall_now());
  return told;
}

std::optional<api::WatchEvent> OwnerEvents::event_of(const LedgerSnapshot& snapshot,
                                                     std::string_view key,
                                                     const std::optional<AddressRecord>& last_own) {
  if (auto rest = behind(kPoolPrefix, key)) return pool_event(snapshot, *rest);
  if (auto rest = behind(kAddressPrefix, key)) return address_event(snapshot, *rest, last_own);
  return own_event(snapshot, key);
}

Task<Result<std::vector<api::WatchEvent>>> OwnerEvents::events_of(Changes changes,
                                                                  Revision before) {
  std::map<std::string, Touched> last_touched;
  for (const Change& change : changes.changes) {
    std::string key = touched(change.key);
    if (key.empty()) continue;
    Touched& last = last_touched[std::move(key)];
    last.at = change.revision;
    if (auto own = own_address(change)) last.own_address = std::move(own);
  }
  std::vector<api::WatchEvent> events;
  if (last_touched.empty()) co_return events;
  Ledger::Snapshot snapshot = CO_TRY(co_await ledger_.latest());
  std::multimap<Revision, std::string> by_commit;
  for (const auto& [key, last] : last_touched) by_commit.emplace(last.at, key);
  for (const auto& [revision, key] : by_commit) {
    std::optional<api::WatchEvent> told =
        event_of(*snapshot, key, last_touched.at(key).own_address);
    if (!told) continue;
    told->revision = revision;
    events.push_back(std::move(*told));
  }
  // Whoever is cut off inside a commit must get all of it again.
  Revision done = before;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Revision revision = events[i].revision;
    if (i + 1 == events.size() || events[i + 1].revision != revision) done = revision;
    events[i].revision = done;
  }
  co_return events;
}

}  // namespace isthmus::infra
