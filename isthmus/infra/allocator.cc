#include "isthmus/infra/allocator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string_view>
#include <utility>

#include "isthmus/infra/allocator_view.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

constexpr std::size_t kCountBits = 53;  // What every JSON reader can hold.
constexpr std::uint64_t kCountMax = std::uint64_t{1} << kCountBits;

// Why something that was asked for cannot be had.
struct Refusal {
  std::string_view suffix;
  std::string detail;
  std::optional<WallTime> until = std::nullopt;  // When it may be different.
};

bool contains(const std::vector<IpAddress>& addresses, const IpAddress& address) {
  return std::ranges::find(addresses, address) != addresses.end();
}

using Chosen = std::expected<std::vector<IpAddress>, api::Problem>;

api::Problem problem_of(const std::vector<Refusal>& refusals, WallTime now) {
  std::vector<std::string_view> details;
  std::optional<WallTime> until;
  for (const Refusal& refusal : refusals) {
    details.push_back(refusal.detail);
    if (refusal.until) until = std::max(until.value_or(*refusal.until), *refusal.until);
  }
  api::Problem refused =
      api::make_problem(refusals.front().suffix, fmt::format("{}", fmt::join(details, "; ")));
  if (until && *until > now) {
    auto wait = std::chrono::ceil<std::chrono::seconds>(*until - now).count();
    refused.retry_after_s = static_cast<std::uint32_t>(
        std::min<std::int64_t>(wait, std::numeric_limits<std::uint32_t>::max()));
  }
  return refused;
}

std::vector<std::string> described(const std::vector<const api::Pool*>& pools) {
  std::vector<std::string> texts;
  for (const api::Pool* pool : pools) {
    std::vector<std::string> ranges;
    for (const IpPrefix& range : pool->ranges) ranges.push_back(to_string(range));
    texts.push_back(fmt::format("{} ({})", pool->name, fmt::join(ranges, ", ")));
  }
  return texts;
}

std::string pools_there_are(const AddressView& view) {
  std::vector<std::string> texts = described(view.pools_allowed());
  if (texts.empty()) return fmt::format("there is no pool that {} may use", view.name().owner);
  return fmt::format("{} may use {}", view.name().owner, fmt::join(texts, ", "));
}

// Of the pool that the spec names; nullopt: something may be taken from it, or none is named.
std::optional<api::Problem> wrong_pool(const AddressView& view) {
  const std::string& named = view.spec().pool;
  if (named.empty()) return std::nullopt;
  const PoolRecord* pool = view.snapshot().pool(named);
  if (pool != nullptr && view.may_use(pool->pool)) return std::nullopt;
  api::Problem wrong = api::make_problem(problem::invalid_spec, "1 field is wrong");
  const std::string why = pool == nullptr ? fmt::format("there is no pool {}", named)
                                          : fmt::format("the pool {} is not this owner's", named);
  wrong.errors = {{"/spec/pool", fmt::format("{}; {}", why, pools_there_are(view))}};
  return wrong;
}

bool has_it(Standing standing) {
  return standing == Standing::mine || standing == Standing::my_orphan;
}

// Whether it lies where the spec wants it. What is held stays even where no pool says it should be.
bool fits(const AddressView& view, const api::Pool* pool, Standing standing) {
  if (!view.spec().pool.empty()) return pool != nullptr && pool->name == view.spec().pool;
  return pool != nullptr || standing == Standing::mine;
}

// Where an address that is asked for lies, when it does not lie where it could be had.
std::string outside(const AddressView& view, const IpAddress& address, const api::Pool* pool) {
  const std::string text = to_string(address);
  const std::string& named = view.spec().pool;
  if (pool == nullptr) return fmt::format("{} is in no pool; {}", text, pools_there_are(view));
  if (!named.empty() && pool->name != named) {
    return fmt::format("{} is in pool {}, not in {}, which is asked for", text, pool->name, named);
  }
  return fmt::format("{} is in pool {}, which is not for {}; {}", text, pool->name,
                     view.name().owner, pools_there_are(view));
}

