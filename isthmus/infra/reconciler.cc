#include "isthmus/infra/reconciler.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/base/signal.h"
#include "isthmus/infra/balancer_keeper.h"
#include "isthmus/infra/due_slices.h"
#include "isthmus/infra/route_keeper.h"
#include "isthmus/infra/unusable_addresses.h"

namespace isthmus::infra {
namespace {

// How long a pass that the store did not let end waits for the next.
constexpr Duration kStorePause = std::chrono::seconds(1);

// Of a host whose rules, addresses or routes are changed all the time.
constexpr int kStartAttempts = 25;

// Between two slices of what is due: what was asked meanwhile takes several turns of the loop each.
// A slice holds the loop for some 5 ms, so this slows a pass over many by a fifth.
constexpr Duration kSlicePause = std::chrono::milliseconds(1);

constexpr std::array kConditions = {api::condition::accepted,
                                    api::condition::address_allocated,
                                    api::condition::programmed,
                                    api::condition::targets_healthy,
                                    api::condition::return_path_missing,
                                    api::condition::no_local_target,
                                    api::condition::ready};

// A user of the health checker is a load balancer by its name; neither part has a slash.
ObjectName name_of_user(const std::string& user) {
  const std::size_t slash = user.find('/');
  ISTHMUS_ASSERT(slash != std::string::npos, "users of the health checker are owner/name");
  return {user.substr(0, slash), user.substr(slash + 1)};
}

// Whether a writer waits for such a change, rather than somebody who watches counts.
bool is_awaited(const api::LoadBalancerStatus& before, const api::LoadBalancerStatus& after) {
  const api::Condition* stood = api::find(before.conditions, api::condition::ready);
  const api::Condition* stands = api::find(after.conditions, api::condition::ready);
  return stood == nullptr || stands == nullptr || stood->status != stands->status ||
         before.observed_generation != after.observed_generation ||
         before.applied_generation != after.applied_generation;
}

}  // namespace

class Reconciler::Inside {
 public:
  explicit Inside(Doors doors)
      : doors_(std::move(doors)),
        rules_(doors_.host.balancers(), doors_.host.changes()),
        probe_(doors_.host.probe_link(), doors_.probe),
        announcements_(doors_.host.announcer(), doors_.clock, doors_.random, doors_.metrics,
                       doors_.log),
        addresses_({doors_.host.addresses(), probe_, announcements_, doors_.clock, doors_.random,
                    doors_.log}),
        keeper_({book_, rules_, addresses_, doors_.health, doors_.ledger.abandoned(), doors_.clock,
                 doors_.random, doors_.metrics, doors_.log, doors_.role}),
        routes_({doors_.host.routes(), doors_.ledger, doors_.clock, doors_.metrics, doors_.log}),
        pass_duration_(doors_.metrics.histogram("infra_reconcile_duration_seconds",
                                                "How long a pass over what was due took.",
                                                exponential_buckets(0.0005, 4, 8))),
        convergence_(doors_.metrics.histogram(
            "infra_convergence_duration_seconds",
            "From when a generation of a load balancer was seen until it was programmed.",
            exponential_buckets(0.001, 4, 10))),
        gauges_(doors_.metrics, [this] { refresh_gauges(); }) {}

  Task<Result<>> start();
  Task<Result<>> run();
  bool is_ready() const { return is_ready_; }
  std::vector<api::TargetStatus> target_health(const ObjectName& name) const {
    return book_.snapshot() == nullptr ? std::vector<api::TargetStatus>{}
                                       : keeper_.target_health(name);
  }

 private:
  using Names = BalancerKeeper::Names;

  Task<Result<>> look_patiently(std::function<Result<>()> look);
  Task<Result<>> reconcile();
  Task<Result<>> pass();
  bool has_more() const { return !due_.empty() || routes_.has_more(); }
  void collect(Names& names);
  void tell_orphans();
  void tell_whose_rules_go();
  void find_statuses(const Names& names);
  void tell(const ObjectName& name, const BookEntry& entry, const api::LoadBalancerStatus& status);
  Task<Result<>> report();

