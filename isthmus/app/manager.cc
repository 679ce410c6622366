#include "isthmus/app/manager.h"

#include <optional>

#include "isthmus/app/controller_part.h"
#include "isthmus/app/watched.h"
#include "isthmus/base/backoff.h"
#include "isthmus/base/rate_limit.h"
#include "isthmus/base/scope.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/api/service.h"
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

std::unique_ptr<kube::Recorder> recorder_of(kube::Broadcaster& broadcaster, std::string_view name) {
  return broadcaster.recorder(std::string(find_controller(name)->event_source));
}

}  // namespace

// All parts, each built from those above it.
struct Manager::Parts final : kube::Leader {
  struct Nodes;
  struct Services;

  Parts(ManagerDoors doors_, ManagerOptions options_);
  ~Parts() override;

  bool wants(std::string_view controller, bool cloud_can) const;
  Task<Result<>> lead() override;
  void start_service(Scope& service);
  std::vector<ControllerPart*> controllers();
  static Task<Result<>> greet_cloud(Parts& parts);

  Result<> check_election() const;
  Result<> check_standby() const;
  Result<> check_cloud() const;

  const ManagerDoors doors;
  const ManagerOptions options;

  kube::LeaseLife life;
  TokenBucket budget;
  kube::LeasedApi leased_api;
  kube::PacedApi work_api;
  kube::Broadcaster broadcaster;
  std::unique_ptr<kube::Recorder> election_recorder;

  Watched<kube::Node> watched_nodes;
  std::unique_ptr<Nodes> nodes;        // Null: this controller is off.
  std::unique_ptr<Services> services;  // Likewise.

  kube::Elector elector;
  bool leads = false;
  bool drains = false;
  std::optional<Result<>> greeting;  // The last answer; nullopt: not asked yet.
};

// The node controller.
struct Manager::Parts::Nodes {
  explicit Nodes(Parts& parts)
      : recorder(recorder_of(parts.broadcaster, kNodeControllerName)),
        reconciler(parts.options.node, parts.watched_nodes.store, parts.work_api,
                   *parts.doors.cloud.instances(), *recorder, parts.doors.loop, parts.doors.metrics,
                   parts.doors.log),
        part(kNodeControllerName, {.queue = "Nodes", .workers = parts.options.node_workers},
             reconciler, parts.doors) {
    part.queue().follow<kube::Node>(parts.watched_nodes.store, controllers::node_change_matters);
  }

  std::unique_ptr<kube::Recorder> recorder;
  controllers::NodeController reconciler;
  ControllerPart part;
};

// The service controller.
struct Manager::Parts::Services {
  explicit Services(Parts& parts)
      : recorder(recorder_of(parts.broadcaster, kServiceControllerName)),
        watched(parts.doors, controllers::service_projection()),
        reconciler(parts.options.service,
                   {watched.store, parts.watched_nodes.store, parts.work_api,
                    parts.doors.cloud.provider(), *recorder, parts.doors.loop, parts.doors.random,
                    parts.doors.metrics, parts.doors.log}),
        part(kServiceControllerName, {.queue = "service", .workers = parts.options.service_workers},
             reconciler, parts.doors) {
    part.queue().follow<kube::Service>(watched.store, controllers::service_change_matters);
  }

  std::unique_ptr<kube::Recorder> recorder;
  Watched<kube::Service> watched;
  controllers::ServiceController reconciler;
  ControllerPart part;
};

Manager::Parts::Parts(ManagerDoors doors_, ManagerOptions options_)
    : doors(doors_),
      options(std::move(options_)),
      life(doors.loop),
      budget(doors.loop, options.api_qps, options.api_burst),
      leased_api(doors.work_api, life),
      work_api(leased_api, budget, doors.loop, doors.metrics, options.api_host),
      broadcaster(doors.event_api, doors.loop, doors.random, doors.metrics, doors.log),
      election_recorder(broadcaster.recorder(std::string(ControllerPart::kManager))),
      watched_nodes(doors, controllers::node_projection()),
      elector(doors.lease_api, options.election, life, doors.loop, doors.random, *election_recorder,
              doors.metrics, doors.log) {
  const cloud::Capabilities can = doors.cloud.provider().capabilities();
  if (wants(kNodeControllerName, can.instances != nullptr)) nodes = std::make_unique<Nodes>(*this);
  if (wants(kServiceControllerName, can.load_balancers != nullptr)) {
    services = std::make_unique<Services>(*this);
  }
}

Manager::Parts::~Parts() = default;

bool Manager::Parts::wants(std::string_view controller, bool cloud_can) const {
  if (!options.controllers.contains(controller)) return false;
  if (!cloud_can) {
    doors.log.warning("a controller is off: the cloud offers nothing that it needs",
                      {{"controller", controller}});
  }
  return cloud_can;
}

std::vector<ControllerPart*> Manager::Parts::controllers() {
  std::vector<ControllerPart*> all;
  if (nodes) all.push_back(&nodes->part);
  if (services) all.push_back(&services->part);
  return all;
}

// What runs beside the queues for as long as they do.
void Manager::Parts::start_service(Scope& service) {
  service.spawn(&kube::Watcher::run, &watched_nodes.watcher);
  if (services) {
    service.spawn(&kube::Watcher::run, &services->watched.watcher);
    service.spawn(&controllers::ServiceController::run, &services->reconciler,
                  std::ref(services->part.queue()));
  }
  service.spawn(greet_cloud, std::ref(*this));
}

// Everything that acts. It ends when the lease is lost, when the queues have been drained, or when
// a part that should run for ever has not.
Task<Result<>> Manager::Parts::lead() {
  if (drains) co_return Result<>{};
  leads = true;
  Scope& term = co_await current_scope();
  Scope service(term);
  start_service(service);
  Scope work(term);
  for (ControllerPart* each : controllers()) {
    each->set_running(true);
    work.spawn(&kube::Controller::run, &each->queue());
  }
  Result<> ended = co_await work.join();
  service.cancel();
  Result<> service_ended = co_await service.join();
  leads = false;
  for (ControllerPart* each : controllers()) each->set_running(false);
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
  for (ControllerPart* each : parts.controllers()) each->queue().stop();
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
  // A standby watches nothing and is ready to take over.
  checks.push_back({"watch-nodes", Probe::readiness, [&parts] {
                      if (!parts.leads) return Result<>{};
                      return parts.watched_nodes.check(parts.doors.loop.now());
                    }});
  if (parts.nodes) {
    checks.push_back({std::string(kNodeControllerName), Probe::liveness,
                      [&parts] { return parts.nodes->part.check(); }});
  }
  if (parts.services) {
    checks.push_back({std::string(kServiceControllerName), Probe::liveness,
                      [&parts] { return parts.services->part.check(); }});
    checks.push_back({"watch-services", Probe::readiness, [&parts] {
                        if (!parts.leads) return Result<>{};
                        return parts.services->watched.check(parts.doors.loop.now());
                      }});
  }
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

Result<> Manager::Parts::check_cloud() const {
  if (!leads) return {};
  if (doors.cloud.guard().breaker_state() != cloud::Breaker::State::closed) {
    return fail(Outcome::busy, "the cloud limits us or does not answer");
  }
  return greeting.value_or(fail(Outcome::lost, "not asked yet"));
}

}  // namespace isthmus::app
