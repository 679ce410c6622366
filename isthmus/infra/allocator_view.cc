#include "isthmus/infra/allocator_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace isthmus::infra {
namespace {

constexpr std::size_t kHoldersNamed = 3;

// The subnet-router anycast address of a /64.
bool is_anycast(const IpAddress& address) {
  return address.family == IpFamily::v6 &&
         std::ranges::all_of(address.bytes.begin() + 8, address.bytes.end(),
                             [](auto byte) { return byte == 0; });
}

bool contains(const api::Pool& pool, const IpAddress& address) {
  return std::ranges::any_of(pool.ranges,
                             [&](const IpPrefix& range) { return range.contains(address); });
}

// The holders but for that one, as "prod/a, prod/b and 3 more".
std::string others_of(const AddressRecord& record, const ObjectName& name) {
  std::vector<std::string> named;
  std::size_t others = 0;
  for (const std::string& holder : record.holders) {
    ObjectName other{record.owner, holder};
    if (other == name) continue;
    if (++others <= kHoldersNamed) named.push_back(to_string(other));
  }
  std::string text = fmt::format("{}", fmt::join(named, ", "));
  if (others > kHoldersNamed) text += fmt::format(" and {} more", others - kHoldersNamed);
  return text;
}

}  // namespace

IpAddress next(const IpAddress& address) {
  IpAddress result = address;
  for (std::size_t i = address.size(); i > 0; --i) {
    if (++result.bytes[i - 1] != 0) break;
  }
  return result;
}

bool holds(const AddressRecord& record, const ObjectName& name) {
  return record.owner == name.owner && std::ranges::binary_search(record.holders, name.name);
}

bool is_free_for_it(Standing standing) { return standing <= Standing::cooled_down; }

AddressView::AddressView(const LedgerSnapshot& snapshot, const ObjectName& name,
                         const api::LoadBalancerSpec& spec, const Circumstances& circumstances)
    : snapshot_(snapshot), name_(name), spec_(spec), circumstances_(circumstances) {
  for (const api::Listener& listener : spec.listeners) {
    ports_.insert({listener.protocol, listener.port});
  }
  for (const auto& [orphan, found] : circumstances.orphans) {
    for (const IpAddress& address : found.addresses) orphaned_[address].insert(orphan);
  }
}

std::optional<std::pair<std::string, AddressView::Port>> AddressView::port_taken(
    const AddressRecord& record) const {
  for (const std::string& holder : record.holders) {
    if (holder == name_.name) continue;
    const BalancerRecord* balancer = snapshot_.balancer({record.owner, holder});
    if (balancer == nullptr) continue;
    for (const api::Listener& listener : balancer->spec.listeners) {
      Port port{listener.protocol, listener.port};
      if (ports_.contains(port)) return std::pair(holder, port);
    }
  }
  return std::nullopt;
}

// Of an address with other holders; `otherwise` where they and the load balancer get along.
Standing AddressView::standing_among(const AddressRecord& record, Standing otherwise) const {
  bool would_share = record.owner == name_.owner && !record.sharing_key.empty() &&
                     record.sharing_key == spec_.sharing_key;
  if (!would_share) return Standing::taken;
  return port_taken(record) ? Standing::ports_taken : otherwise;
}

Standing AddressView::standing(const IpAddress& address, const AddressRecord* record) const {
  if (record != nullptr && holds(*record, name_)) {
    return record->holders.size() == 1 ? Standing::mine : standing_among(*record, Standing::mine);
  }
  auto orphans = orphaned_.find(address);
  bool my_orphan = orphans != orphaned_.end() && orphans->second.contains(name_);
  if (orphans != orphaned_.end() && !my_orphan) return Standing::orphaned;
  if (record != nullptr && !record->holders.empty()) {
    return standing_among(*record, Standing::shareable);
  }
  if (my_orphan) return Standing::my_orphan;
  if (record == nullptr) return Standing::untouched;
  if (!record->is_cooling(circumstances_.now)) return Standing::cooled_down;
  bool was_mine = record->owner == name_.owner && record->last_holder == name_.name;
  return was_mine ? Standing::cooling_for_me : Standing::cooling;
}

const api::Pool* AddressView::pool_of(const IpAddress& address) const {
  // Where its record says it is, as a rule; a range may have moved to another pool since.
  if (const AddressRecord* record = snapshot_.address(address)) {
    const PoolRecord* pool = snapshot_.pool(record->pool);
    if (pool != nullptr && contains(pool->pool, address)) return &pool->pool;
  }
  for (const auto& [name, record] : snapshot_.pools) {
    if (!record->removed && contains(record->pool, address)) return &record->pool;
  }
  return nullptr;
}

bool AddressView::may_use(const api::Pool& pool) const {
  return circumstances_.pools_allowed == nullptr ||
         circumstances_.pools_allowed->contains(pool.name);
}

std::vector<const api::Pool*> AddressView::pools_allowed() const {
  std::vector<const api::Pool*> allowed;
  for (const auto& [name, record] : snapshot_.pools) {
    if (!record->removed && may_use(record->pool)) allowed.push_back(&record->pool);
  }
  return allowed;
}

std::vector<IpAddress> AddressView::present_addresses() const {
  std::vector<IpAddress> present;
  auto orphan = circumstances_.orphans.find(name_);
  if (orphan != circumstances_.orphans.end()) present = orphan->second.addresses;
  const BalancerRecord* balancer = snapshot_.balancer(name_);
  if (balancer == nullptr) return present;
  for (const IpAddress& address : balancer->addresses) {
    const AddressRecord* record = snapshot_.address(address);
    if (record == nullptr || !holds(*record, name_)) continue;
    if (std::ranges::find(present, address) == present.end()) present.push_back(address);
  }
  return present;
}

