// A Service that has a load balancer: finalizer, cloud, status, in this order.
#include "isthmus/controllers/service_impl.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/pauses.h"
#include "isthmus/controllers/service_notices.h"

namespace isthmus::controllers {
namespace {

// Where the cloud tells by itself, how soon it is asked all the same about what does not settle:
// news may have been lost.
constexpr Duration kFollowedPollEvery = std::chrono::seconds(30);

// No Node at all passes its check for this long: three rounds of the default check, and more than a
// kube-proxy takes to be restarted.
constexpr Duration kNobodyFor = std::chrono::seconds(15);

const kube::FieldPath kIngress{"status", "loadBalancer", "ingress"};

// Due times come from the queue, which may be a tenth early.
Moment due(Moment since, Duration every) { return later(since, every - every / 10); }

}  // namespace

Task<Result<ServiceController::Inside::Step>> ServiceController::Inside::ensure(ServicePtr service,
                                                                                EnsureService act,
                                                                                Notices notices) {
  if (act.add_finalizer) {
    Result<ServiceWrites::Written> written = co_await writes.add_finalizer(service);
    if (!written) {
      co_return std::unexpected(
          write_failed(*service, std::move(notices), std::move(written.error())));
    }
    co_return LookAgain{std::move(written->service)};
  }
  const std::string name = act.spec.name;
  ServiceRecord* record = &book.at(name, service->meta.key, service->meta.uid);
  record->may_switch = act.may_switch;
  if (poll_is_due(*record) || (!follows && drift_is_due(*record))) {
    Result<> asked = co_await ask(name);
    if (!asked) {
      co_return std::unexpected(
          cloud_failed(*service, std::move(notices), sync_failed(asked.error()), asked.error()));
    }
    record = &book.at(name, service->meta.key, service->meta.uid);
  }
  std::string print = fingerprint(act.spec);
  const bool is_due = !ServiceBook::stands(*record, print) || drift_is_due(*record);
  if (is_due && may_ensure(*record, print)) {
    Result<Step> made = co_await make(service, std::move(act.spec), std::move(print));
    if (!made) {
      co_return std::unexpected(
          cloud_failed(*service, std::move(notices), sync_failed(made.error()), made.error()));
    }
    if (std::holds_alternative<LookAgain>(*made)) co_return made;
  }
  Result<Step> step = co_await report(std::move(service), name, std::move(notices));
  co_return step;
}

bool ServiceController::Inside::may_ensure(ServiceRecord& record, std::string_view print) {
  const bool was_parked = record.dispute.is_parked(loop.now());
  if (ServiceBook::may_ensure(record, print, loop.now())) return true;
  if (!was_parked) metrics.contested.add();
  return false;
}

// Cut off, the cloud has heard of the spec or not: the record then knows no fingerprint, and the
// next run ensures again. Finished: the cloud was told.
Task<Result<ServiceController::Inside::Step>> ServiceController::Inside::make(
    ServicePtr service, cloud::LoadBalancerSpec spec, std::string print) {
  const std::string name = spec.name;
  note_call(service->meta.key);
  if (!spec.target_set.empty()) {
    CO_TRY(co_await targets.need());
    if (!std::exchange(set_is_kept, true)) queue->enqueue(kNodesKey, Priority::resync);
    const bool is_still_so = targets.set_name() == spec.target_set && book.find(name) != nullptr;
    if (!is_still_so) co_return LookAgain{writes.newest(service->meta.key)};
  }
  ServiceRecord* record = book.find(name);
  Before before{std::exchange(record->fingerprint, {}), record->state, record->generation};
  announce(*service, *record, print);
  metrics.syncs.add();
  Result<cloud::LoadBalancerState> answer = co_await cloud.ensure(std::move(spec));
  record = &book.at(name, service->meta.key, service->meta.uid);
  record->asked_at = loop.now();
  if (!answer) {
    const bool may_exist = answer.outcome() == Outcome::lost || is_our_own(answer.outcome());
    record->existed = record->existed || may_exist;
    if (answer.outcome() == Outcome::invalid && record->failures == 0) doubt_set(*record);
    co_return std::unexpected(std::move(answer.error()));
  }
  const cloud::LoadBalancerState state = *answer;
  book.ensured(*record, std::move(print), *std::move(answer), loop.now());
  tell_what_changed(*service, *record, before, state);
  co_return Finished{next_look(*service, *record)};
}

// A spec that the cloud calls wrong may only lack the set of targets that we believe to be there:
// it is tried once more with one that was ensured anew.
void ServiceController::Inside::doubt_set(const ServiceRecord& record) {
  if (targets.set_name().empty()) return;
  targets.doubt();
  queue->enqueue_after(record.key, kSoonest, Priority::fresh);
}

Task<Result<>> ServiceController::Inside::ask(std::string name) {
  Result<cloud::LoadBalancerState> state = co_await cloud.get(name);
  if (ServiceRecord* record = book.find(name)) record->asked_at = loop.now();
  if (state) {
    book.heard(*state);
  } else if (state.outcome() == Outcome::absent) {
    book.heard_gone(name);
  } else {
    co_return std::unexpected(std::move(state.error()));
  }
  co_return Result<>{};
}

// Once per wish, and not for one that stood already when this process came.
void ServiceController::Inside::announce(const kube::Service& service, ServiceRecord& record,
                                         std::string_view print) {
  const std::string_view wish = wish_of(print);
  if (record.announced == wish) return;
  record.announced = wish;
  record.ensured_told = false;
  if (!record.adopted) event(service, false, kEnsuringReason, "Ensuring load balancer");
}

void ServiceController::Inside::tell_what_changed(const kube::Service& service,
                                                  ServiceRecord& record, const Before& before,
                                                  const cloud::LoadBalancerState& answer) {
  const bool wrote = !before.state || answer.generation > before.state->generation;
  if (wrote) {
    log.info("load balancer ensured", {{"service", to_string(service.meta.key)},
                                       {"name", record.name},
                                       {"addresses", text_of(answer.addresses)},
                                       {"generation", answer.generation}});
  }
  // What stood like this before, and whose address people know, is no news.
  if (std::exchange(record.adopted, false) && !wrote && !service.ingress.empty()) {
    record.ensured_told = true;
  }
  if (std::exchange(record.vanished, false)) {
    metrics.recreated.add();
    record.ensured_told = false;
    event(service, true, kRecreatedReason,
          "Its load balancer had vanished from the cloud, and was made anew");
    return;
  }
  const bool was_believed = before.fingerprint == record.fingerprint;
  const bool was_changed = before.state && before.state->generation > before.generation;
  if (was_believed && before.state && before.state->is_leaving) {
    metrics.recreated.add();
    event(service, true, kRecreatedReason,
          "Somebody had its load balancer deleted in the cloud; it was kept");
    return;
  }
  if (was_believed && was_changed && wrote) {
    metrics.changed.add();
    event(service, true, kChangedReason,
          "Somebody had changed its load balancer in the cloud; it was put right");
  } else if (!was_believed && !before.fingerprint.empty() &&
             wish_of(before.fingerprint) == wish_of(record.fingerprint)) {
    event(service, false, kUpdatedReason, "Updated load balancer with new hosts");
  }
}

// What the cloud says of it now, for people and for the status.
Task<Result<ServiceController::Inside::Step>> ServiceController::Inside::report(ServicePtr service,
                                                                                std::string name,
                                                                                Notices notices) {
  ServicePtr newest = writes.newest(service->meta.key);
  ServiceRecord* record = book.find(name);
  const bool is_same = newest && newest->meta.uid == service->meta.uid &&
                       newest->meta.deletion_time == service->meta.deletion_time;
  if (!is_same || record == nullptr || !record->state) co_return LookAgain{std::move(newest)};
  tell_repairs(*newest, *record);
  judge_node_health(*newest, *record);
  if (!record->state->problems.empty()) {
    record->fingerprint.clear();  // The next ensure continues where this one stopped.
    Error error = error_of(record->state->problems);
    co_return std::unexpected(cloud_failed(*newest, std::move(notices), sync_failed(error), error));
  }
  Result<Step> step = co_await publish(std::move(newest), std::move(name), std::move(notices));
  co_return step;
}

// An address is published once it answers; while the load balancer is being changed, what is
// published stays.
Task<Result<ServiceController::Inside::Step>> ServiceController::Inside::publish(ServicePtr service,
                                                                                 std::string name,
                                                                                 Notices notices) {
  ServiceRecord* record = book.find(name);
  const bool answers = record->state->settled && !record->state->addresses.empty();
  if (answers) {
    std::vector<kube::LoadBalancerIngress> ingress = ingress_of(*record->state);
    std::vector<Wish> wrong;
    if (service->ingress != ingress) wrong.push_back({kIngress, text_of(record->state->addresses)});
    wrong = contested.may_write(service->meta, wrong);
    CO_TRY(co_await contested.learn_writers(api, kube::name_of(*service)));
    record = book.find(name);
    if (record == nullptr || !record->state) co_return LookAgain{writes.newest(service->meta.key)};
    if (!wrong.empty()) {
      Result<ServiceWrites::Written> written = co_await writes.publish(service, std::move(ingress));
      if (!written) {
        co_return std::unexpected(
            write_failed(*service, std::move(notices), std::move(written.error())));
      }
      record = book.find(name);
      if (!written->done || record == nullptr || !record->state) {
        co_return LookAgain{std::move(written->service)};
      }
      contested.wrote(service->meta, wrong);
      service = std::move(written->service);
    }
    if (!std::exchange(record->ensured_told, true)) {
      event(*service, false, kEnsuredReason,
            "Ensured load balancer: " + text_of(record->state->addresses));
    }
  }
  record->trouble = ServiceRecord::Trouble::none;
  record->failures = 0;
  for (Notice& parked : contested.notices(service->meta)) notices.push_back(std::move(parked));
  if (record->dispute.is_parked(loop.now())) notices.push_back(contested_balancer());
  tell(*service, std::move(notices));
  co_return Finished{next_look(*service, *record)};
}

void ServiceController::Inside::tell_repairs(const kube::Service& service, ServiceRecord& record) {
  const cloud::LoadBalancerState& state = *record.state;
  if (state.repairs > record.repairs_told) {
    metrics.repaired.add(static_cast<double>(state.repairs - record.repairs_told));
    event(service, true, kRepairedReason,
          state.last_repair.empty()
              ? "The cloud put right what somebody had changed of its load balancer"
              : "The cloud put right what somebody had changed: " + state.last_repair);
  }
  record.repairs_told = state.repairs;
}

// Nodes that no check of kube-proxy's port reaches, although they are well, have no kube-proxy that
// answers there. Once any has passed it, they have, and something else is wrong.
void ServiceController::Inside::judge_node_health(const kube::Service& service,
                                                  ServiceRecord& record) {
  learn_node_health(*record.state);
  const bool is_evidence = record.may_switch && automatic == NodeHealth::kube_proxy &&
                           !proxies_answer && record.state->settled &&
                           record.state->health == cloud::LoadBalancerState::Health::none &&
                           targets.nodes()->ready > 0;
  if (!is_evidence) {
    record.nobody_since.reset();
    return;
  }
  if (!record.nobody_since) record.nobody_since = loop.now();
  if (loop.now() >= later(*record.nobody_since, kNobodyFor)) switch_to_kubelet(service);
}

void ServiceController::Inside::switch_to_kubelet(const kube::Service& service) {
  automatic = NodeHealth::kubelet;
  log.info("Nodes are checked by the kubelet from now on",
           {{"service", to_string(service.meta.key)}, {"port", targets.nodes()->kubelet_port}});
  event(service, true, kKubeletReason,
        fmt::format("No Node answers at kube-proxy's health port 10256, though {} are Ready: for "
                    "all Services that leave it to us, Nodes are now checked by a connection to "
                    "the kubelet's port {}",
                    targets.nodes()->ready, targets.nodes()->kubelet_port));
  for (auto& [name, record] : book.all()) {
    if (record.may_switch) wake(name, Priority::resync);
  }
}

bool ServiceController::Inside::drift_is_due(const ServiceRecord& record) const {
  return !record.fingerprint.empty() && loop.now() >= due(record.ensured_at, options.drift_every);
}

bool ServiceController::Inside::poll_is_due(const ServiceRecord& record) const {
  const bool is_moving = record.state && (!record.state->settled || record.state->is_leaving);
  const bool was_left = record.dispute.is_parked(loop.now());  // To another, without a fingerprint.
  return is_moving && (!record.fingerprint.empty() || was_left) &&
         loop.now() >= due(record.asked_at, poll_every());
}

Duration ServiceController::Inside::poll_every() const {
  return follows ? kFollowedPollEvery : options.unsettled_again_after;
}

kube::Action ServiceController::Inside::next_look(const kube::Service& service,
                                                  const ServiceRecord& record) const {
  Moment next = record.dispute.is_parked(loop.now())
                    ? *record.dispute.parked_until()
                    : later(record.ensured_at, options.drift_every);
  if (record.state && !record.state->settled) {
    next = std::min(next, later(record.asked_at, poll_every()));
  }
  // A third more, as the queue may come a tenth early.
  if (record.nobody_since) {
    next = std::min(next, later(*record.nobody_since, kNobodyFor + kNobodyFor / 3));
  }
  if (const auto next_try = contested.next_try(service.meta)) next = std::min(next, *next_try);
  return kube::Action::again_after(std::max<Duration>(next - loop.now(), kSoonest));
}

}  // namespace isthmus::controllers
