#include "isthmus/app/manager.h"

#include <algorithm>
#include <map>
#include <optional>

#include "isthmus/app/leader_look.h"
#include "isthmus/app/manager_impl.h"
#include "isthmus/app/watched.h"
#include "isthmus/base/backoff.h"
#include "isthmus/base/rate_limit.h"
#include "isthmus/base/scope.h"
#include "isthmus/controllers/safety_config_map.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/layers.h"
#include "isthmus/kube/recorder.h"

namespace isthmus::app {
namespace {

// A leader that has not renewed for this long beyond its lease is stuck, and should be restarted.
constexpr Duration kElectionGrace = std::chrono::seconds(20);

// How often a cloud that answers is asked whether it still does.
constexpr Duration kGreetingPeriod = std::chrono::minutes(1);

constexpr BackoffPolicy kGreetingBackoff{.start = std::chrono::seconds(1),
                                         .cap = std::chrono::seconds(30)};

// The API as the controllers of one client use it: while we may write, within the budget.
struct ClientApi {
  ClientApi(kube::ApiDoor& next, const ManagerDoors& doors, TokenBucket& budget,
            const std::string& host)
      : gated(next, doors.gate), paced(gated, budget, doors.loop, doors.metrics, host) {}

  kube::GatedApi gated;
  kube::PacedApi paced;
};

// Whether an answer to the question who the cloud is says so, or that it is not the one it was.
bool says_who(Outcome outcome) {
  return outcome == Outcome::ok || outcome == Outcome::denied || outcome == Outcome::invalid ||
         outcome == Outcome::unsupported;
}

}  // namespace

// One lease and what is done while it is held.
struct Manager::Term final : kube::Leader {
  using Work = Task<Result<>> (Parts::*)();

  Term(Parts& parts_, const kube::ElectorOptions& options_, Work work_);

  Task<Result<>> lead() override;

  Result<> check_election() const;
  Result<> check_standby() const;

  Parts& parts;
  const kube::ElectorOptions options;
  const Work work;
  kube::LeaseLife life;
  std::optional<kube::Elector> elector;  // nullopt: without an election its times may be anything.
  bool leads = false;
  bool was_won = false;
};

// All parts, each built from those above it.
struct Manager::Parts {
  Parts(ManagerDoors doors_, ManagerOptions options_);
  ~Parts();

  kube::ApiDoor& api_of(std::string_view controller);
  std::vector<const Term*> terms() const;
  Result<Moment> may_tell() const;
  Duration leads_for(std::string_view controller) const;
  controllers::CloudHealth cloud_health() const;

  Task<Result<>> lead_main();
  Task<Result<>> start_queues(Scope& work, bool migrated);
  static Task<Result<>> run_migration(Parts& parts);
  Task<Result<>> lead_migration();
  static Task<Result<>> greet_cloud(Parts& parts);

  bool is_elected() const { return options.leader_elect && !options.dry_run; }
  Result<> check_cloud() const;

  const ManagerDoors doors;
  const ManagerOptions options;

  TokenBucket budget;
  std::map<std::string, std::unique_ptr<ClientApi>, std::less<>> client_apis;
  WriteGate event_gate;
  kube::GatedApi event_api;
  kube::Broadcaster broadcaster;
  std::unique_ptr<kube::Recorder> election_recorder;

  Watched<kube::Node> watched_nodes;
  Watched<kube::ConfigMap> watched_safety;
  controllers::ConfigMapSafetySwitch safety;
  cloud::DeletionStop deletion_stop;
  const PartContext context;
  std::vector<std::unique_ptr<ManagerPart>> queues;  // In the order in which they start.