  Task<Result<>> wake_on(Signal& signal);
  Task<Result<>> watch_host();
  bool poll();
  void watch_flows();
  void watch_forwarding();
  std::optional<Trouble> forwarding_trouble(const BookEntry& entry) const;
  void refresh_gauges();

  Doors doors_;
  BalancerBook book_;
  RulesKeeper rules_;
  drivers::AddressProbe probe_;
  drivers::AnnouncementSchedule announcements_;
  AddressKeeper addresses_;
  BalancerKeeper keeper_;
  RouteKeeper routes_;

  Signal work_;
  bool anybody_due_ = true;  // Besides those who are named; at first everybody is.
  bool rules_look_due_ = false;
  bool addresses_look_due_ = false;
  Moment dump_due_{};
  Moment flows_due_{};
  Moment forwarding_due_{};
  Names moved_;
  std::map<IpFamily, std::string> not_forwarded_;  // With what helps.
  Names unreported_;
  bool awaited_ = false;  // One of them, by somebody.
  Names to_finalize_;
  Orphans told_orphans_;
  DueSlices due_;
  bool is_sliced_ = false;  // Since somebody was left for the next slice.
  bool is_ready_ = false;
  bool store_trouble_ = false;  // It was told.

  Histogram& pass_duration_;
  Histogram& convergence_;
  Metrics::OnCollect gauges_;
};

// Looks again where others changed meanwhile what is looked at.
Task<Result<>> Reconciler::Inside::look_patiently(std::function<Result<>()> look) {
  Result<> done = look();
  for (int attempt = 1; done.outcome() == Outcome::busy && attempt < kStartAttempts; ++attempt) {
    CO_TRY(co_await sleep_for(kHostPollPeriod));
    done = look();
  }
  co_return done;
}

Task<Result<>> Reconciler::Inside::start() {
  CO_TRY(co_await look_patiently([this] { return keeper_.start(); }));
  Ledger::Snapshot snapshot = CO_TRY(co_await doors_.ledger.latest());
  CO_TRY(co_await look_patiently([this, snapshot] { return routes_.start(snapshot); }));
  (void)book_.take_in(std::move(snapshot), doors_.clock.now());  // Everybody is due at first.
  std::map<ObjectName, std::uint64_t> generations;
  for (const auto& [name, keys] : rules_.kernel().all()) {
    generations[name] = rules_.kernel().generation_of(name);
  }
  doors_.ledger.set_unusable(unusable_on(addresses_.others()));
  told_orphans_ = keeper_.orphans();
  for (const auto& [name, orphan] : told_orphans_) {
    doors_.log.warning(
        "the kernel holds a load balancer that the store does not know so",
        {{"owner", name.owner}, {"name", name.name}, {"generation", orphan.generation}});
  }
  doors_.ledger.found_in_kernel(told_orphans_, std::move(generations));
  tell_whose_rules_go();
  dump_due_ = later(doors_.clock.now(), kHostDumpPeriod);
  flows_due_ = later(doors_.clock.now(), kFlowWatchPeriod);
  watch_forwarding();
  work_.set();
  co_return Result<>{};
}

Task<Result<>> Reconciler::Inside::run() {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(&Inside::wake_on, this, std::ref(doors_.ledger.changed()));
  scope.spawn(&Inside::wake_on, this, std::ref(doors_.health.changed()));
  scope.spawn(&Inside::wake_on, this, std::ref(addresses_.moved()));
  scope.spawn(&Inside::watch_host, this);
  scope.spawn(&AddressKeeper::run, &addresses_);
  scope.spawn(&drivers::AnnouncementSchedule::run, &announcements_);
  scope.spawn(&Inside::reconcile, this);
  Result<> ended = co_await scope.join();
  co_return ended;
}

// What the signal is about is asked for by the next pass, whenever that comes.
Task<Result<>> Reconciler::Inside::wake_on(Signal& signal) {
  for (;;) {
    CO_TRY(co_await signal.wait());
    signal.clear();
    work_.set();
  }
}

Task<Result<>> Reconciler::Inside::reconcile() {
  for (;;) {
    CO_TRY(co_await work_.wait());
    work_.clear();
    const Moment began = doors_.clock.now();
    Result<> done = co_await pass();
    if (is_our_own(done.outcome())) co_return done;
    // Time stands still within a turn; one more, and it shows what this pass took.
    CO_TRY(co_await yield());
    pass_duration_.observe(doors_.clock.now() - began);
    if (done) {
      store_trouble_ = false;
      if (!has_more()) continue;
      CO_TRY(co_await sleep_for(kSlicePause));
      work_.set();
      continue;
    }
    if (!std::exchange(store_trouble_, true)) {
      doors_.log.error("reconciling is held up by the store", {{"error", done.error()}});
    }
    CO_TRY(co_await sleep_for(has_more() ? kSlicePause : kStorePause));
    work_.set();
  }
}

// One slice of what is due, by what the ledger says now: nothing is remembered from one to the next
// but who has not had their turn. Where the store does not answer, the host is kept as it was last
// known to be.
Task<Result<>> Reconciler::Inside::pass() {
  Result<Ledger::Snapshot> snapshot = co_await doors_.ledger.latest();
  if (is_our_own(snapshot.outcome())) co_return std::unexpected(snapshot.error());
  Names names;
  if (snapshot) names = book_.take_in(*snapshot, doors_.clock.now());
  collect(names);
  routes_.work(snapshot ? *snapshot : nullptr, {addresses_.others(), not_forwarded_});
  keeper_.prepare(names);
  due_.add(names, book_);
  const Names slice = due_.take(book_);
  keeper_.work(slice);
  tell_orphans();
  find_statuses(slice);
  is_ready_ |= !has_more();
  // What was planned for them is done with, and glibc would keep its memory.
  const bool was_sliced = std::exchange(is_sliced_, !due_.empty());
  if (was_sliced && due_.empty()) ::malloc_trim(0);
  if (!snapshot) co_return std::unexpected(snapshot.error());
  Result<> reported = co_await report();
  co_return reported;
}

// Everybody who is due, besides those the ledger named.
void Reconciler::Inside::collect(Names& names) {
  if (std::exchange(rules_look_due_, false)) names.merge(keeper_.look_at_rules());
  if (std::exchange(addresses_look_due_, false)) {
    names.merge(keeper_.look_at_addresses());
    doors_.ledger.set_unusable(unusable_on(addresses_.others()));
  }
  for (const std::string& user : doors_.health.take_changed()) {
    const ObjectName name = name_of_user(user);
    BookEntry* entry = book_.find(name);
    if (entry == nullptr) continue;
    entry->rules_due = true;
    names.insert(name);
  }
  for (const IpAddress& address : addresses_.take_moved()) {
    const Names& users = book_.users_of(address);
    names.insert(users.begin(), users.end());
  }
  for (const ObjectName& name : doors_.ledger.abandoned()) {
    BookEntry* entry = book_.find(name);
    if (entry == nullptr) continue;
    entry->rules_due = true;
    names.insert(name);
  }
  names.merge(std::exchange(moved_, {}));
  if (std::exchange(anybody_due_, false)) names.merge(keeper_.take_due());
}

void Reconciler::Inside::tell_orphans() {
  if (told_orphans_.empty() && doors_.ledger.orphans().empty()) return;
  Orphans now = keeper_.orphans();
  told_orphans_ = now;
  if (now == doors_.ledger.orphans()) return;
  doors_.ledger.found_in_kernel(std::move(now), {});
}

// One word in the configuration takes the balancing away from everybody; it may have been a slip.
void Reconciler::Inside::tell_whose_rules_go() {
  if (!doors_.role.announce_only) return;
  const auto& listeners = rules_.kernel().held().listeners;
  std::size_t count = 0;
  for (const auto& [name, keys] : rules_.kernel().all()) {
    const bool is_balanced = std::ranges::any_of(
        keys, [&](const drivers::ListenerKey& key) { return !listeners.at(key).passed; });
    if (is_balanced && !told_orphans_.contains(name)) ++count;
  }
  if (count == 0) return;
  doors_.log.warning("this host balances so far; its driver is announce now, and its rules go",
                     {{"load_balancers", count}});
}

void Reconciler::Inside::find_statuses(const Names& names) {
  to_finalize_.merge(keeper_.take_gone());
  for (const ObjectName& name : names) {
    BookEntry* entry = book_.find(name);
    if (entry == nullptr || entry->record == nullptr || entry->record->is_tombstone()) continue;
    if (to_finalize_.contains(name)) continue;
    Findings findings = keeper_.findings(name, *entry);
    if (!findings.trouble) findings.trouble = forwarding_trouble(*entry);
    api::LoadBalancerStatus status =
        status_of(*entry->record, findings, entry->status, doors_.clock.wall_now());
    if (status == entry->status) continue;
    tell(name, *entry, status);
    awaited_ |= is_awaited(entry->status, status);
    entry->status = std::move(status);
    unreported_.insert(name);
  }
}

// What people follow a load balancer by: when it came to be as it should, and why it does not.
void Reconciler::Inside::tell(const ObjectName& name, const BookEntry& entry,
                              const api::LoadBalancerStatus& status) {
  const api::Condition* before = api::find(entry.status.conditions, api::condition::programmed);
  const api::Condition& now = *api::find(status.conditions, api::condition::programmed);
  const bool same = before != nullptr && before->status == now.status &&
                    before->reason == now.reason &&
                    before->observed_generation == now.observed_generation;
  if (same) return;
  const std::uint64_t generation = now.observed_generation;
  if (now.status == api::ConditionStatus::is_true) {
    convergence_.observe(doors_.clock.now() - entry.seen_at);
    doors_.log.info("programmed",
                    {{"owner", name.owner}, {"name", name.name}, {"generation", generation}});
  } else if (now.reason == reason::probing || now.reason == reason::pending) {
    doors_.log.debug("not programmed yet", {{"owner", name.owner},
                                            {"name", name.name},
                                            {"generation", generation},
                                            {"reason", now.reason}});
  } else {
    doors_.log.warning("not programmed", {{"owner", name.owner},
                                          {"name", name.name},
                                          {"generation", generation},
                                          {"reason", now.reason},
                                          {"message", now.message}});
  }
}

Task<Result<>> Reconciler::Inside::report() {
  CO_TRY(co_await routes_.report());
  if (!to_finalize_.empty()) {
    CO_TRY(co_await doors_.ledger.finalize({to_finalize_.begin(), to_finalize_.end()}));
    to_finalize_.clear();
  }
  // The counts of a change that concerns many are gathered, so that they are few commits.
  const bool can_wait = !due_.empty() && !awaited_ && unreported_.size() < kStatusesPerCommit;
  if (can_wait) co_return Result<>{};
  std::vector<Ledger::FoundStatus> found;
  for (const ObjectName& name : unreported_) {
    if (const BookEntry* entry = book_.find(name)) found.push_back({name, entry->status});
  }
  if (!found.empty()) CO_TRY(co_await doors_.ledger.report(std::move(found)));
  unreported_.clear();
  awaited_ = false;
  co_return Result<>{};
}

Task<Result<>> Reconciler::Inside::watch_host() {
  for (;;) {
    CO_TRY(co_await sleep_for(kHostPollPeriod));
    if (poll()) work_.set();
  }
}

// Whether there is anything to do that no signal tells.
bool Reconciler::Inside::poll() {
  const Moment now = doors_.clock.now();
  const drivers::KernelChanges changes = rules_.take_changes();
  const bool dump = now >= dump_due_;
  if (dump) dump_due_ = later(now, kHostDumpPeriod);
  rules_look_due_ |= dump || changes.rules || keeper_.rules_not_seen();
  addresses_look_due_ |= dump || changes.links || changes.addresses || keeper_.addresses_not_seen();
  if (dump || changes.routes || changes.links || changes.addresses) routes_.look_again(dump);
  if (now >= flows_due_) {
    flows_due_ = later(now, kFlowWatchPeriod);
    watch_flows();
  }
  if (now >= forwarding_due_) {
    forwarding_due_ = later(now, kForwardingPeriod);
    watch_forwarding();
  }
  anybody_due_ |= keeper_.anybody_due();
  return rules_look_due_ || addresses_look_due_ || anybody_due_ || !moved_.empty() ||
         keeper_.has_leftovers() || addresses_.is_due() || routes_.is_due();
}

void Reconciler::Inside::watch_flows() {
  const std::set<drivers::ListenerKey> listeners = keeper_.listeners_under_keep();
  if (listeners.empty()) return;
  Result<std::vector<drivers::FlowHealth>> flows = doors_.host.flows().look(listeners);
  if (!flows) return doors_.log.error("flows not read", {{"error", flows.error()}});
  Names missing;
  for (const drivers::FlowHealth& health : *flows) {
    std::optional<KernelNote> note = rules_.kernel().note_of(health.listener);
    if (note && drivers::return_path_missing(health)) missing.insert(note->name);
  }
  for (auto& [name, entry] : book_.entries()) {
    const bool is_missing = missing.contains(name);
    if (entry.return_path_missing == is_missing) continue;
    entry.return_path_missing = is_missing;
    moved_.insert(name);
  }
}

// Others switch it off under our hands (`sysctl --system`), and the kernel tells nobody. What could
// not be read is nothing to complain of.
void Reconciler::Inside::watch_forwarding() {
  if (doors_.role.announce_only) return;
  std::map<IpFamily, std::string> off;
  for (IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    Result<> forwards = doors_.host.forwards(family);
    if (forwards.outcome() == Outcome::invalid) off[family] = forwards.error().message;
  }
  if (off == not_forwarded_) return;
  not_forwarded_ = std::move(off);
  routes_.look_again(false);
  for (const auto& [name, entry] : book_.entries()) moved_.insert(name);
}

std::optional<Trouble> Reconciler::Inside::forwarding_trouble(const BookEntry& entry) const {
  for (const IpAddress& address : entry.record->addresses) {
    auto found = not_forwarded_.find(address.family);
    if (found != not_forwarded_.end()) return Trouble{reason::forwarding_off, found->second};
  }
  return std::nullopt;
}

void Reconciler::Inside::refresh_gauges() {
  constexpr const char* kHelp = "Load balancers by condition that is True.";
  std::size_t lag = 0;
  std::map<std::string_view, std::size_t> counts;
  for (const auto& [name, entry] : book_.entries()) {
    if (entry.record == nullptr || entry.record->is_tombstone()) continue;
    lag += entry.status.applied_generation < entry.record->metadata.generation;
    for (std::string_view type : kConditions) {
      const api::Condition* condition = api::find(entry.status.conditions, type);
      counts[type] += condition != nullptr && condition->status == api::ConditionStatus::is_true;
    }
  }
  for (std::string_view type : kConditions) {
    doors_.metrics.gauge("infra_load_balancers", kHelp, {{"condition", std::string(type)}})
        .set(static_cast<double>(counts[type]));
  }
  doors_.metrics
      .gauge("infra_generation_lag",
             "Load balancers of which this host holds no or an older "
             "generation.")
      .set(static_cast<double>(lag));
  doors_.metrics
      .gauge("infra_orphans", "Load balancers that the kernel holds and the store does not know.")
      .set(static_cast<double>(told_orphans_.size()));
}

Reconciler::Reconciler(Doors doors) : inside_(std::make_unique<Inside>(std::move(doors))) {}
Reconciler::~Reconciler() = default;
Task<Result<>> Reconciler::start() { return inside_->start(); }
Task<Result<>> Reconciler::run() { return inside_->run(); }
bool Reconciler::is_ready() const { return inside_->is_ready(); }
std::vector<api::TargetStatus> Reconciler::target_health(const ObjectName& name) const {
  return inside_->target_health(name);
}

}  // namespace isthmus::infra