std::optional<Refusal> refusal_of(const AddressView& view, const IpAddress& address) {
  const AddressRecord* record = view.snapshot().address(address);
  const Standing standing = view.standing(address, record);
  const api::Pool* pool = view.pool_of(address);
  if (!fits(view, pool, standing) || (!has_it(standing) && !view.may_use(*pool))) {
    return Refusal{problem::address_not_in_pool, outside(view, address, pool)};
  }
  const std::string* unusable = view.unusable(address);
  if (!has_it(standing) && unusable != nullptr) {
    return Refusal{problem::address_not_in_pool,
                   fmt::format("{} cannot be served here: {}", to_string(address), *unusable)};
  }
  if (is_free_for_it(standing)) {
    if (has_it(standing) || standing == Standing::shareable) return std::nullopt;
    auto claim = view.claim_on(address);
    if (!claim) return std::nullopt;
    return Refusal{problem::address_in_use,
                   fmt::format("{} {}: ask for another address", to_string(address), *claim)};
  }
  bool cools = standing == Standing::cooling;
  return Refusal{problem::address_in_use, view.obstacle(address, record, standing),
                 cools ? record->free_at : std::nullopt};
}

Chosen as_asked(const AddressView& view) {
  std::vector<Refusal> refusals;
  bool has_all = true;
  for (const IpAddress& address : view.spec().addresses) {
    if (auto refusal = refusal_of(view, address)) refusals.push_back(std::move(*refusal));
    has_all = has_all && has_it(view.standing(address, view.snapshot().address(address)));
  }
  auto wrong = has_all ? std::nullopt : wrong_pool(view);
  if (wrong) return std::unexpected(std::move(*wrong));
  if (!refusals.empty()) return std::unexpected(problem_of(refusals, view.circumstances().now));
  return view.spec().addresses;
}

// What it has already, of the family and where the spec wants it. Of what it holds, a refusal: an
// address that is shared stays, so the others on it must get along with the new spec.
std::expected<std::optional<IpAddress>, Refusal> kept(const AddressView& view, IpFamily family) {
  for (const IpAddress& address : view.present_addresses()) {
    const AddressRecord* record = view.snapshot().address(address);
    const Standing standing = view.standing(address, record);
    if (address.family != family || !fits(view, view.pool_of(address), standing)) continue;
    if (is_free_for_it(standing)) return address;
    // An orphan whose address the store gave to somebody else meanwhile gets another one.
    const BalancerRecord* balancer = view.snapshot().balancer(view.name());
    if (balancer == nullptr || !contains(balancer->addresses, address)) continue;
    return std::unexpected(
        Refusal{problem::address_in_use, view.obstacle(address, record, standing)});
  }
  return std::nullopt;
}

// The first it prefers that it would get if it asked for it.
std::optional<IpAddress> preferred(const AddressView& view, IpFamily family) {
  if (view.circumstances().preferred == nullptr) return std::nullopt;
  for (const IpAddress& address : *view.circumstances().preferred) {
    if (address.family == family && !refusal_of(view, address)) return address;
  }
  return std::nullopt;
}

struct Search {
  const api::Pool* pool;
  Finding finding;
};

// What it held a moment ago; of several, what it released last.
std::optional<IpAddress> revived(const std::vector<Search>& searches) {
  const Search* last_mine = nullptr;
  for (const Search& search : searches) {
    if (!search.finding.mine_again) continue;
    if (last_mine == nullptr ||
        search.finding.mine_again_until > last_mine->finding.mine_again_until) {
      last_mine = &search;
    }
  }
  return last_mine == nullptr ? std::nullopt : last_mine->finding.mine_again;
}

std::optional<IpAddress> best_of(const std::vector<Search>& searches, bool is_named) {
  auto offers = [is_named](const Search& search) { return is_named || search.pool->auto_assign; };
  for (const Search& search : searches) {
    if (offers(search) && search.finding.shareable) return search.finding.shareable;
  }
  for (const Search& search : searches) {
    if (!offers(search)) continue;
    if (search.finding.untouched) return search.finding.untouched;
    if (search.finding.longest_cooled) return search.finding.longest_cooled;
  }
  return std::nullopt;
}

std::string how_full(const Search& search, IpFamily family) {
  const Finding& finding = search.finding;
  if (!finding.has_ranges) {
    return fmt::format("pool {} has no {} range", search.pool->name, to_string(family));
  }
  std::string text = fmt::format("pool {} has no free {} address: {} held", search.pool->name,
                                 to_string(family), finding.held);
  if (!finding.holders.empty()) {
    text += fmt::format(" (by {}", fmt::join(finding.holders, ", "));
    std::size_t more = finding.held - finding.holders.size();
    text += more > 0 ? fmt::format(" and for {} more)", more) : ")";
  }
  if (finding.next_free) {
    text += fmt::format(", {} cooling down, the next until {}", finding.cooling,
                        rfc3339(*finding.next_free));
  }
  if (finding.claimed > 0) text += fmt::format(", {} of machines or targets", finding.claimed);
  return text;
}

