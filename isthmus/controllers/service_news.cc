// What the cloud and the Nodes say by themselves, and which Services should be looked at for it.
#include "isthmus/controllers/service_impl.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/cluster_identity.h"
#include "isthmus/controllers/pauses.h"

namespace isthmus::controllers {
namespace {

using News = cloud::LoadBalancerNews;

// What we ensured so shortly before a list came may be missing from it: longer than any call takes.
constexpr Duration kListLag = std::chrono::minutes(1);

// Fifty load balancers a second follow the Nodes where each names them itself.
constexpr Duration kNodeSpreadEach = std::chrono::milliseconds(20);

}  // namespace

Task<Result<>> ServiceController::Inside::run(kube::Controller& runner) {
  queue = &runner;
  CO_TRY(co_await identify());
  Scope& outer = co_await current_scope();
  Scope scope(outer);
  scope.spawn(
      &NodeTargets::run, &targets,
      NodeTargets::Listener([this](const EligibleNodes& before, const EligibleNodes& after) {
        nodes_changed(before, after);
      }));
  scope.spawn(&Inside::follow_cloud, this);
  scope.spawn(&Inside::sweep_orphans, this);
  Result<> ended = co_await scope.join();
  co_return ended;
}

Task<Result<>> ServiceController::Inside::identify() {
  Backoff backoff(loop, random, kFollowBackoff, kFollowQuiet);
  for (;;) {
    begin_to_know();
    Result<cloud::ClusterUid> uid = co_await read_cluster_uid(api);
    if (uid) {
      cluster = *std::move(uid);
      targets.belong_to(*cluster);
      co_return Result<>{};
    }
    stumble("learning which cluster this is", uid.error());
    CO_TRY(co_await sleep_for(backoff.next()));
  }
}

Task<Result<>> ServiceController::Inside::follow_cloud() {
  Backoff backoff(loop, random, kFollowBackoff, kFollowQuiet);
  for (;;) {
    begin_to_know();
    const Result<> ended = co_await cloud.follow([this](News news) { hear(std::move(news)); });
    if (ended.outcome() == Outcome::unsupported) {
      follows = false;
      Result<> listed = co_await list_cloud();
      co_return listed;
    }
    if (!ended) stumble("following the cloud", ended.error());
    CO_TRY(co_await sleep_for(backoff.next()));
  }
}

// For a cloud that does not tell by itself: what is there is listed at the start, and about as
// often as every load balancer is ensured anew.
Task<Result<>> ServiceController::Inside::list_cloud() {
  Backoff backoff(loop, random, kFollowBackoff, kFollowQuiet);
  for (;;) {
    begin_to_know();
    Result<cloud::Listing<cloud::LoadBalancerState>> all = co_await cloud.list();
    Duration pause = options.drift_every;
    if (!all) {
      stumble("listing what the cloud has", all.error());
      pause = backoff.next();
    } else if (all->completeness == cloud::Completeness::complete) {
      hear({News::Kind::everything, std::move(all->items)});
    } else {
      for (cloud::LoadBalancerState& state : all->items) {
        hear({News::Kind::changed, {std::move(state)}});
      }
      if (!heard.is_set()) hear_first();  // The rest is found by asking for it.
      pause = backoff.next();
    }
    CO_TRY(co_await sleep_for(pause));
  }
}

Task<Result<>> ServiceController::Inside::sweep_orphans() {
  CO_TRY(co_await heard.wait());
  Result<> ended = co_await orphans.run(*cluster);
  co_return ended;
}

// An attempt to learn what must be known: who comes meanwhile waits for it.
void ServiceController::Inside::begin_to_know() {
  if (heard.is_set()) return;
  hurdle.reset();
  decided.clear();
}

// An attempt has failed: who waits is told why, and an outage is logged once.
void ServiceController::Inside::stumble(std::string_view doing, const Error& error) {
  if (error.outcome == Outcome::cancelled) return;
  if (!std::exchange(is_out, true)) {
    log.warning("news of load balancers is interrupted", {{"while", doing}, {"error", error}});
  }
  if (heard.is_set()) return;
  hurdle = Error{error.outcome, fmt::format("{}: {}", doing, error.message), error.retry_after};
  decided.set();
}

void ServiceController::Inside::hear(News news) {
  // Another cluster may use the same account.
  std::erase_if(news.states, [this](const cloud::LoadBalancerState& state) {
    return !cloud::is_owned_name(state.name, kBalancerKind, *cluster);
  });
  switch (news.kind) {
    case News::Kind::everything:
      hear_everything(std::move(news.states));
      return;
    case News::Kind::changed:
      for (const cloud::LoadBalancerState& state : news.states) {
        learn_node_health(state);
        if (book.heard(state)) wake(state.name, Priority::fresh);
      }
      return;
    case News::Kind::removed:
      for (const cloud::LoadBalancerState& state : news.states) {
        if (book.heard_gone(state.name)) wake(state.name, Priority::fresh);
      }
      if (book.empty()) queue->enqueue(kNodesKey, Priority::resync);
      return;
    case News::Kind::resources:
      wake_troubled(ServiceRecord::Trouble::refused, Priority::fresh);
      return;
  }
}

// After a cut nothing is sure: neither the set of targets, nor what failed meanwhile.
void ServiceController::Inside::hear_everything(std::vector<cloud::LoadBalancerState> states) {
  if (std::exchange(is_out, false)) log.info("news of load balancers is back", {});
  for (const cloud::LoadBalancerState& state : states) learn_node_health(state);
  for (const std::string& name : book.heard_everything(states, loop.now(), kListLag)) {
    wake(name, Priority::fresh);
  }
  targets.doubt();
  wake_troubled(std::nullopt, Priority::resync);
  if (!heard.is_set()) hear_first();
  if (book.empty()) queue->enqueue(kNodesKey, Priority::resync);
}

void ServiceController::Inside::hear_first() {
  heard.set();
  decided.set();
  hurdle.reset();
  for (const kube::ObjectKey& key : waiting) queue->enqueue(key, Priority::fresh);
  waiting.clear();
  // One whose Service is of another type by now is nobody's orphan, and its Service is no news.
  for (const auto& [name, state] : book.strangers()) {
    const auto name_space = state.labels.find(std::string(kNamespaceLabel));
    const auto service = state.labels.find(std::string(kNameLabel));
    if (name_space == state.labels.end() || service == state.labels.end()) continue;
    const Result<kube::ObjectKey> key =
        kube::parse_object_key(name_space->second + "/" + service->second);
    if (key) queue->enqueue(*key, Priority::resync);
  }
}

// What the check of Nodes came to before a restart stands beside what is checked by it.
void ServiceController::Inside::learn_node_health(const cloud::LoadBalancerState& state) {
  using Health = cloud::LoadBalancerState::Health;
  const auto label = state.labels.find(std::string(kNodeHealthLabel));
  if (label == state.labels.end()) return;
  const std::optional<NodeHealth> checked_by = parse_node_health(label->second);
  if (checked_by == NodeHealth::kubelet && !heard.is_set()) automatic = NodeHealth::kubelet;
  if (checked_by == NodeHealth::kube_proxy &&
      (state.health == Health::some || state.health == Health::all)) {
    proxies_answer = true;
  }
}

void ServiceController::Inside::nodes_changed(const EligibleNodes& before,
                                              const EligibleNodes& after) {
  const bool is_shared = !targets.set_name().empty();
  if (is_shared && before.hash != after.hash) queue->enqueue(kNodesKey, Priority::resync);
  const bool concerns_each =
      !is_shared || before.targets.empty() != after.targets.empty() ||
      (before.kubelet_port != after.kubelet_port && automatic != NodeHealth::kube_proxy);
  if (!concerns_each) return;
  // Few Services follow at once; a thousand take the whole spread.
  const Duration spread = std::min<Duration>(
      options.node_spread, kNodeSpreadEach * static_cast<std::int64_t>(book.all().size()));
  for (const auto& [name, record] : book.all()) {
    if (record.releasing) continue;
    queue->enqueue_after(record.key, random.between(Duration::zero(), spread), Priority::resync);
  }
}

void ServiceController::Inside::wake(std::string_view name, Priority priority) {
  if (const ServiceRecord* record = book.find(name)) queue->enqueue(record->key, priority);
}

// nullopt: whatever the trouble is.
void ServiceController::Inside::wake_troubled(std::optional<ServiceRecord::Trouble> trouble,
                                              Priority priority) {
  for (const auto& [name, record] : book.all()) {
    const bool is_meant =
        trouble ? record.trouble == *trouble : record.trouble != ServiceRecord::Trouble::none;
    if (is_meant) queue->enqueue(record.key, priority);
  }
}

}  // namespace isthmus::controllers
