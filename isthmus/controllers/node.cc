#include "isthmus/controllers/node.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isthmus/controllers/node_labels.h"
#include "isthmus/controllers/node_subject.h"
#include "isthmus/controllers/node_wishes.h"

namespace isthmus::controllers {
namespace {

// Attempts within one run: initializing takes two, and each writer that comes in between costs one
// more. Beyond that the queue's patience is better than ours.
constexpr int kAttemptsMax = 6;

const std::vector<double>& delay_buckets() {
  static const std::vector<double> buckets = exponential_buckets(1, 4, 6);  // 1 s to 1024 s.
  return buckets;
}

bool keeps_annotation(std::string_view key) {
  return key == kProvidedNodeIpAnnotation || key == kManagedLabelsAnnotation ||
         is_deletion_annotation(key);
}

// An answer older than half a round would show every other change a round late.
NodeControllerOptions with_ages_that_fit(NodeControllerOptions options) {
  options.member_age_max = std::min(options.member_age_max, options.refresh_every / 2);
  return options;
}

}  // namespace

kube::Projection node_projection() { return {.keeps_annotation = keeps_annotation}; }

bool node_change_matters(const kube::Difference<kube::Node>& difference) {
  if (!difference.before || !difference.after) return true;
  const kube::Node& before = *difference.before;
  const kube::Node& after = *difference.after;
  const auto same_annotation = [&](std::string_view key) {
    return before.meta.annotations.find(key) == after.meta.annotations.find(key);
  };
  return before.meta.uid != after.meta.uid || before.provider_id != after.provider_id ||
         is_tainted(before) != is_tainted(after) || before.addresses != after.addresses ||
         before.system_uuid != after.system_uuid || before.meta.labels != after.meta.labels ||
         !same_annotation(kProvidedNodeIpAnnotation) || !same_annotation(kManagedLabelsAnnotation);
}

NodeController::NodeController(NodeControllerOptions options, kube::Store<kube::Node>& nodes,
                               kube::ApiDoor& api, cloud::InstanceCache& machines,
                               kube::Recorder& recorder, const Clock& clock, Metrics& metrics,
                               Logger& log)
    : options_(with_ages_that_fit(std::move(options))),
      nodes_(nodes),
      api_(api),
      machines_(machines),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      teller_(recorder),
      recorder_(recorder),
      claims_(nodes),
      writer_(nodes, api, node_projection()),
      contested_(clock, metrics, {.controller = std::string(kName)}),
      taint_removal_delay_(metrics.histogram(
          "node_controller_cloud_provider_taint_removal_delay_seconds",
          "From the creation of a Node to the removal of its taint.", delay_buckets())),
      initial_sync_delay_(metrics.histogram(
          "node_controller_initial_node_sync_delay_seconds",
          "From the creation of a Node to the end of its initialization.", delay_buckets())) {
  nodes.subscribe(
      [this](const kube::Difference<kube::Node>& difference) { note_newcomer(difference); });
}

Task<Result<kube::Action>> NodeController::reconcile(kube::ObjectKey key) {
  // An object that cannot be read is left alone until it can be; it is not gone.
  if (nodes_.unreadable(key)) co_return kube::Action::done();
  NodePtr node = writer_.find(key);
  for (int attempts = 0; node && attempts < kAttemptsMax; ++attempts) {
    const Result<Step> step = co_await attempt(node);
    if (!step) co_return std::unexpected(step.error());
    if (const auto* finished = std::get_if<Finished>(&*step)) co_return finished->action;
    node = std::get<LookAgain>(*step).node;
  }
  if (node) co_return fail(Outcome::conflict, "others keep changing this Node");
  claims_.release(key);
  teller_.forget(key);
  contested_.forget(key);
  co_return kube::Action::done();
}

Task<Result<NodeController::Step>> NodeController::attempt(NodePtr node) {
  Result<Evidence> evidence = co_await ask(node);
  if (!evidence) co_return cloud_failed(*node, std::move(evidence.error()));
  for (const cloud::Instance& machine : evidence->machines) {
    const std::string id = to_string(machine.provider_id);
    if (auto holder = claims_.holder(id, node->meta.key)) evidence->held_by.emplace(id, *holder);
  }

  NodePlan plan = plan_node(*node, *evidence, options_.plan);
  const std::vector<Wish> allowed = contested_.may_write(node->meta, wishes_of(plan));
  CO_TRY(co_await contested_.learn_writers(api_, kube::name_of(*node)));
  for (Notice& parked : contested_.notices(node->meta)) plan.notices.push_back(std::move(parked));

  if (auto* act = std::get_if<Initialize>(&plan.what)) {
    teller_.tell(kube::reference_to(*node), plan.notices);
    Result<Step> step = co_await initialize(node, std::move(*act));
    co_return step;
  }
  claims_.release(node->meta.key);
  if (const auto* refusal = std::get_if<Refuse>(&plan.what)) {
    plan.notices.push_back({true, std::string(refusal->reason), refusal->message});
    teller_.tell(kube::reference_to(*node), plan.notices);
    co_return refuse(*refusal);
  }
  teller_.tell(kube::reference_to(*node), plan.notices);
  if (auto* act = std::get_if<Refresh>(&plan.what)) {
    Result<Step> step = co_await refresh(node, limited_to(allowed, std::move(*act)));
    co_return step;
  }
  const std::string_view cause = std::get<Leave>(plan.what).cause;
  count(cause.empty() ? "unchanged" : "left", cause);
  // Somebody else's Node, or one that never asked, only becomes interesting by a change of its own.
  const bool ours = !std::holds_alternative<AskNothing>(question_for(*node, options_.plan));
  co_return Finished{ours ? next_refresh() : kube::Action::done()};
}

Task<Result<Evidence>> NodeController::ask(NodePtr node) {
  const Duration oldest = age_max(*node);
  const Question question = question_for(*node, options_.plan);
  Evidence evidence;
  if (const auto* id = std::get_if<cloud::ProviderId>(&question)) {
    Result<cloud::Instance> found = co_await machines_.get(*id, oldest);
    if (found) {
      evidence.machines.push_back(*std::move(found));
    } else if (found.outcome() != Outcome::absent) {
      co_return std::unexpected(std::move(found.error()));
    }
  } else if (const auto* query = std::get_if<cloud::InstanceQuery>(&question)) {
    auto found = CO_TRY(co_await machines_.list(*query, oldest));
    evidence.machines = std::move(found.items);
    evidence.completeness = found.completeness;
  }
  co_return evidence;
}

// The kubelet that has registered a Node runs on its machine: a list that is newer than the Node
// knows that machine, and which one has its name now.
Duration NodeController::age_max(const kube::Node& node) const {
  if (!is_tainted(node)) return options_.member_age_max;
  const auto seen = newcomers_.find(node.meta.uid);
  if (seen == newcomers_.end()) return options_.newcomer_age_max;
  const Duration waited = std::min(clock_.now() - seen->second, options_.member_age_max);
  return std::max(options_.newcomer_age_max, waited);
}

void NodeController::note_newcomer(const kube::Difference<kube::Node>& difference) {
  const auto& [key, before, after, initial] = difference;
  const bool is_same = before && after && before->meta.uid == after->meta.uid;
  if (before && !is_same) newcomers_.erase(before->meta.uid);
  if (!after) return;
  if (is_tainted(*after)) {
    newcomers_.try_emplace(after->meta.uid, clock_.now());
  } else {
    newcomers_.erase(after->meta.uid);
  }
}

// Cut off between the two patches, the Node shows its addresses and keeps the taint.
Task<Result<NodeController::Step>> NodeController::initialize(NodePtr node, Initialize act) {
  claims_.claim(act.provider_id, node->meta.key);
  if (act.addresses) {
    Patched patched = CO_TRY(co_await patch_addresses(node, *act.addresses));
    co_return LookAgain{std::move(patched.node)};
  }
  std::optional<kube::Patch> change = kube::node_patch(*node, act.change);
  ISTHMUS_ASSERT(change, "a Node is initialized that has no taint");
  Patched patched =
      CO_TRY(co_await patch(node, "", *std::move(change), kube::changed(*node, act.change)));
  if (!patched.done) co_return LookAgain{std::move(patched.node)};

  count("initialized", "");
  log_.info("node initialized",
            {{"node", node->meta.key.name}, {"plan", describe({.what = std::move(act)})}});
  if (node->meta.creation_time > WallTime{}) {
    const Duration delay = std::max(clock_.wall_now() - node->meta.creation_time, Duration::zero());
    taint_removal_delay_.observe(delay);
    initial_sync_delay_.observe(delay);
  }
  recorder_.normal(kube::reference_to(*node), "Synced", "Node synced successfully");
  co_return Finished{next_refresh()};
}

Task<Result<NodeController::Step>> NodeController::refresh(NodePtr node, Refresh act) {
  if (!act.addresses && act.change.empty()) {
    count("left", "contested");
    co_return Finished{next_refresh()};
  }
  if (act.addresses) {
    Patched patched = CO_TRY(co_await patch_addresses(node, *act.addresses));
    if (patched.done) contested_.wrote(node->meta, {address_wish(*act.addresses)});
    if (!patched.done || !act.change.empty()) co_return LookAgain{std::move(patched.node)};
  } else if (std::optional<kube::Patch> change = kube::node_patch(*node, act.change)) {
    Patched patched =
        CO_TRY(co_await patch(node, "", *std::move(change), kube::changed(*node, act.change)));
    if (!patched.done) co_return LookAgain{std::move(patched.node)};
    contested_.wrote(node->meta, wishes_of(act.change));
    log_.info("node refreshed",
              {{"node", node->meta.key.name}, {"plan", describe({.what = std::move(act)})}});
  }
  count("refreshed", "");
  co_return Finished{next_refresh()};
}

Result<NodeController::Step> NodeController::refuse(const Refuse& refusal) {
  count("refused", refusal.cause);
  // The outcome is for the queue: absent backs off, invalid waits for a change.
  return fail(refusal.retry == Retry::later ? Outcome::absent : Outcome::invalid, refusal.message);
}

Result<NodeController::Step> NodeController::cloud_failed(const kube::Node& node, Error error) {
  if (error.outcome == Outcome::cancelled) return std::unexpected(std::move(error));
  count("error", fmt::format("cloud_{}", to_string(error.outcome)));
  const bool refused = error.outcome == Outcome::denied || error.outcome == Outcome::invalid ||
                       error.outcome == Outcome::unsupported;
  if (is_tainted(node)) {
    // Not told about members: an outage of the cloud would be told a thousand times. An outage is
    // one story, although its calls may be lost, late or not sent in turns.
    teller_.tell(kube::reference_to(node),
                 {{true, kFailedToInitialize,
                   fmt::format("the cloud cannot be asked about its machine: {}: {}",
                               to_string(error.outcome), error.message),
                   refused ? "cloud refuses" : "cloud is out"}});
  }
  if (!refused) return fail("asking the cloud", std::move(error));
  log_.warning("the cloud refuses to tell", {{"node", node.meta.key.name}, {"why", error}});
  return Finished{kube::Action::again_after(options_.refused_again_after)};
}

Task<Result<NodeController::Patched>> NodeController::patch_addresses(
    NodePtr node, std::vector<kube::NodeAddress> addresses) {
  kube::Patch body = kube::node_addresses_patch(kube::unchanged(node->meta), addresses);
  kube::Node after = *node;
  after.addresses = std::move(addresses);
  Patched patched = CO_TRY(co_await patch(node, "status", std::move(body), std::move(after)));
  if (patched.done) {
    log_.info("node addresses written",
              {{"node", node->meta.key.name}, {"addresses", describe(patched.node->addresses)}});
  }
  co_return patched;
}

Task<Result<NodeController::Patched>> NodeController::patch(NodePtr node, std::string subresource,
                                                            kube::Patch patch, kube::Node after) {
  Result<std::string> answer =
      co_await writer_.send(node, std::move(subresource), std::move(patch));
  if (answer.outcome() == Outcome::absent) co_return Patched{false, nullptr};
  if (answer.outcome() == Outcome::conflict) {
    count("conflict", "");
    NodePtr live = CO_TRY(co_await writer_.read_live(node));
    co_return Patched{false, std::move(live)};
  }
  if (!answer) co_return std::unexpected(write_failed(*node, std::move(answer.error())));
  NodePtr patched = CO_TRY(writer_.answered(*node, *answer, std::move(after)));
  co_return Patched{true, std::move(patched)};
}

Error NodeController::write_failed(const kube::Node& node, Error error) {
  const std::string cause = fmt::format("api_{}", to_string(error.outcome));
  count("error", cause);
  const bool effect_unknown = error.outcome == Outcome::lost || is_our_own(error.outcome);
  if (!effect_unknown) claims_.release(node.meta.key);
  // Only what the API server has said for good: of anything else the next run will tell.
  if (error.outcome == Outcome::invalid || error.outcome == Outcome::denied) {
    teller_.tell(kube::reference_to(node),
                 {{true, is_tainted(node) ? kFailedToInitialize : kFailedToRefresh,
                   "the API server refuses the change: " + error.message, cause}});
  }
  return error;
}

void NodeController::count(std::string_view result, std::string_view cause) {
  metrics_
      .counter("isthmus_node_syncs_total", "Runs of the node controller by what came of them.",
               {{"result", std::string(result)}, {"cause", std::string(cause)}})
      .add();
}

}  // namespace isthmus::controllers
