#include "isthmus/infra/balancer_book.h"

#include <utility>

namespace isthmus::infra {

BalancerBook::Names BalancerBook::take_in(Ledger::Snapshot snapshot, Moment now) {
  static const LedgerSnapshot kNothing;
  const LedgerSnapshot& before = snapshot_ ? *snapshot_ : kNothing;
  const LedgerSnapshot& after = *snapshot;
  Names concerned;
  auto see_balancer = [&](const ObjectName& name, const auto& record) {
    if (record == nullptr) return;  // A tombstone that was forgotten.
    take_in(name, record, after, now);
    concerned.insert(name);
  };
  auto see_set = [&](const ObjectName& name, const auto&) {
    for (ObjectName& user : after.users_of(name)) concerned.insert(std::move(user));
  };
  auto see_address = [&](const IpAddress&, const auto& record) {
    if (record == nullptr) return;
    for (const std::string& holder : record->holders) concerned.insert({record->owner, holder});
  };
  bool pools_changed = false;
  after.balancers.for_each_difference(before.balancers, see_balancer);
  after.target_sets.for_each_difference(before.target_sets, see_set);
  after.addresses.for_each_difference(before.addresses, see_address);
  after.pools.for_each_difference(before.pools,
                                  [&](const std::string&, const auto&) { pools_changed = true; });
  if (pools_changed) {
    for (const auto& [name, entry] : entries_) concerned.insert(name);
  }
  std::erase_if(concerned, [&](const ObjectName& name) { return !entries_.contains(name); });
  for (const ObjectName& name : concerned) entries_.at(name).rules_due = true;
  snapshot_ = std::move(snapshot);
  return concerned;
}

void BalancerBook::take_in(const ObjectName& name, std::shared_ptr<const BalancerRecord> record,
                           const LedgerSnapshot& snapshot, Moment now) {
  auto found = entries_.find(name);
  if (found == entries_.end()) {
    if (record->is_tombstone()) return;
    found = entries_.try_emplace(name).first;
  }
  BookEntry& entry = found->second;
  if (entry.record == nullptr) {
    if (const StatusRecord* status = snapshot.status(name)) {
      entry.status = status->status;
      entry.repairs = {entry.status.repairs, entry.status.last_repair,
                       entry.status.last_repair_reason};
    }
  } else {
    const bool stood = !entry.record->is_leaving() && !entry.record->is_tombstone();
    const bool goes = record->is_leaving() || record->is_tombstone();
    entry.told_to_leave = goes && (stood || entry.told_to_leave);
    // One of its name that was put again is another, and what happened to the first is not its own.
    if (entry.record->metadata.uid != record->metadata.uid) {
      entry.repairs = {};
      entry.status = {};
    }
  }
  const bool same =
      entry.record != nullptr && entry.record->metadata.generation == record->metadata.generation;
  if (!same) {
    entry.seen_at = now;
    entry.is_new = true;
  }
  entry.record = std::move(record);
}

BookEntry* BalancerBook::find(const ObjectName& name) {
  auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

const BookEntry* BalancerBook::find(const ObjectName& name) const {
  auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

BookEntry& BalancerBook::enter(const ObjectName& name) {
  BookEntry& entry = entries_[name];
  if (snapshot_ == nullptr || entry.record != nullptr) return entry;
  auto record = snapshot_->balancers.find(name);
  if (record != snapshot_->balancers.end()) entry.record = record->second;
  return entry;
}

void BalancerBook::forget(const ObjectName& name) {
  use(name, {});
  disclaim(name, {});
  entries_.erase(name);
}

void BalancerBook::use(const ObjectName& name, std::set<IpAddress> addresses) {
  BookEntry& entry = enter(name);
  for (const IpAddress& address : entry.addresses) {
    if (addresses.contains(address)) continue;
    auto users = users_.find(address);
    users->second.erase(name);
    if (!users->second.empty()) continue;
    users_.erase(users);
    abandoned_.insert(address);
  }
  for (const IpAddress& address : addresses) {
    users_[address].insert(name);
    abandoned_.erase(address);
  }
  entry.addresses = std::move(addresses);
}

const BalancerBook::Names& BalancerBook::users_of(const IpAddress& address) const {
  static const Names kNobody;
  auto found = users_.find(address);
  return found == users_.end() ? kNobody : found->second;
}

void BalancerBook::disclaim(const ObjectName& name, const std::set<drivers::ListenerKey>& but) {
  auto found = claimed_.find(name);
  if (found == claimed_.end()) return;
  std::erase_if(found->second, [&](const drivers::ListenerKey& key) {
    if (but.contains(key)) return false;
    claims_.erase(key);
    return true;
  });
  if (found->second.empty()) claimed_.erase(found);
}

std::optional<std::pair<drivers::ListenerKey, ObjectName>> BalancerBook::claim(
    const ObjectName& name, const std::set<drivers::ListenerKey>& keys) {
  for (const drivers::ListenerKey& key : keys) {
    auto found = claims_.find(key);
    if (found != claims_.end() && found->second != name) return {{key, found->second}};
  }
  disclaim(name, keys);
  if (keys.empty()) return std::nullopt;
  for (const drivers::ListenerKey& key : keys) claims_.try_emplace(key, name);
  claimed_[name] = keys;
  return std::nullopt;
}

}  // namespace isthmus::infra
