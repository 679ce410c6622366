#include "isthmus/controllers/service.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/service_impl.h"
#include "isthmus/controllers/service_notices.h"

namespace isthmus::controllers {
namespace {

// Attempts within one run: a new Service takes two, and each writer that comes in between costs one
// more. Beyond that the queue's patience is better than ours.
constexpr int kAttemptsMax = 6;

// How long a run waits for what must be known first: longer than a start takes, shorter than people
// wait for a reason.
constexpr Duration kKnowPatience = std::chrono::seconds(10);

// How soon a set that load balancers still use, or that is just being ensured, is tried again.
constexpr Duration kSetAgainAfter = std::chrono::minutes(1);

// Whether somebody waits for what comes of it. One that has its address is not told of an outage in
// which it loses nothing.
bool waits_for_us(const kube::Service& service) {
  return service.ingress.empty() || service.meta.deletion_time || service.type != "LoadBalancer";
}

// A run for a key deals with all that was noticed of it so far, calls or not.
class Handled {
 public:
  Handled(std::map<kube::ObjectKey, Moment>& noticed, const kube::ObjectKey& key)
      : noticed_(noticed), key_(key) {}
  ~Handled() { noticed_.erase(key_); }
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;

 private:
  std::map<kube::ObjectKey, Moment>& noticed_;
  const kube::ObjectKey key_;
};

cloud::LoadBalancers& balancers_of(cloud::Provider& provider) {
  cloud::LoadBalancers* balancers = provider.capabilities().load_balancers;
  ISTHMUS_ASSERT(balancers != nullptr, "a service controller for a cloud without load balancers");
  return *balancers;
}

}  // namespace

kube::Projection service_projection() { return {.keeps_annotation = is_service_annotation}; }

ServiceController::ServiceController(ServiceControllerOptions options, ServiceDoors doors)
    : inside_(std::make_unique<Inside>(std::move(options), doors)) {}

ServiceController::~ServiceController() = default;

Task<Result<kube::Action>> ServiceController::reconcile(kube::ObjectKey key) {
  return key == kNodesKey ? inside_->sync_nodes() : inside_->sync(std::move(key));
}

Task<Result<>> ServiceController::run(kube::Controller& queue) { return inside_->run(queue); }

ServiceController::Inside::Inside(ServiceControllerOptions options_, ServiceDoors doors)
    : options(std::move(options_)),
      services(doors.services),
      api(doors.api),
      cloud(balancers_of(doors.cloud)),
      recorder(doors.recorder),
      loop(doors.loop),
      random(doors.random),
      log(doors.log),
      teller(doors.recorder),
      contested(doors.loop, doors.metrics,
                {.controller = std::string(kName),
                 .reason = std::string(kStatusContestedReason),
                 .advice = "switch one of the two load balancer controllers off, or tell them "
                           "apart by spec.loadBalancerClass"}),
      writes(doors.services, doors.api, service_projection()),
      targets({.shares = options.shares_targets,
               .debounce = options.node_debounce,
               .debounce_max = options.node_debounce_max},
              {.nodes = doors.nodes,
               .api = doors.api,
               .sets = doors.cloud.capabilities().target_sets,
               .recorder = doors.recorder,
               .loop = doors.loop,
               .metrics = doors.metrics,
               .log = doors.log}),
      orphans({.grace = options.orphan_grace, .many = options.orphans_max},
              {.services = doors.services,
               .api = doors.api,
               .cloud = cloud,
               .recorder = doors.recorder,
               .clock = doors.loop,
               .metrics = doors.metrics,
               .log = doors.log},
              book),
      metrics(doors.metrics, book, refused) {
  services.subscribe([this](const kube::Difference<kube::Service>& difference) {
    const bool may_call = difference.after && concerns_us(*difference.after);
    if (!may_call || difference.initial || !service_change_matters(difference)) return;
    noticed.try_emplace(difference.key, loop.now());
  });
}

Task<Result<kube::Action>> ServiceController::Inside::sync(kube::ObjectKey key) {
  // An object that cannot be read is left alone until it can be; it is not gone.
  if (services.unreadable(key)) co_return kube::Action::done();
  const Handled handled(noticed, key);
  ServicePtr service = writes.newest(key);
  if (!heard.is_set() && !(service && concerns_us(*service))) {
    waiting.insert(key);  // It will hardly ever concern us, so nobody is told that it waits.
    co_return kube::Action::done();
  }
  Result<> known = co_await know();
  if (!known) {
    waiting.insert(key);
    if (service && waits_for_us(*service)) {
      co_return std::unexpected(
          cloud_failed(*service, {}, sync_failed(known.error()), known.error()));
    }
    co_return std::unexpected(std::move(known.error()));
  }
  service = writes.newest(key);
  if (service) {
    CO_TRY(co_await release_namesakes(service));
    service = writes.newest(key);
  }
  for (int attempts = 0; service && attempts < kAttemptsMax; ++attempts) {
    const Result<Step> step = co_await attempt(service);
    if (!step) co_return std::unexpected(step.error());
    if (const auto* finished = std::get_if<Finished>(&*step)) co_return finished->action;
    service = std::get<LookAgain>(*step).service;
  }
  if (service) co_return fail(Outcome::conflict, "others keep changing this Service");
  Result<kube::Action> action = co_await part_from_vanished(key);
  co_return action;
}

Task<Result<kube::Action>> ServiceController::Inside::sync_nodes() {
  CO_TRY(co_await know());
  if (book.empty()) {
    set_is_kept = false;
    const Result<> gone = co_await targets.release();
    if (gone) co_return kube::Action::done();
    if (gone.outcome() == Outcome::conflict || gone.outcome() == Outcome::busy) {
      co_return kube::Action::again_after(kSetAgainAfter);
    }
    co_return std::unexpected(gone.error());
  }
  if (book.all().empty()) {  // The first to need it sees to it.
    set_is_kept = false;
    co_return kube::Action::done();
  }
  set_is_kept = true;
  const Duration due_after = options.drift_every - options.drift_every / 10;
  const bool drift_is_due = set_ensured_at && loop.now() >= later(*set_ensured_at, due_after);
  CO_TRY(co_await targets.refresh(drift_is_due));
  if (!set_ensured_at || drift_is_due) set_ensured_at = loop.now();
  co_return kube::Action::again_after(options.drift_every);
}

// What every run needs: who we are, what the cloud has, and the Nodes.
Task<Result<>> ServiceController::Inside::know() {
  if (!heard.is_set() && !hurdle) {
    Result<> waited = co_await with_timeout(kKnowPatience, wait_for(decided));
    if (waited.outcome() == Outcome::cancelled) co_return waited;
  }
  if (!heard.is_set()) {
    if (hurdle) co_return std::unexpected(*hurdle);
    co_return fail(Outcome::lost, "what load balancers the cloud has is not known yet");
  }
  if (!targets.nodes()) {
    Result<> waited = co_await with_timeout(kKnowPatience, wait_for(targets.known()));
    if (waited.outcome() == Outcome::cancelled) co_return waited;
  }
  if (!targets.nodes()) co_return fail(Outcome::lost, "the Nodes are not known yet");
  co_return Result<>{};
}

Task<Result<ServiceController::Inside::Step>> ServiceController::Inside::attempt(
    ServicePtr service) {
  refused.erase(service->meta.key);
  const NodeTargets::Snapshot nodes = targets.nodes();
  ServicePlan plan = plan_of(*service, *nodes);
  if (auto* act = std::get_if<EnsureService>(&plan.what)) {
    if (nodes->targets.empty()) plan.notices.push_back(no_nodes());
    Result<Step> step =
        co_await ensure(std::move(service), std::move(*act), std::move(plan.notices));
    co_return step;
  }
  if (auto* act = std::get_if<ReleaseService>(&plan.what)) {
    Result<Step> step =
        co_await release(std::move(service), std::move(*act), std::move(plan.notices));
    co_return step;
  }
  if (const auto* act = std::get_if<RefuseService>(&plan.what)) {
    co_return refuse(*service, *act, std::move(plan.notices));
  }
  co_return leave(*service, std::get<LeaveService>(plan.what), std::move(plan.notices));
}

ServicePlan ServiceController::Inside::plan_of(const kube::Service& service,
                                               const EligibleNodes& nodes) {
  const Result<std::string> name = cloud::owned_name(kBalancerKind, *cluster, service.meta.uid);
  const bool has_balancer =
      name && (book.find(*name) != nullptr || book.strangers().contains(*name));
  return plan_service(service, options.plan,
                      {.cluster = *cluster,
                       .nodes = nodes,
                       .target_set = targets.set_name(),
                       .has_balancer = has_balancer,
                       .automatic = automatic});
}

ServiceController::Inside::Step ServiceController::Inside::leave(const kube::Service& service,
                                                                 const LeaveService& act,
                                                                 Notices notices) {
  tell(service, std::move(notices));
  if (ServiceRecord* record = act.forget ? record_of(service) : nullptr) forget(record->name);
  return Finished{kube::Action::done()};
}

// What it has stays as it is.
ServiceController::Inside::Step ServiceController::Inside::refuse(const kube::Service& service,
                                                                  const RefuseService& act,
                                                                  Notices notices) {
  notices.push_back({.reason = act.reason, .message = act.message});
  tell(service, std::move(notices));
  if (ServiceRecord* record = record_of(service)) {
    record->trouble = ServiceRecord::Trouble::refused;
  } else {
    refused.insert(service.meta.key);
  }
  return Finished{kube::Action::done()};
}

ServiceRecord* ServiceController::Inside::record_of(const kube::Service& service) {
  const Result<std::string> name = cloud::owned_name(kBalancerKind, *cluster, service.meta.uid);
  return name ? book.find(*name) : nullptr;
}

// Everything that is so about the Service now: what the cloud says is so belongs to it.
void ServiceController::Inside::tell(const kube::Service& service, Notices notices) {
  const ServiceRecord* record = cluster ? record_of(service) : nullptr;
  if (record != nullptr && record->state && !record->releasing) {
    for (Notice& fact : facts_of(*record->state)) notices.push_back(std::move(fact));
  }
  teller.tell(kube::reference_to(service), notices);
}

void ServiceController::Inside::event(const kube::Service& service, bool warning,
                                      std::string_view reason, std::string message) {
  recorder.record({kube::reference_to(service), warning ? kube::kEventWarning : kube::kEventNormal,
                   std::string(reason), std::move(message)});
}

// A cloud that asks for patience once is no story; one that does so again is.
Error ServiceController::Inside::cloud_failed(const kube::Service& service, Notices notices,
                                              Notice notice, Error error) {
  if (error.outcome == Outcome::cancelled) return error;
  ServiceRecord* record = cluster ? record_of(service) : nullptr;
  bool is_news = true;
  if (record != nullptr) {
    const bool is_refusal = error.outcome == Outcome::conflict || error.outcome == Outcome::invalid;
    record->trouble =
        is_refusal ? ServiceRecord::Trouble::refused : ServiceRecord::Trouble::failing;
    is_news = ++record->failures > 1 || error.outcome != Outcome::busy;
  }
  if (is_news) {
    notice.message = book.explained(notice.message);
    notices.push_back(std::move(notice));
  }
  tell(service, std::move(notices));
  return error;
}

// Only what the API server has said for good is told: of anything else the next run will tell.
Error ServiceController::Inside::write_failed(const kube::Service& service, Notices notices,
                                              Error error) {
  if (error.outcome == Outcome::cancelled) return error;
  if (ServiceRecord* record = record_of(service)) {
    record->trouble = ServiceRecord::Trouble::failing;
  }
  if (error.outcome == Outcome::invalid || error.outcome == Outcome::denied) {
    error.message = "the API server refuses the change of the Service: " + error.message;
    notices.push_back(sync_failed(error));
  }
  tell(service, std::move(notices));
  return error;
}

// The first call to the cloud because of a change.
void ServiceController::Inside::note_call(const kube::ObjectKey& key) {
  const auto found = noticed.find(key);
  if (found == noticed.end()) return;
  metrics.first_call.observe(loop.now() - found->second);
  noticed.erase(found);
}

// With the last load balancer goes the set of targets.
void ServiceController::Inside::forget(const std::string& name) {
  book.forget(name);
  if (book.empty() && queue != nullptr) queue->enqueue(kNodesKey, Priority::resync);
}

}  // namespace isthmus::controllers