Refusal exhausted(const AddressView& view, const std::vector<Search>& searches, IpFamily family,
                  bool is_named) {
  std::vector<std::string> details;
  std::optional<WallTime> until;
  for (const Search& search : searches) {
    if (!is_named && !search.pool->auto_assign) continue;
    details.push_back(how_full(search, family));
    const std::optional<WallTime>& next_free = search.finding.next_free;
    if (next_free) until = std::min(until.value_or(*next_free), *next_free);
  }
  if (details.empty()) {
    return {problem::pool_exhausted,
            fmt::format("no pool with autoAssign may be used for an {} address: name a pool or "
                        "addresses; {}",
                        to_string(family), pools_there_are(view))};
  }
  return {problem::pool_exhausted,
          fmt::format("{}: add a range to the pool, or delete what is not needed any more",
                      fmt::join(details, "; ")),
          until};
}

// One address of each family, or none.
Chosen by_family(const AddressView& view) {
  std::vector<IpAddress> chosen;
  std::vector<Refusal> refusals;
  const bool is_named = !view.spec().pool.empty();
  for (IpFamily family : view.spec().families) {
    auto has = kept(view, family);
    if (!has) {
      refusals.push_back(std::move(has).error());
      continue;
    }
    if (*has) {
      chosen.push_back(**has);
      continue;
    }
    if (auto wrong = wrong_pool(view)) return std::unexpected(std::move(*wrong));
    std::vector<Search> searches;
    for (const api::Pool* pool : view.pools_allowed()) {
      if (!is_named || pool->name == view.spec().pool) {
        searches.push_back({pool, view.look_at(*pool, family)});
      }
    }
    std::optional<IpAddress> found = revived(searches);
    if (!found) found = preferred(view, family);
    if (!found) found = best_of(searches, is_named);
    if (found) {
      chosen.push_back(*found);
    } else {
      refusals.push_back(exhausted(view, searches, family, is_named));
    }
  }
  if (!refusals.empty()) return std::unexpected(problem_of(refusals, view.circumstances().now));
  return chosen;
}

// The record of an address as it stands, or of one that nobody has heard of.
AddressRecord record_of(const LedgerSnapshot& snapshot, const IpAddress& address) {
  if (const AddressRecord* record = snapshot.address(address)) return *record;
  AddressRecord fresh;
  fresh.address = address;
  fresh.epoch = snapshot.revision;  // And one more for the holder it gets.
  return fresh;
}

AddressRecord held(const AddressView& view, const IpAddress& address) {
  AddressRecord record = record_of(view.snapshot(), address);
  const std::string& name = view.name().name;
  if (record.owner != view.name().owner) record.holders.clear();
  auto place = std::ranges::lower_bound(record.holders, name);
  bool is_new = place == record.holders.end() || *place != name;
  if (is_new) record.holders.insert(place, name);
  if (is_new || record.host != view.circumstances().host) ++record.epoch;
  if (const api::Pool* pool = view.pool_of(address)) record.pool = pool->name;
  record.owner = view.name().owner;
  record.last_holder.clear();
  record.sharing_key = view.spec().sharing_key;
  record.host = view.circumstances().host;
  record.free_at.reset();
  return record;
}

// The record without that holder: the others keep it, and after the last it cools down.
AddressRecord let_go(const LedgerSnapshot& snapshot, AddressRecord record, const ObjectName& name,
                     const Circumstances& circumstances) {
  std::erase(record.holders, name.name);
  ++record.epoch;
  if (!record.holders.empty()) return record;
  record.owner = name.owner;
  record.last_holder = name.name;
  record.sharing_key.clear();
  record.free_at = circumstances.now + snapshot.cool_down(record.pool);
  return record;
}

// What it has and does not keep. An orphan's address that goes cools down as well: the kernel holds
// it until the reconciler has been there.
std::optional<AddressRecord> given_up(const AddressView& view, const IpAddress& address) {
  AddressRecord record = record_of(view.snapshot(), address);
  const ObjectName& name = view.name();
  const bool is_held = holds(record, name);
  if (!is_held && !record.holders.empty()) return std::nullopt;
  if (!is_held) {
    const api::Pool* pool = view.pool_of(address);
    if (pool == nullptr) return std::nullopt;
    record.pool = pool->name;
    record.host = view.circumstances().host;
  }
  return let_go(view.snapshot(), std::move(record), name, view.circumstances());
}

// At most kCountMax.
std::uint64_t size_of(const IpPrefix& range) {
  std::size_t free_bits = range.address.size() * 8 - range.bits;
  return free_bits >= kCountBits ? kCountMax : std::uint64_t{1} << free_bits;
}

