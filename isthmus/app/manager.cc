#include "isthmus/app/manager.h"

#include <fmt/format.h>

#include <optional>

#include "isthmus/base/backoff.h"
#include "isthmus/base/rate_limit.h"
#include "isthmus/base/scope.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/controller.h"
#include "isthmus/kube/layers.h"
#include "isthmus/kube/recorder.h"
#include "isthmus/kube/store.h"
#include "isthmus/kube/watcher.h"

namespace isthmus::app {
namespace {

// The name under which manifests, dashboards and events know us.
constexpr const char* kComponent = "cloud-controller-manager";

// A leader that has not renewed for this long beyond its lease is stuck, and should be restarted.
constexpr Duration kElectionGrace = std::chrono::seconds(20);

// A run that outlives its own timeout by this long means that something does not let itself be
// cancelled.
constexpr Duration kStuckRunGrace = std::chrono::minutes(1);

// A watch of Nodes that broke and was not resumed within this time is an outage.
constexpr Duration kWatchGone = std::chrono::seconds(15);

// How often a cloud that answers is asked whether it still does.
constexpr Duration kGreetingPeriod = std::chrono::minutes(1);

constexpr BackoffPolicy kGreetingBackoff{.start = std::chrono::seconds(1),
                                         .cap = std::chrono::seconds(30)};

}  // namespace

// All parts, each built from those above it.
struct Manager::Parts final : kube::Leader {
  Parts(ManagerDoors doors_, ManagerOptions options_);

  Task<Result<>> lead() override;
  static Task<Result<>> greet_cloud(Parts& parts);

  Result<> check_election() const;
  Result<> check_standby() const;
  Result<> check_node_controller() const;
  Result<> check_node_watch() const;
  Result<> check_cloud() const;

  const ManagerDoors doors;
  const ManagerOptions options;

  kube::LeaseLife life;
  TokenBucket budget;
  kube::LeasedApi leased_api;
  kube::PacedApi work_api;

  kube::Broadcaster broadcaster;
  std::unique_ptr<kube::Recorder> election_recorder;
  std::unique_ptr<kube::Recorder> node_recorder;

  kube::Store<kube::Node> nodes;
  kube::StoreSink<kube::Node> node_sink;
  kube::Watcher node_watcher;

  controllers::NodeController node_reconciler;
  kube::ControllerOptions node_queue;
  kube::Controller node_controller;

