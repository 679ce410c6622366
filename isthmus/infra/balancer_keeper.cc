#include "isthmus/infra/balancer_keeper.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/backoff.h"
#include "isthmus/base/duration.h"

namespace isthmus::infra {
namespace {

// Faster than people look, and slow enough that thousands that fail for one reason cost nothing.
constexpr BackoffPolicy kRetryPolicy{
    .start = std::chrono::seconds(1), .cap = std::chrono::minutes(1), .jitter = Jitter::half};

// Between two tries of what is no load balancer's own.
constexpr Duration kLeftoversPause = std::chrono::seconds(1);

}  // namespace

// What one call of work() is about.
struct BalancerKeeper::Plan {
  RulesWork work;
  std::map<ObjectName, Resolution> serving;
  Names leaving;
};

// Who has a listener on which address when the work is done.
class BalancerKeeper::ServedAfter {
 public:
  // Both outlive it, with their changes and listeners as they are.
  ServedAfter(const RulesWork& work, const KernelView& kernel) : work_(work), kernel_(kernel) {
    for (const RulesWork::Change& change : work.changes) {
      changing_.insert(change.name);
      if (!change.balancer) continue;
      for (const IpAddress& address : change.balancer->addresses) {
        wanted_[address].insert(change.name);
      }
    }
  }

  Names on(const IpAddress& address) const {
    auto wanted = wanted_.find(address);
    Names served = wanted == wanted_.end() ? Names{} : wanted->second;
    const auto& listeners = kernel_.held().listeners;
    for (auto place = listeners.lower_bound({address, drivers::Protocol::tcp, 0});
         place != listeners.end() && place->first.address == address; ++place) {
      if (work_.restored.contains(place->first)) continue;
      std::optional<KernelNote> note = kernel_.note_of(place->first);
      if (!note || !changing_.contains(note->name)) {
        served.insert(note ? note->name : ObjectName{});
      }
    }
    return served;
  }