api::PoolUse use_of_family(const LedgerSnapshot& snapshot, const api::Pool& pool, IpFamily family,
                           const Circumstances& circumstances) {
  api::PoolUse use{.family = family};
  std::uint64_t claimed = 0;  // By machines and targets, and not counted otherwise.
  std::set<IpAddress> orphaned;
  for (const auto& [name, orphan] : circumstances.orphans) {
    orphaned.insert(orphan.addresses.begin(), orphan.addresses.end());
  }
  for (const IpPrefix& range : pool.ranges) {
    if (range.address.family != family) continue;
    use.total = std::min(kCountMax, use.total + size_of(range));
    if (circumstances.unusable != nullptr) {
      use.total -= static_cast<std::uint64_t>(std::ranges::count_if(
          *circumstances.unusable, [&](const auto& entry) { return range.contains(entry.first); }));
    }
    const IpAddress last = range.last();
    AddressClaims claims = claims_between(range.address, last, snapshot, circumstances.machines);
    for (auto found = snapshot.addresses.lower_bound(range.address);
         found != snapshot.addresses.end() && found->first <= last; ++found) {
      claims.erase(found->first);
      bool is_held = !found->second->holders.empty() || orphaned.contains(found->first);
      orphaned.erase(found->first);
      use.held += is_held ? 1 : 0;
      use.cooling += !is_held && found->second->is_cooling(circumstances.now) ? 1 : 0;
    }
    use.held += static_cast<std::uint64_t>(std::ranges::count_if(
        orphaned, [&](const IpAddress& address) { return range.contains(address); }));
    claimed += static_cast<std::uint64_t>(std::ranges::count_if(claims, [&](const auto& claim) {
      const bool counted =
          orphaned.contains(claim.first) ||
          (circumstances.unusable != nullptr && circumstances.unusable->contains(claim.first));
      return !counted;
    }));
  }
  use.free = use.total - std::min(use.total, use.held + use.cooling + claimed);
  return use;
}

}  // namespace

std::expected<Allocation, api::Problem> allocate(const LedgerSnapshot& snapshot,
                                                 const ObjectName& name,
                                                 const api::LoadBalancerSpec& spec,
                                                 const Circumstances& circumstances) {
  const AddressView view(snapshot, name, spec, circumstances);
  Chosen chosen = spec.addresses.empty() ? by_family(view) : as_asked(view);
  if (!chosen) return std::unexpected(std::move(chosen).error());

  Allocation allocation{.addresses = std::move(*chosen), .writes = {}};
  auto write = [&](AddressRecord record) {
    const AddressRecord* before = snapshot.address(record.address);
    if (before == nullptr || *before != record) allocation.writes.push_back(std::move(record));
  };
  for (const IpAddress& address : allocation.addresses) write(held(view, address));
  for (const IpAddress& address : view.present_addresses()) {
    if (contains(allocation.addresses, address)) continue;
    if (auto record = given_up(view, address)) write(std::move(*record));
  }
  return allocation;
}

std::vector<AddressRecord> release(const LedgerSnapshot& snapshot, const ObjectName& name,
                                   const Circumstances& circumstances) {
  std::vector<AddressRecord> writes;
  const BalancerRecord* balancer = snapshot.balancer(name);
  if (balancer == nullptr) return writes;
  for (const IpAddress& address : balancer->addresses) {
    const AddressRecord* record = snapshot.address(address);
    if (record == nullptr || !holds(*record, name)) continue;
    writes.push_back(let_go(snapshot, *record, name, circumstances));
  }
  return writes;
}

std::vector<api::PoolUse> use_of(const LedgerSnapshot& snapshot, const api::Pool& pool,
                                 const Circumstances& circumstances) {
  std::vector<api::PoolUse> uses;
  for (IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    bool has_ranges = std::ranges::any_of(
        pool.ranges, [family](const IpPrefix& range) { return range.address.family == family; });
    if (has_ranges) uses.push_back(use_of_family(snapshot, pool, family, circumstances));
  }
  return uses;
}

api::AllocatedAddress shown(const AddressRecord& record, WallTime now) {
  using State = api::AllocatedAddress::State;
  api::AllocatedAddress address{.address = record.address,
                                .pool = record.pool,
                                .state = record.holders.empty() ? State::cooling : State::held,
                                .owner = record.owner,
                                .holders = record.holders,
                                .sharing_key = record.sharing_key,
                                .host = record.host,
                                .epoch = record.epoch,
                                .free_at = record.is_cooling(now) ? record.free_at : std::nullopt,
                                .revision = record.revision};
  if (!record.last_holder.empty()) address.holders = {record.last_holder};
  return address;
}

}  // namespace isthmus::infra