  kube::Elector elector;
  Gauge& node_controller_runs;
  bool leads = false;
  bool drains = false;
  std::optional<Result<>> greeting;  // The last answer; nullopt: not asked yet.
};

Manager::Parts::Parts(ManagerDoors doors_, ManagerOptions options_)
    : doors(doors_),
      options(std::move(options_)),
      life(doors.loop),
      budget(doors.loop, options.api_qps, options.api_burst),
      leased_api(doors.work_api, life),
      work_api(leased_api, budget, doors.loop, doors.metrics, options.api_host),
      broadcaster(doors.event_api, doors.loop, doors.random, doors.metrics, doors.log),
      election_recorder(broadcaster.recorder(kComponent)),
      node_recorder(broadcaster.recorder("cloud-node-controller")),
      node_sink(nodes, controllers::node_projection()),
      node_watcher(doors.watch_api, kube::Node::resource, node_sink, doors.loop, doors.random,
                   doors.metrics, doors.log),
      node_reconciler(options.node, nodes, work_api, *doors.cloud.instances(), *node_recorder,
                      doors.loop, doors.metrics, doors.log),
      node_queue{.queue = "Nodes", .workers = options.node_workers},
      node_controller(node_queue, {node_reconciler}, doors.loop, doors.random, doors.metrics,
                      doors.log),
      elector(doors.lease_api, options.election, life, doors.loop, doors.random, *election_recorder,
              doors.metrics, doors.log),
      node_controller_runs(doors.metrics.gauge("running_managed_controllers",
                                               "Whether a controller of this manager runs.",
                                               {{"name", "cloud-node"}, {"manager", kComponent}})) {
  node_controller.follow<kube::Node>(nodes, controllers::node_change_matters);
}

// Everything that acts. It ends when the lease is lost, when the controller has been drained, or
// when a part that should run for ever has not.
Task<Result<>> Manager::Parts::lead() {
  if (drains) co_return Result<>{};
  leads = true;
  node_controller_runs.set(1);
  Scope& term = co_await current_scope();
  Scope service(term);
  service.spawn(&kube::Watcher::run, &node_watcher);
  service.spawn(greet_cloud, std::ref(*this));
  Result<> ended = co_await node_controller.run();
  service.cancel();
  Result<> service_ended = co_await service.join();
  leads = false;
  node_controller_runs.set(0);
  if (!ended) co_return ended;
  if (service_ended.outcome() == Outcome::cancelled) co_return Result<>{};
  co_return service_ended;
}

// Asks the cloud who it is, again and again: /readyz looks at the answer, the work does not wait.
Task<Result<>> Manager::Parts::greet_cloud(Parts& parts) {
  const ManagerDoors& doors = parts.doors;
  for (unsigned failures = 0;;) {
    Result<> answer = co_await doors.cloud.provider().check();
    if (answer.outcome() == Outcome::cancelled) co_return answer;
    const bool is_news = !parts.greeting || answer.outcome() != parts.greeting->outcome();
    parts.greeting = answer;
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
  Scope& here = co_await current_scope();
  Scope telling(here);
  telling.spawn(&kube::Broadcaster::run, &parts.broadcaster);
  Scope work(here);
  work.spawn(&Manager::wind_down, std::ref(parts), std::ref(stopping), std::ref(work));

  Result<> ended;
  if (parts.options.leader_elect) {
    ended = co_await work.run(parts.elector.run(parts, Uncancellable(here)));
  } else {
    parts.life.set_until(Moment::max());
    ended = co_await work.run(parts.lead());
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
  if (!parts.leads) {
    work.cancel();
    co_return Result<>{};
  }
  parts.node_controller.stop();
  work.set_deadline(parts.doors.loop.now() + parts.options.drain_max);
  co_return Result<>{};
}

std::vector<HealthCheck> Manager::checks() {
  const Parts& parts = *parts_;
  std::vector<HealthCheck> checks;
  if (parts.options.leader_elect) {
    checks.push_back(
        {"leaderElection", Probe::liveness, [&parts] { return parts.check_election(); }});
    checks.push_back({"standby", Probe::readiness, [&parts] { return parts.check_standby(); }});
  }
  checks.push_back({"cloud-node-controller", Probe::liveness,
                    [&parts] { return parts.check_node_controller(); }});
  checks.push_back(
      {"watch-nodes", Probe::readiness, [&parts] { return parts.check_node_watch(); }});
  checks.push_back({"cloud-provider", Probe::readiness, [&parts] { return parts.check_cloud(); }});
  return checks;
}

Result<> Manager::Parts::check_election() const {
  if (!leads || life.holds()) return {};
  const Duration allowed = options.election.lease_duration + kElectionGrace;
  if (doors.loop.now() <= life.until() + allowed) return {};
  return fail(Outcome::lost, "leads, but the lease was not renewed");
}

// Who waits for the lease must know it, or it could not take over.
Result<> Manager::Parts::check_standby() const {
  if (leads || elector.in_touch()) return {};
  return fail(Outcome::lost, "the lease could not be read");
}

Result<> Manager::Parts::check_node_controller() const {
  const kube::Progress progress = node_controller.progress();
  if (progress.longest_running <= node_queue.run_timeout + kStuckRunGrace) return {};
  return fail(Outcome::lost, "a Node has been worked on for longer than its timeout");
}

// A standby watches nothing and is ready to take over.
Result<> Manager::Parts::check_node_watch() const {
  if (!leads) return {};
  if (!nodes.has_synced()) return fail(Outcome::lost, "no complete list of Nodes yet");
  const bool follows = node_watcher.state() == "following";
  const Duration allowed = follows ? kube::WatcherOptions{}.idle_max + kWatchGone : kWatchGone;
  if (doors.loop.now() - node_watcher.last_heard() <= allowed) return {};
  return fail(Outcome::lost, fmt::format("the watch of Nodes is {}", node_watcher.state()));
}

Result<> Manager::Parts::check_cloud() const {
  if (!leads) return {};
  if (doors.cloud.guard().breaker_state() != cloud::Breaker::State::closed) {
    return fail(Outcome::busy, "the cloud limits us or does not answer");
  }
  return greeting.value_or(fail(Outcome::lost, "not asked yet"));
}

}  // namespace isthmus::app
