#include "isthmus/infra/due_slices.h"

namespace isthmus::infra {
namespace {

// Of one listener with its slots, and what each load balancer costs whatever is in it.
constexpr std::size_t kListenerCost = 100;

bool goes_first(const BookEntry& entry) {
  if (!entry.rules_due || entry.is_new) return true;
  return entry.record != nullptr && (entry.record->is_leaving() || entry.record->is_tombstone());
}

std::size_t cost_of(const BookEntry* entry, const LedgerSnapshot* snapshot) {
  if (entry == nullptr || entry->record == nullptr || !entry->rules_due) return kListenerCost;
  const api::LoadBalancerSpec& spec = entry->record->spec;
  std::size_t cost = kListenerCost * (1 + spec.listeners.size() * entry->record->addresses.size());
  for (const api::TargetGroup& group : spec.target_groups) {
    cost += group.targets.size();
    if (snapshot == nullptr || group.target_set.empty()) continue;
    const TargetSetRecord* set =
        snapshot->target_set({entry->record->metadata.owner, group.target_set});
    if (set != nullptr) cost += set->set.targets.size();
  }
  return cost;
}

}  // namespace

void DueSlices::add(const Names& names, const BalancerBook& book) {
  for (const ObjectName& name : names) {
    const BookEntry* entry = book.find(name);
    if (entry == nullptr) continue;
    if (goes_first(*entry)) {
      others_.names.erase(name);
      first_.names.insert(name);
    } else if (!first_.names.contains(name)) {
      others_.names.insert(name);
    }
  }
}

DueSlices::Names DueSlices::take(const BalancerBook& book) {
  Names slice;
  std::size_t spent = 0;
  const std::size_t kept = others_.names.empty() ? 0 : kSliceCost / 4;
  first_.take(book, kSliceCost - kept, spent, slice);
  others_.take(book, kSliceCost, spent, slice);
  return slice;
}

void DueSlices::Ring::take(const BalancerBook& book, std::size_t cost, std::size_t& spent,
                           Names& slice) {
  while (!names.empty() && spent < cost) {
    auto next = last ? names.upper_bound(*last) : names.begin();
    if (next == names.end()) next = names.begin();
    last = *next;
    spent += cost_of(book.find(*next), book.snapshot());
    slice.insert(names.extract(next));
  }
}

}  // namespace isthmus::infra