 private:
  const RulesWork& work_;
  const KernelView& kernel_;
  Names changing_;
  std::map<IpAddress, Names> wanted_;
};

BalancerKeeper::BalancerKeeper(Doors doors)
    : doors_(std::move(doors)),
      watch_({doors_.book, doors_.rules, doors_.addresses, doors_.clock, doors_.metrics,
              doors_.log}) {}

Result<> BalancerKeeper::start() {
  TRY(watch_.start());
  take_own_addresses();
  return {};
}

BalancerKeeper::Names BalancerKeeper::look_at_addresses() {
  Names concerned = watch_.look_at_addresses(staying_);
  if (!take_own_addresses()) return concerned;
  for (auto& [name, entry] : doors_.book.entries()) {
    entry.rules_due = true;
    concerned.insert(name);
  }
  return concerned;
}

// Whether they have changed, and somebody decides by them.
bool BalancerKeeper::take_own_addresses() {
  if (!doors_.role.announce_only) return false;
  std::set<IpAddress> own;
  for (const drivers::InterfaceAddress& one : doors_.addresses.others()) own.insert(one.address);
  if (own == doors_.role.own_addresses) return false;
  doors_.role.own_addresses = std::move(own);
  return true;
}

BalancerKeeper::Intent BalancerKeeper::intent(const ObjectName& name,
                                              const BookEntry& entry) const {
  const std::uint64_t in_kernel = doors_.rules.kernel().generation_of(name);
  const Intent stay = doors_.abandoned.contains(name) ? Intent::leave : Intent::stay;
  if (entry.record == nullptr) return stay;
  // A deletion that was requested before our time, of an older load balancer than the kernel
  // holds, is that of an old copy of the store.
  const bool older = entry.record->metadata.generation < in_kernel;
  if (entry.record->is_leaving() || entry.record->is_tombstone()) {
    return older && !entry.told_to_leave ? stay : Intent::leave;
  }
  return older ? stay : Intent::serve;
}

Resolution BalancerKeeper::resolved(const BookEntry& entry) const {
  return resolve(*doors_.book.snapshot(), *entry.record, doors_.role,
                 [this](const Check& check) { return doors_.health.verdict(check); });
}

void BalancerKeeper::prepare(const Names& names) {
  for (const ObjectName& name : names) {
    BookEntry* entry = doors_.book.find(name);
    if (entry == nullptr || !entry->rules_due) continue;
    switch (intent(name, *entry)) {
      case Intent::leave:
        doors_.book.disclaim(name, {});
        break;
      case Intent::stay:
        break;
      case Intent::serve: {
        doors_.book.disclaim(name, listeners_of(*entry->record));
        std::set<IpAddress> addresses = entry->addresses;
        addresses.insert(entry->record->addresses.begin(), entry->record->addresses.end());
        if (addresses != entry->addresses) doors_.book.use(name, std::move(addresses));
        break;
      }
    }
  }
}

void BalancerKeeper::work(const Names& names) {
  leftovers_again_at_ = later(doors_.clock.now(), kLeftoversPause);
  Plan plan;
  plan.work = std::exchange(watch_.leftovers, {});
  plan.work.links = doors_.addresses.links();
  plan.work.claims = &doors_.book.claims();
  gather(names, plan);
  if (const std::optional<Trouble>& trouble = watch_.trouble()) {
    watch_.leftovers = plan.work;
    watch_.leftovers.changes.clear();
    if (trouble->reason == reason::foreign_table) withdraw_everything(plan.work);
    for (const auto& [name, resolution] : plan.serving) {
      doors_.book.find(name)->rules_trouble = trouble;
    }
    for (const ObjectName& name : plan.leaving) {
      settle_leaving(name, *doors_.book.find(name), plan.work);
    }
    return;
  }
  claim_listeners(plan);
  refuse(plan);
  settle_addresses(plan);
  apply(plan);
  settle(plan);
  for (const ObjectName& name : names) {
    if (BookEntry* entry = doors_.book.find(name)) hold_addresses(name, *entry);
  }
}

// Sorts out who serves, leaves, or stays as it is.
void BalancerKeeper::gather(const Names& names, Plan& plan) {
  for (const ObjectName& name : names) {
    BookEntry* entry = doors_.book.find(name);
    if (entry == nullptr || !entry->rules_due) continue;
    entry->rules_due = false;
    entry->refused = false;
    staying_.erase(name);
    switch (intent(name, *entry)) {
      case Intent::leave:
        doors_.book.disclaim(name, {});
        plan.leaving.insert(name);
        plan.work.changes.push_back({name, std::nullopt});
        break;
      case Intent::stay:
        stay(name, *entry);
        break;
      case Intent::serve: {
        Resolution resolution = resolved(*entry);
        if (!resolution.other_host.empty()) {
          stay(name, *entry);
          entry->rules_trouble =
              Trouble{reason::other_host, fmt::format("its address is held by the host {}, and "
                                                      "this one is {}",
                                                      resolution.other_host, doors_.role.name)};
          break;
        }
        check_health(name, *entry, resolution);
        doors_.book.disclaim(name, listeners_of(resolution.balancer));
        plan.serving.emplace(name, std::move(resolution));
        break;
      }
    }
  }
}

// After everybody has let go of what they do not serve any more.
void BalancerKeeper::claim_listeners(Plan& plan) {
  std::erase_if(plan.serving, [&](auto& serving) {
    auto& [name, resolution] = serving;
    BookEntry& entry = *doors_.book.find(name);
    if (auto taken = doors_.book.claim(name, listeners_of(resolution.balancer))) {
      postpone(entry, {reason::listener_taken,
                       fmt::format("{} is served for {}; change the port or the address of one",
                                   to_string(taken->first), to_string(taken->second))});
      doors_.book.use(name, doors_.rules.kernel().addresses_of(name));
      return true;
    }
    plan.work.changes.push_back({name, resolution.balancer});
    return false;
  });
}

void BalancerKeeper::check_health(const ObjectName& name, BookEntry& entry,
                                  Resolution& resolution) {
  const std::vector<Check> checks = resolution.checks();
  if (entry.is_checked || !checks.empty()) doors_.health.want(to_string(name), checks);
  entry.is_checked = !checks.empty();
  if (!std::exchange(entry.held_at_start, false) || checks.empty()) return;
  for (const Check& check : checks_not_served(resolution, doors_.rules.kernel().held())) {
    doors_.health.assume_unhealthy(check, "it was when this program was started anew");
  }
  resolution = resolved(entry);
}

void BalancerKeeper::stay(const ObjectName& name, BookEntry& entry) {
  const KernelView& kernel = doors_.rules.kernel();
  staying_.insert(name);
  doors_.book.use(name, kernel.addresses_of(name));
  (void)doors_.book.claim(name, kernel.keys_of(name));
  if (entry.record == nullptr || entry.record->is_tombstone()) return;
  const Resolution resolution = resolved(entry);
  entry.targets = facts_of(resolution, serving_targets(resolution.balancer, kernel.held()));
  entry.rules_trouble = Trouble{
      reason::store_older,
      fmt::format("this host serves generation {} of it and the store knows {}, as after an old "
                  "copy of the store was restored; it goes on as it is: write it again, or delete "
                  "it",
                  kernel.generation_of(name), entry.record->metadata.generation)};
}

// Before anything is taken away: who cannot be served as it should be is served as it was.
void BalancerKeeper::refuse(Plan& plan) {
  for (auto& [name, error] : doors_.rules.refuse(plan.work)) {
    BookEntry& entry = *doors_.book.find(name);
    entry.refused = true;
    postpone(entry, trouble_of(error));
    doors_.book.use(name, doors_.rules.kernel().addresses_of(name));
    plan.serving.erase(name);
  }
}

void BalancerKeeper::settle_addresses(Plan& plan) {
  for (const RulesWork::Change& change : plan.work.changes) {
    std::set<IpAddress> addresses;
    if (change.balancer) {
      addresses.insert(change.balancer->addresses.begin(), change.balancer->addresses.end());
    }
    doors_.book.use(change.name, std::move(addresses));
  }
  const ServedAfter served(plan.work, doors_.rules.kernel());
  release_abandoned(plan.work, served);
  release_bare(plan.work, served);
}

void BalancerKeeper::release_abandoned(RulesWork& work, const ServedAfter& served) {
  std::erase_if(doors_.book.abandoned(), [&](const IpAddress& address) {
    if (!release(address, work)) return false;
    // Whoever is still served there has to go first, and can, now that the address is free.
    const Names left = served.on(address);
    for (const ObjectName& name : left) {
      if (BookEntry* entry = doors_.book.find(name)) entry->rules_due = true;
    }
    if (!left.empty()) return false;
    work.unguarded.insert(address);
    return true;
  });
}

// Somebody else uses the address that is left, but is not served there yet, since that failed.
void BalancerKeeper::release_bare(RulesWork& work, const ServedAfter& served) {
  const KernelView& kernel = doors_.rules.kernel();
  std::set<IpAddress> left;
  for (const RulesWork::Change& change : work.changes) left.merge(kernel.addresses_of(change.name));
  for (const IpAddress& address : left) {
    const bool bound = doors_.addresses.bound().contains(address);
    if (bound && served.on(address).empty()) (void)release(address, work);
  }
}

bool BalancerKeeper::release(const IpAddress& address, RulesWork& work) {
  Result<> released = doors_.addresses.release(address);
  if (released) {
    stuck_.erase(address);
    return true;
  }
  work.stuck.insert(address);
  if (stuck_.insert(address).second) {
    doors_.log.error("address not released",
                     {{"address", to_string(address)}, {"error", released.error()}});
  }
  return false;
}

void BalancerKeeper::apply(Plan& plan) {
  RulesKeeper::Applied applied = doors_.rules.apply(plan.work);
  for (auto& [name, error] : applied.failures) {
    BookEntry& entry = *doors_.book.find(name);
    doors_.log.error("rules not loaded",
                     {{"owner", name.owner}, {"name", name.name}, {"error", error}});
    entry.refused = error.outcome == Outcome::invalid;
    postpone(entry, trouble_of(error));
    plan.serving.erase(name);
    plan.leaving.erase(name);
  }
  if (!applied.error) return;
  if (applied.failures.empty()) {
    doors_.log.error("rules not loaded", {{"error", *applied.error}});
  }
  watch_.leftovers.restored = std::move(plan.work.restored);
  watch_.leftovers.guarded = std::move(plan.work.guarded);
  for (const IpAddress& address : plan.work.unguarded) {
    if (doors_.book.users_of(address).empty()) doors_.book.abandoned().insert(address);
  }
}

void BalancerKeeper::settle(const Plan& plan) {
  for (const auto& [name, resolution] : plan.serving) {
    BookEntry& entry = *doors_.book.find(name);
    entry.placed = resolution.addresses;
    entry.rules_trouble.reset();
    entry.failures = 0;
    entry.again_at.reset();
    entry.targets =
        facts_of(resolution, serving_targets(resolution.balancer, doors_.rules.kernel().held()));
    if (!entry.targets.keeps_source) entry.return_path_missing = false;
  }
  for (const ObjectName& name : plan.leaving) {
    settle_leaving(name, *doors_.book.find(name), plan.work);
  }
}

void BalancerKeeper::settle_leaving(const ObjectName& name, BookEntry& entry,
                                    const RulesWork& work) {
  const bool stuck = entry.record != nullptr &&
                     std::ranges::any_of(entry.record->addresses, [&](const IpAddress& address) {
                       return work.stuck.contains(address);
                     });
  if (stuck || !doors_.rules.kernel().keys_of(name).empty()) {
    postpone(entry, {reason::address_failed, "an address could not be taken off its interface"});
    return;
  }
  if (entry.is_checked) doors_.health.want(to_string(name), {});
  entry.is_checked = false;
  const bool finalized = entry.record == nullptr || entry.record->is_tombstone();
  if (finalized) {
    doors_.book.forget(name);
  } else if (entry.record->is_leaving()) {
    gone_.insert(name);
  } else {
    entry.rules_due = true;  // An abandoned orphan whose name the store knows: it begins anew.
  }
}

void BalancerKeeper::hold_addresses(const ObjectName& name, BookEntry& entry) {
  const std::set<IpAddress>& guarded = doors_.rules.kernel().held().guarded;
  entry.address_trouble.reset();
  if (entry.rules_trouble || staying_.contains(name)) {
    // What the kernel holds of it from before goes on.
    const std::set<IpAddress> served = doors_.rules.kernel().addresses_of(name);
    for (const IpAddress& address : entry.addresses) {
      if (!guarded.contains(address) || !served.contains(address)) continue;
      (void)doors_.addresses.hold_where_it_is(address);
    }
    return;
  }
  // Who writes it again has perhaps removed what was in its way.
  const bool at_once = std::exchange(entry.is_new, false);
  for (const ResolvedAddress& placed : entry.placed) {
    if (at_once) doors_.addresses.retry(placed.address);
    if (!entry.addresses.contains(placed.address) || !guarded.contains(placed.address)) continue;
    std::optional<Trouble> trouble = doors_.addresses.hold(placed.address, placed.interface);
    if (!trouble) stuck_.erase(placed.address);
    if (trouble && !entry.address_trouble) entry.address_trouble = std::move(trouble);
  }
}

void BalancerKeeper::postpone(BookEntry& entry, Trouble trouble) {
  const Duration delay = backoff_delay(kRetryPolicy, entry.failures++, doors_.random);
  entry.again_at = later(doors_.clock.now(), delay);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(delay);
  trouble.message +=
      fmt::format("; tried {} times, again in {}", entry.failures, format_duration(seconds));
  entry.rules_trouble = std::move(trouble);
}

// Another table stands where ours should be, so nothing guards what is bound.
void BalancerKeeper::withdraw_everything(RulesWork& work) {
  const std::map<IpAddress, std::string> bound = doors_.addresses.bound();
  for (const auto& [address, interface] : bound) (void)release(address, work);
}

bool BalancerKeeper::has_leftovers() const {
  const RulesWork& left = watch_.leftovers;
  const bool any =
      !doors_.book.abandoned().empty() || !left.restored.empty() || !left.guarded.empty();
  return any && doors_.clock.now() >= leftovers_again_at_;
}

bool BalancerKeeper::is_due(const BookEntry& entry) const {
  return entry.rules_due || (entry.again_at && *entry.again_at <= doors_.clock.now());
}

bool BalancerKeeper::anybody_due() const {
  return std::ranges::any_of(doors_.book.entries(),
                             [&](const auto& entry) { return is_due(entry.second); });
}

BalancerKeeper::Names BalancerKeeper::take_due() {
  Names names;
  for (auto& [name, entry] : doors_.book.entries()) {
    if (!is_due(entry)) continue;
    entry.rules_due = true;
    entry.again_at.reset();
    names.insert(name);
  }
  return names;
}

Orphans BalancerKeeper::orphans() const {
  const KernelView& kernel = doors_.rules.kernel();
  Orphans orphans;
  for (const auto& [name, keys] : kernel.all()) {
    const BookEntry* entry = doors_.book.find(name);
    if (entry == nullptr) continue;
    const bool known = entry->record != nullptr && !entry->record->is_tombstone();
    const std::uint64_t generation = kernel.generation_of(name);
    const bool older = entry->record != nullptr && entry->record->metadata.generation < generation;
    if (known && !older) continue;
    if (!known && intent(name, *entry) == Intent::leave && !doors_.abandoned.contains(name)) {
      continue;  // A tombstone says that it goes.
    }
    const std::set<IpAddress> addresses = kernel.addresses_of(name);
    orphans[name] = {generation, {addresses.begin(), addresses.end()}};
  }
  return orphans;
}

Findings BalancerKeeper::findings(const ObjectName& name, const BookEntry& entry) const {
  Findings findings;
  findings.applied_generation = doors_.rules.kernel().generation_of(name);
  findings.trouble = entry.rules_trouble ? entry.rules_trouble : entry.address_trouble;
  if (!findings.trouble && entry.placed.empty()) {
    findings.trouble = Trouble{reason::pending, "it is about to be programmed"};
  }
  findings.refused = entry.refused;
  findings.targets = entry.targets;
  findings.return_path_missing = entry.return_path_missing;
  findings.repairs = entry.repairs;
  return findings;
}

std::vector<api::TargetStatus> BalancerKeeper::target_health(const ObjectName& name) const {
  const BookEntry* entry = doors_.book.find(name);
  if (entry == nullptr || entry->record == nullptr || entry->record->is_tombstone()) return {};
  const Resolution resolution = resolved(*entry);
  return target_statuses(resolution, *entry->record,
                         serving_targets(resolution.balancer, doors_.rules.kernel().held()));
}

std::set<drivers::ListenerKey> BalancerKeeper::listeners_under_keep() const {
  std::set<drivers::ListenerKey> listeners;
  for (const auto& [name, entry] : doors_.book.entries()) {
    if (!entry.targets.keeps_source || entry.targets.unhealthy > 0) continue;
    const KernelView::Keys& keys = doors_.rules.kernel().keys_of(name);
    listeners.insert(keys.begin(), keys.end());
  }
  return listeners;
}

}  // namespace isthmus::infra
