#include "isthmus/controllers/node_lifecycle.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/node_subject.h"
#include "isthmus/controllers/node_wishes.h"

namespace isthmus::controllers {
namespace {

// Attempts within one run: each writer that comes in between costs one more. Beyond that the
// queue's patience is better than ours.
constexpr int kAttemptsMax = 4;

// The longest round there can be without something being stuck: two lists and a look at the
// kubelets at their own deadlines of a minute, and the machines that are asked for one by one.
constexpr Duration kRoundMax = std::chrono::minutes(5);

// A kubelet that has registered is Ready within a minute.
constexpr Duration kNewcomer = std::chrono::minutes(1);

// Where the lease is not ours yet, it is looked at again so soon.
constexpr Duration kLeadAgain = std::chrono::seconds(1);

bool is_of_scheme(const kube::Node& node, std::string_view scheme) {
  const Result<cloud::ProviderId> id = cloud::parse_provider_id(node.provider_id);
  return id && id->scheme == scheme;
}

}  // namespace

NodeLifecycleController::NodeLifecycleController(NodeLifecycleOptions options, Doors doors)
    : options_(std::move(options)),
      doors_(std::move(doors)),
      writer_(doors_.nodes, doors_.api, doors_.projection),
      witness_(options_.policy, options_.plan.scheme, doors_.stop),
      rounds_(options_.rounds,
              {doors_.instances, doors_.lists, doors_.heartbeats, doors_.loop, doors_.metrics},
              witness_),
      metrics_(doors_.metrics),
      news_(options_.no_id_report_after, {doors_.nodes, witness_, doors_.stop, doors_.safety,
                                          doors_.recorder, doors_.loop, metrics_, doors_.log}),
      contested_(doors_.loop, doors_.metrics, {.controller = std::string(kName)}),
      contests_(doors_.recorder) {
  doors_.nodes.subscribe([this](const kube::Difference<kube::Node>& each) { note(each); });
  hearsay_ = doors_.lists.on_gone([this](const cloud::ProviderId& id, Moment sent) {
    if (witness_.heard_of(id, sent, now())) wake_.set();
  });
}

void NodeLifecycleController::note(const kube::Difference<kube::Node>& difference) {
  const bool is_other = difference.before && difference.after &&
                        difference.before->meta.uid != difference.after->meta.uid;
  if (difference.before && (is_other || !difference.after)) forget(difference.before->meta.uid);
  if (difference.after) {
    take_in(*difference.after);
  } else {
    contested_.forget(difference.key);
    contests_.forget(difference.key);
  }
}

void NodeLifecycleController::take_in(const kube::Node& node) {
  const std::string& uid = node.meta.uid;
  if (node.meta.deletion_time) {
    forget(uid);
    return;
  }
  const auto [place, is_new] = known_.try_emplace(uid);
  Known& known = place->second;
  const bool has_changed = is_new || known.ready != is_ready(node);
  known.key = node.meta.key;
  known.ready = is_ready(node);
  known.was_ready = known.was_ready || known.ready;
  if (has_changed) known.ready_changed_at = doors_.loop.now();
  const std::optional<Moment> news_due = news_.due();
  news_.note(node);
  if (news_.due() != news_due) wake_.set();

  if (is_of_scheme(node, options_.plan.scheme)) {
    witness_.put(subject_of(node), now());
  } else {
    witness_.forget(uid);
  }
  if (!is_watched(node, options_.plan)) {
    rounds_.unwatch(uid);
  } else if (has_changed || !rounds_.watches(uid)) {
    rounds_.watch(uid, *cloud::parse_provider_id(node.provider_id), patience_with(node, known));
    wake_.set();
  }
  rounds_.want_silence(
      uid, options_.plan.out_of_service && node.find_taint(kOutOfServiceTaint) == nullptr);
  if (witness_.is_suspect(uid)) wake_.set();
}

// Who has just registered is not Ready yet, and its machine is no question: it was found a moment
// ago. A thousand that come at once need not be asked about.
Duration NodeLifecycleController::patience_with(const kube::Node& node, const Known& known) const {
  const Duration age = doors_.loop.wall_now() - node.meta.creation_time;
  if (known.was_ready || age < Duration::zero()) return Duration::zero();
  return std::max(kNewcomer - age, Duration::zero());
}

// An answer may come after the news that the Node is gone, which nobody tells twice.
void NodeLifecycleController::take_in_answer(const kube::Node& node) {
  const NodePtr known = doors_.nodes.find(node.meta.key);
  if (known && known->meta.uid == node.meta.uid) take_in(node);
}

void NodeLifecycleController::forget(const std::string& uid) {
  witness_.forget(uid);
  rounds_.unwatch(uid);
  const auto place = known_.find(uid);
  if (place == known_.end()) return;
  news_.forget(place->second.key, uid);
  known_.erase(place);
}

Task<Result<>> NodeLifecycleController::run(kube::Controller& queue) {
  for (;;) {
    CO_TRY(co_await wait_for_work());
    if (doors_.leads_for() <= Duration::zero()) {
      // Others act now, and speak.
      CO_TRY(co_await sleep_for(kLeadAgain));
      continue;
    }
    look_at_cloud();
    const Moment began = doors_.loop.now();
    round_began_ = began;
    Result<> asked = co_await rounds_.round();
    round_began_.reset();
    if (!asked) co_return asked;
    metrics_.round_duration.observe(doors_.loop.now() - began);
    const std::vector<std::string> may_go = news_.tell(around());
    enqueue_work(queue, may_go);
  }
}

// Until a round is due, or a Node has changed; then a moment more, for those that change with it.
Task<Result<>> NodeLifecycleController::wait_for_work() {
  if (const std::optional<Moment> next = next_work()) {
    Result<> woken = co_await with_deadline(*next, wait_for(wake_));
    if (!woken && woken.outcome() != Outcome::deadline) co_return woken;
  } else {
    CO_TRY(co_await wake_.wait());
  }
  CO_TRY(co_await sleep_for(options_.settle));
  wake_.clear();
  co_return Result<>{};
}

std::optional<Moment> NodeLifecycleController::next_work() const {
  std::optional<Moment> next = rounds_.due();
  const std::optional<Moment> news = news_.due();
  if (news && *news > doors_.loop.now()) next = std::min(next.value_or(*news), *news);
  return next;
}

// What was heard while nobody knew who speaks is no evidence, and neither is what was before.
void NodeLifecycleController::look_at_cloud() {
  const bool is_known = doors_.cloud_health().is_known;
  if (is_known != cloud_is_known_) {
    witness_.doubt_everything();
    cloud_known_since_ = doors_.loop.now();
    doors_.log.info(is_known ? "the cloud has said who it is" : "who the cloud is, is not known",
                    {});
  }
  cloud_is_known_ = is_known;
}

void NodeLifecycleController::enqueue_work(kube::Controller& queue,
                                           const std::vector<std::string>& may_go) {
  for (const std::string& uid : may_go) {
    const auto place = known_.find(uid);
    if (place != known_.end()) queue.enqueue(place->second.key);
  }
  for (const std::string& uid : rounds_.take_heard()) {
    const auto place = known_.find(uid);
    if (place == known_.end()) continue;
    const kube::ObjectKey& key = place->second.key;
    const NodePtr node = writer_.find(key);
    if (node && node->meta.uid == uid && plan_for(*node, {}).acts()) queue.enqueue(key);
  }
}

Task<Result<kube::Action>> NodeLifecycleController::reconcile(kube::ObjectKey key) {
  // An object that cannot be read is left alone until it can be; it is not gone.
  if (doors_.nodes.unreadable(key)) co_return kube::Action::done();
  NodePtr node = writer_.find(key);
  for (int attempts = 0; node && attempts < kAttemptsMax; ++attempts) {
    Step step = CO_TRY(co_await attempt(node));
    if (step.finished) co_return *step.finished;
    node = std::move(step.node);
  }
  if (node) co_return fail(Outcome::conflict, "others keep changing this Node");
  co_return kube::Action::done();
}

Task<Result<NodeLifecycleController::Step>> NodeLifecycleController::attempt(NodePtr node) {
  LifecyclePlan plan = plan_for(*node, verdict(*node));
  if (plan.removes) {
    Step step = CO_TRY(co_await remove(node));
    co_return step;
  }
  const std::vector<Wish> allowed = contested_.may_write(node->meta, wishes_of(plan.change));
  CO_TRY(co_await contested_.learn_writers(doors_.api, kube::name_of(*node)));
  contests_.tell(kube::reference_to(*node), contested_.notices(node->meta));
  plan.change = limited_to(allowed, std::move(plan.change));
  if (!plan.change.empty()) {
    Step step = CO_TRY(co_await change_taints(node, std::move(plan)));
    co_return step;
  }
  // Whatever changes is found out by a round, which puts the Node into the queue.
  co_return Step{.finished = kube::Action::done()};
}

LifecyclePlan NodeLifecycleController::plan_for(const kube::Node& node,
                                                const cloud::Verdict& verdict) const {
  const auto place = known_.find(node.meta.uid);
  if (place == known_.end()) return {.why = "nothing is known of it"};
  const LifecycleFacts facts{.report = rounds_.report(node.meta.uid),
                             .ready_changed_at = place->second.ready_changed_at,
                             .silence = rounds_.silence(node.meta.key.name),
                             .believed_since = cloud_believed_since()};
  return plan_lifecycle(node, facts, verdict, options_.plan, doors_.loop.now());
}

cloud::Verdict NodeLifecycleController::verdict(const kube::Node& node) const {
  return witness_.judge(node.meta.uid, around(), now());
}

cloud::Surroundings NodeLifecycleController::around() const {
  const CloudHealth health = doors_.cloud_health();
  return {.cloud_is_open = health.is_open,
          .cloud_is_known = cloud_is_known_ && health.is_known,
          .lease_left = doors_.leads_for(),
          .mutations_stopped = doors_.safety.mutations_stopped()};
}

// nullopt: it was caught, or nobody knows which it is.
std::optional<Moment> NodeLifecycleController::cloud_believed_since() const {
  if (!around().cloud_is_known || doors_.stop.stopped(doors_.loop.now())) return std::nullopt;
  return std::max(cloud_known_since_, doors_.stop.until());
}

Task<Result<NodeLifecycleController::Step>> NodeLifecycleController::change_taints(
    NodePtr node, LifecyclePlan plan) {
  Result<NodeWriter::Patched> patched = co_await writer_.change(node, plan.change);
  if (!patched) {
    if (!is_our_own(patched.outcome())) {
      doors_.log.warning("node taints not changed",
                         {{"node", node->meta.key.name}, {"why", patched.error()}});
    }
    co_return std::unexpected(std::move(patched.error()));
  }
  if (!patched->done) co_return Step{.node = std::move(patched->node)};
  contested_.wrote(node->meta, wishes_of(plan.change));
  for (const kube::Taint& each : plan.change.added_taints) {
    const bool is_shutdown = each.key == kShutdownTaint;
    (is_shutdown ? metrics_.shutdown_taints("set") : metrics_.out_of_service_taints("set")).add();
  }
  for (const std::string& key : plan.change.removed_taints) {
    const bool is_shutdown = key == kShutdownTaint;
    (is_shutdown ? metrics_.shutdown_taints("removed") : metrics_.out_of_service_taints("removed"))
        .add();
  }
  doors_.log.info("node taints changed", {{"node", node->meta.key.name}, {"plan", describe(plan)}});
  take_in_answer(*patched->node);
  co_return Step{.finished = kube::Action::done()};
}

// What it was decided on may be old by now: the Node is read live, the kubelets are looked at, and
// all of it is decided again.
Task<Result<NodeLifecycleController::Step>> NodeLifecycleController::remove(NodePtr node) {
  const Moment sent = doors_.loop.now();
  NodePtr live = CO_TRY(co_await writer_.read_live(node));
  if (!live) co_return Step{};
  if (live->meta.uid != node->meta.uid) co_return Step{.node = std::move(live)};
  take_in_answer(*live);
  if (options_.policy.mode != cloud::DeletionMode::upstream) {
    CO_TRY(co_await rounds_.look_at_kubelets());
  }
  witness_.read_live(live->meta.uid, is_ready(*live), sent, doors_.loop.now());
  if (!verdict(*live).deletable()) co_return Step{.finished = kube::Action::done()};
  Step step = CO_TRY(co_await remove_live(live));
  co_return step;
}

Task<Result<NodeLifecycleController::Step>> NodeLifecycleController::remove_live(NodePtr live) {
  // Once it is gone, nothing is known of it any more.
  const cloud::Subject* subject = witness_.find(live->meta.uid);
  const bool is_confirmed_gone =
      subject != nullptr && subject->is_confirmed_gone(doors_.loop.wall_now());
  const std::string evidence = witness_.evidence_text(live->meta.uid, doors_.loop.now());
  witness_.begin_removal(live->meta.uid, doors_.loop.now());
  Result<> gone = co_await writer_.remove(live);
  if (gone) {
    removed(*live, is_confirmed_gone, evidence);
    co_return Step{.finished = kube::Action::done()};
  }
  if (gone.outcome() == Outcome::conflict) {
    witness_.call_off(live->meta.uid);
    co_return Step{.node = std::move(live)};
  }
  if (gone.outcome() == Outcome::denied) {
    removal_denied(*live, gone.error());
    co_return Step{.finished = kube::Action::done()};
  }
  co_return std::unexpected(removal_failed(*live, std::move(gone.error())));
}

// By the role, or by an admission that knows more of this one: others may go.
void NodeLifecycleController::removal_denied(const kube::Node& node, const Error& error) {
  witness_.deny_removal(node.meta.uid, doors_.loop.now() + options_.denied_again_after);
  doors_.log.error("the cluster does not let us delete a node",
                   {{"node", node.meta.key.name}, {"why", error}});
  doors_.recorder.warning(
      kube::reference_to(node), "NodeDeletionDenied",
      fmt::format("its machine is gone, and we have no right to delete it: {}; the role needs "
                  "the verb delete for nodes, and no admission may refuse it",
                  error.message));
}

// Unless it was refused, whether it was deleted is not known: it stays counted, and the next run
// looks.
Error NodeLifecycleController::removal_failed(const kube::Node& node, Error error) {
  const bool is_refused =
      error.outcome == Outcome::invalid || error.outcome == Outcome::unsupported;
  if (is_refused) witness_.call_off(node.meta.uid);
  if (!is_our_own(error.outcome)) {
    doors_.recorder.warning(
        kube::reference_to(node), "DeletingNodeFailed",
        fmt::format("Failed deleting node {}: {}", node.meta.key.name, error.message));
  }
  doors_.log.warning("node not deleted", {{"node", node.meta.key.name}, {"why", error}});
  return error;
}

void NodeLifecycleController::removed(const kube::Node& node, bool is_confirmed_gone,
                                      const std::string& evidence) {
  metrics_.deleted.add();
  doors_.log.info("node deleted", {{"node", node.meta.key.name},
                                   {"uid", node.meta.uid},
                                   {"resourceVersion", node.meta.resource_version},
                                   {"providerID", node.provider_id},
                                   {"mode", to_string(options_.policy.mode)},
                                   {"confirmedGone", is_confirmed_gone},
                                   {"age", doors_.loop.wall_now() - node.meta.creation_time},
                                   {"evidence", evidence}});
  const std::string why = is_confirmed_gone
                              ? fmt::format("its annotation {} says that its machine is gone",
                                            kNodeConfirmedGoneAnnotation)
                              : "it does not exist in the cloud provider";
  doors_.recorder.normal(kube::reference_to(node), "DeletingNode",
                         fmt::format("Deleting node {} because {}", node.meta.key.name, why));
  forget(node.meta.uid);
}

Result<> NodeLifecycleController::check() const {
  if (!round_began_ || doors_.loop.now() - *round_began_ <= kRoundMax) return {};
  return fail(Outcome::lost, "a round of questions about machines does not end");
}

}  // namespace isthmus::controllers