const std::string* AddressView::unusable(const IpAddress& address) const {
  if (circumstances_.unusable == nullptr) return nullptr;
  auto found = circumstances_.unusable->find(address);
  return found == circumstances_.unusable->end() ? nullptr : &found->second;
}

std::optional<std::string> AddressView::claim_on(const IpAddress& address) const {
  AddressClaims claims = claims_between(address, address, snapshot_, circumstances_.machines);
  if (claims.empty()) return std::nullopt;
  return std::move(claims.begin()->second);
}

// The first that may be given unasked, of those from here to the last, none of which has a record.
std::optional<IpAddress> AddressView::first_untouched(IpAddress from, const IpAddress& last,
                                                      const AddressClaims& claims) const {
  while (true) {
    bool passed_over = is_anycast(from) || orphaned_.contains(from) || claims.contains(from) ||
                       unusable(from) != nullptr;
    if (!passed_over) return from;
    if (from == last) return std::nullopt;
    from = next(from);
  }
}

void AddressView::note(const AddressRecord& record, const AddressClaims& claims,
                       Finding& finding) const {
  if (!record.holders.empty()) {
    ++finding.held;
    if (finding.holders.size() < kHoldersNamed) {
      finding.holders.push_back(to_string(ObjectName{record.owner, record.holders.front()}));
    }
  } else if (record.is_cooling(circumstances_.now)) {
    ++finding.cooling;
    finding.next_free = std::min(finding.next_free.value_or(*record.free_at), *record.free_at);
  }
  // Most of a pool is held by others who share with nobody.
  const bool may_share = !spec_.sharing_key.empty() && record.sharing_key == spec_.sharing_key;
  if (!record.holders.empty() && !may_share) return;
  Standing standing_now = standing(record.address, &record);
  bool given_before = standing_now == Standing::shareable;
  bool cannot_have = unusable(record.address) != nullptr || claims.contains(record.address);
  if (!given_before && cannot_have) return;
  if (standing_now == Standing::shareable && !finding.shareable) {
    finding.shareable = record.address;
  }
  if (standing_now == Standing::cooling_for_me &&
      (!finding.mine_again || *record.free_at > finding.mine_again_until)) {
    finding.mine_again = record.address;
    finding.mine_again_until = *record.free_at;
  }
  WallTime since = record.free_at.value_or(WallTime{});
  if (standing_now == Standing::cooled_down && !is_anycast(record.address) &&
      (!finding.longest_cooled || since < finding.longest_cooled_since)) {
    finding.longest_cooled = record.address;
    finding.longest_cooled_since = since;
  }
}

void AddressView::walk(const IpPrefix& range, const AddressClaims& claims, Finding& finding) const {
  const IpAddress last = range.last();
  IpAddress expected = range.address;
  bool at_end = false;  // The last address of the range has a record.
  for (auto found = snapshot_.addresses.lower_bound(range.address);
       found != snapshot_.addresses.end() && found->first <= last; ++found) {
    const IpAddress& address = found->first;
    if (!finding.untouched && expected < address) {
      std::optional<IpAddress> free = first_untouched(expected, address, claims);
      if (free && *free < address) finding.untouched = free;
    }
    expected = next(address);
    at_end = address == last;
    note(*found->second, claims, finding);
  }
  if (!finding.untouched && !at_end) finding.untouched = first_untouched(expected, last, claims);
}

Finding AddressView::look_at(const api::Pool& pool, IpFamily family) const {
  std::vector<IpPrefix> ranges;
  std::ranges::copy_if(pool.ranges, std::back_inserter(ranges),
                       [family](const IpPrefix& range) { return range.address.family == family; });
  std::ranges::sort(ranges);
  Finding finding;
  finding.has_ranges = !ranges.empty();
  if (ranges.empty()) return finding;
  const AddressClaims claims = claims_between(ranges.front().address, ranges.back().last(),
                                              snapshot_, circumstances_.machines);
  finding.claimed = static_cast<std::uint64_t>(std::ranges::count_if(
      claims, [&pool](const auto& claim) { return contains(pool, claim.first); }));
  for (const IpPrefix& range : ranges) walk(range, claims, finding);
  return finding;
}

std::string AddressView::obstacle(const IpAddress& address, const AddressRecord* record,
                                  Standing standing) const {
  const std::string text = to_string(address);
  if (standing == Standing::orphaned) {
    const std::string orphan = to_string(*orphaned_.at(address).begin());
    return fmt::format(
        "{} is still served for {}, which the store does not know: its owner may put it again or "
        "delete it, or an administrator gives it up with DELETE /v1/orphans/{}",
        text, orphan, orphan);
  }
  ISTHMUS_ASSERT(record != nullptr, "somebody has or had the address");
  if (standing == Standing::cooling) {
    const std::string last = to_string(ObjectName{record->owner, record->last_holder});
    return fmt::format(
        "{} cools down until {}, and only {} has it back before: wait, or ask for "
        "another address",
        text, rfc3339(*record->free_at), last);
  }
  if (standing == Standing::ports_taken) {
    auto [holder, port] = *port_taken(*record);
    return fmt::format(
        "{} is shared with {}, which serves {} {} on it: use another port, or ask "
        "for another address",
        text, to_string(ObjectName{record->owner, holder}), to_string(port.first), port.second);
  }
  std::string_view share =
      record->owner == name_.owner ? ", give all of them the same sharingKey" : "";
  return fmt::format("{} is held by {}: ask for another address{}, or delete what holds it", text,
                     others_of(*record, name_), share);
}

}  // namespace isthmus::infra