  Term main;
  std::optional<Term> migration;
  Scope* outliving = nullptr;  // While running: where a lease is released, whatever has ended.
  Scope* waiting = nullptr;    // Of the migration's election.
  Signal main_ended;           // The queues under the main lease have.
  Signal migration_ended;
  LeaderLook leader_look;
  bool drains = false;
  bool lost = false;                 // A lease was over before the work had ended.
  std::optional<Result<>> greeting;  // The last answer; nullopt: not asked yet.
  bool cloud_is_known = false;       // By the last one that says whether it is the one it was.
};

Manager::Parts::Parts(ManagerDoors doors_, ManagerOptions options_)
    : doors(doors_),
      options(std::move(options_)),
      budget(doors.loop, options.api_qps, options.api_burst),
      event_gate(doors.metrics),
      event_api(doors.event_api, event_gate),
      broadcaster(event_api, doors.loop, doors.random, doors.metrics, doors.log),
      election_recorder(broadcaster.recorder(std::string(kManagerComponent))),
      watched_nodes(doors, controllers::node_projection()),
      watched_safety(doors, {}, {.only = options.safety_config_map}),
      safety(options.safety_config_map, {watched_safety.store, watched_safety.watcher, doors.gate,
                                         *election_recorder, doors.loop, doors.metrics, doors.log}),
      context{.doors = doors,
              .options = options,
              .broadcaster = broadcaster,
              .nodes = watched_nodes,
              .safety = safety,
              .deletion_stop = deletion_stop,
              .api = [this](std::string_view controller) -> kube::ApiDoor& {
                return api_of(controller);
              },
              .leads_for = [this](std::string_view controller) { return leads_for(controller); },
              .cloud_health = [this] { return cloud_health(); }},
      main(*this, options.election, &Parts::lead_main),
      leader_look(doors.lease_api, options.election.lease, doors.log) {
  doors.metrics.gauge("isthmus_dry_run", "Whether nothing is written, and only told.")
      .set(options.dry_run ? 1 : 0);
  doors.gate.add_rule(kube::LeaseLife::kRule, [this] { return main.life.allows(); });
  if (options.migration) {
    migration.emplace(*this, options.migration->election, &Parts::lead_migration);
    doors.gate.add_rule("migration_lease", [this]() -> Result<Moment> {
      return migration->was_won ? migration->life.allows() : Moment::max();
    });
  }
  event_gate.add_rule(kube::LeaseLife::kRule, [this] { return may_tell(); });
  for (const auto make : {make_nodes_part, make_services_part, make_routes_part}) {
    if (std::unique_ptr<ManagerPart> part = make(context)) queues.push_back(std::move(part));
  }
}

Manager::Parts::~Parts() = default;

Manager::Term::Term(Parts& parts_, const kube::ElectorOptions& options_, Work work_)
    : parts(parts_), options(options_), work(work_), life(parts.doors.loop) {
  if (!parts.is_elected()) return;
  elector.emplace(parts.doors.lease_api, options, life, parts.doors.loop, parts.doors.random,
                  *parts.election_recorder, parts.doors.metrics, parts.doors.log);
}

Task<Result<>> Manager::Term::lead() {
  if (parts.drains) co_return Result<>{};
  leads = true;
  was_won = true;
  Result<> ended = co_await (parts.*work)();
  leads = false;
  parts.lost = parts.lost || !life.holds();
  co_return ended;
}

// Built when the first controller of the client asks for it.
kube::ApiDoor& Manager::Parts::api_of(std::string_view controller) {
  const std::string client(find_controller(controller)->client);
  std::unique_ptr<ClientApi>& api = client_apis[client];
  if (!api) {
    const auto own = doors.client_apis.find(client);
    kube::ApiDoor& next = own == doors.client_apis.end() ? doors.work_api : own->second.get();
    api = std::make_unique<ClientApi>(next, doors, budget, options.api_host);
  }
  return api->paced;
}

std::vector<const Manager::Term*> Manager::Parts::terms() const {
  std::vector<const Term*> all{&main};
  if (migration) all.push_back(&*migration);
  return all;
}

// Who stands by, and who has left in order, may tell so. Who has lost a lease tells nothing more,
// not even what had been waiting or is under way: others speak now.
Result<Moment> Manager::Parts::may_tell() const {
  bool is_over = lost;
  Moment until = Moment::max();
  for (const Term* term : terms()) {
    if (!term->leads) continue;
    is_over = is_over || !term->life.holds();
    until = std::min(until, term->life.until());
  }
  if (is_over) return fail(Outcome::cancelled, "we have lost the lease");
  return until;
}

Duration Manager::Parts::leads_for(std::string_view controller) const {
  const bool is_moved = migration && context.is_migrated(controller);
  const kube::LeaseLife& life = is_moved ? migration->life : main.life;
  if (!main.life.holds() || !life.holds()) return Duration::zero();
  return std::min(main.life.until(), life.until()) - doors.loop.now();
}

// What it was last heard to say of itself. A call that was lost says nothing else than before.
controllers::CloudHealth Manager::Parts::cloud_health() const {
  return {.is_open = doors.cloud.guard().breaker_state() == cloud::Breaker::State::closed,
          .is_known = cloud_is_known};
}

// Everything that acts. It ends when a lease is lost, or when all queues have ended: drained, or
// one after the other by itself.
Task<Result<>> Manager::Parts::lead_main() {
  Scope& term = co_await current_scope();
  Scope beside(term);
  beside.spawn(&kube::Watcher::run, &watched_nodes.watcher);
  beside.spawn(&kube::Watcher::run, &watched_safety.watcher);
  beside.spawn(greet_cloud, std::ref(*this));
  if (options.dry_run && options.leader_elect) beside.spawn(&LeaderLook::run, &leader_look);
  Scope work(beside);
  Result<> known = co_await work.run(safety.wait_until_known());
  if (migration) beside.spawn(run_migration, std::ref(*this));
  Result<> started = co_await work.run(start_queues(work, /*migrated=*/false));
  Result<> ended = co_await work.join();
  main_ended.set();
  if (migration) {
    Result<> moved = co_await work.run(wait_for(migration_ended));
  }
  beside.cancel();
  Result<> beside_ended = co_await beside.join();
  if (drains || term.is_cancelled()) co_return ended;
  if (beside_ended.outcome() != Outcome::cancelled) co_return beside_ended;
  if (!ended) co_return ended;
  co_return fail(Outcome::lost, "no controller is left that works");
}

// Those that wait for the migration's lease, or all others, one after the other.
Task<Result<>> Manager::Parts::start_queues(Scope& work, bool migrated) {
  const Duration pause = options.start_interval;
  bool is_first = true;
  for (const auto& each : queues) {
    if (each->controllers().waits_for_migration() != migrated) continue;
    if (!is_first && pause > Duration::zero()) {
      CO_TRY(co_await sleep_for(doors.random.between(pause, pause * 2)));
    }
    is_first = false;
    work.spawn(run_part, std::ref(*each), std::cref(drains), std::ref(doors.log));
  }
  co_return Result<>{};
}

// Tries for the migration's lease as long as the main one is held. What ends it ends everything.
Task<Result<>> Manager::Parts::run_migration(Parts& parts) {
  Scope& term = co_await current_scope();
  Scope waiting(term);
  parts.waiting = &waiting;
  Term& migration = *parts.migration;
  Result<> ended =
      co_await waiting.run(migration.elector->run(migration, Uncancellable(*parts.outliving)));
  parts.waiting = nullptr;
  parts.migration_ended.set();
  if (parts.drains) co_return Result<>{};
  co_return ended;
}

// What waited for the migration's lease. A queue that others share runs already.
Task<Result<>> Manager::Parts::lead_migration() {
  Scope& term = co_await current_scope();
  Scope work(term);
  Result<> started = co_await work.run(start_queues(work, /*migrated=*/true));
  for (const auto& each : queues) each->controllers().begin_migrated();
  Result<> ended = co_await work.join();
  if (!ended) co_return ended;
  Result<> others = co_await main_ended.wait();
  co_return others;
}

// Asks the cloud who it is, again and again: /readyz looks at the answer, the work does not wait.
Task<Result<>> Manager::Parts::greet_cloud(Parts& parts) {
  const ManagerDoors& doors = parts.doors;
  for (unsigned failures = 0;;) {
    Result<> answer = co_await doors.cloud.provider().check();
    if (answer.outcome() == Outcome::cancelled) co_return answer;
    const bool is_news = !parts.greeting || answer.outcome() != parts.greeting->outcome();
    parts.greeting = answer;
    if (says_who(answer.outcome())) parts.cloud_is_known = answer.has_value();
    if (is_news && answer) {
      doors.log.info("the cloud answers", {{"provider", doors.cloud.provider().name()}});
    } else if (is_news) {
      doors.log.warning("the cloud does not answer as it should",
                        {{"provider", doors.cloud.provider().name()}, {"error", answer.error()}});
    }
    failures = answer ? 0 : failures + 1;
    const Duration pause =
        answer ? kGreetingPeriod : backoff_delay(kGreetingBackoff, failures, doors.random);
    CO_TRY(co_await sleep_for(pause));
  }
}

Manager::Manager(ManagerDoors doors, ManagerOptions options)
    : parts_(std::make_unique<Parts>(doors, std::move(options))) {}

Manager::~Manager() = default;

Task<Result<>> Manager::run(Signal& stopping) {
  Parts& parts = *parts_;
  if (parts.queues.empty()) {
    co_return fail(Outcome::unsupported, "the cloud offers nothing to the controllers asked for");
  }
  Scope& here = co_await current_scope();
  Scope telling(here);
  telling.spawn(&kube::Broadcaster::run, &parts.broadcaster);
  Scope work(here);
  work.spawn(&Manager::wind_down, std::ref(parts), std::ref(stopping), std::ref(work));

  Result<> ended;
  parts.outliving = &here;
  if (parts.is_elected()) {
    ended = co_await work.run(parts.main.elector->run(parts.main, Uncancellable(here)));
  } else {
    parts.main.life.set_until(Moment::max());
    ended = co_await work.run(parts.main.lead());
  }
  work.cancel();
  Result<> work_ended = co_await work.join();
  Result<> flushed = co_await with_timeout(parts.options.flush_max, parts.broadcaster.flush());
  if (!flushed) parts.doors.log.warning("some events were not posted", {{"why", flushed.error()}});
  telling.cancel();
  Result<> telling_ended = co_await telling.join();
  if (stopping.is_set()) co_return Result<>{};
  co_return ended;
}

Task<Result<>> Manager::wind_down(Parts& parts, Signal& stopping, Scope& work) {
  CO_TRY(co_await stopping.wait());
  parts.drains = true;
  if (!parts.main.leads) {
    work.cancel();
    co_return Result<>{};
  }
  if (parts.waiting != nullptr && !parts.migration->leads) parts.waiting->cancel();
  for (const auto& each : parts.queues) each->controllers().queue().stop();
  work.set_deadline(parts.doors.loop.now() + parts.options.drain_max);
  co_return Result<>{};
}

std::vector<HealthCheck> Manager::checks() {
  const Parts& parts = *parts_;
  std::vector<HealthCheck> checks;
  if (parts.options.dry_run) {
    checks.push_back({"dry-run", Probe::readiness, [] { return Result<>{}; }});
  }
  for (const Term* term : parts.is_elected() ? parts.terms() : std::vector<const Term*>()) {
    const bool is_main = term == &parts.main;
    checks.push_back({is_main ? "leaderElection" : "leaderMigration", Probe::liveness,
                      [term] { return term->check_election(); }});
    checks.push_back({is_main ? "standby" : "migration-standby", Probe::readiness,
                      [term] { return term->check_standby(); }});
  }
  // A standby watches nothing and is ready to take over.
  checks.push_back({"watch-nodes", Probe::readiness, [&parts] {
                      if (!parts.main.leads) return Result<>{};
                      return parts.watched_nodes.check(parts.doors.loop.now());
                    }});
  for (const auto& each : parts.queues) {
    const ControllerPart& controllers = each->controllers();
    for (const std::string_view name : controllers.names()) {
      checks.push_back(
          {std::string(name), Probe::liveness, [&controllers] { return controllers.check(); }});
    }
    for (HealthCheck& check : each->watch_checks(parts.doors.loop)) {
      check.run = [&controllers, run = std::move(check.run)] {
        return controllers.is_running() ? run() : Result<>{};
      };
      checks.push_back(std::move(check));
    }
  }
  checks.push_back({"cloud-provider", Probe::readiness, [&parts] { return parts.check_cloud(); }});
  return checks;
}

Result<> Manager::Term::check_election() const {
  if (!leads || life.holds()) return {};
  const Duration allowed = options.lease_duration + kElectionGrace;
  if (parts.doors.loop.now() <= life.until() + allowed) return {};
  return fail(Outcome::lost, "leads, but the lease was not renewed");
}

// Who waits for the lease must know it, or it could not take over.
Result<> Manager::Term::check_standby() const {
  const bool tries = this == &parts.main || parts.main.leads;
  if (!tries || leads || elector->in_touch()) return {};
  return fail(Outcome::lost, "the lease could not be read");
}

Result<> Manager::Parts::check_cloud() const {
  if (!main.leads) return {};
  if (doors.cloud.guard().breaker_state() != cloud::Breaker::State::closed) {
    return fail(Outcome::busy, "the cloud limits us or does not answer");
  }
  return greeting.value_or(fail(Outcome::lost, "not asked yet"));
}

}  // namespace isthmus::app
