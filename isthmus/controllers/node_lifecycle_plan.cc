#include "isthmus/controllers/node_lifecycle_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "isthmus/controllers/node_plan.h"
#include "isthmus/controllers/node_subject.h"

namespace isthmus::controllers {
namespace {

// How old an answer may be that sets a taint.
constexpr Duration kAnswerAgeMax = std::chrono::minutes(1);

// A Node is called not Ready within 50 s after its kubelet's last word, so one that has been Ready
// for longer has a kubelet that runs.
constexpr Duration kReadyProves = std::chrono::minutes(1);

// What is given up for lost must have been off, and silent, for so long.
constexpr Duration kOffForLongEnough = std::chrono::minutes(1);

constexpr std::string_view kNoSchedule = "NoSchedule";
constexpr std::string_view kNoExecute = "NoExecute";

bool has_shutdown_taint(const kube::Node& node) {
  return std::ranges::any_of(node.taints, [](const kube::Taint& taint) {
    return taint.key == kShutdownTaint && taint.effect == kNoSchedule;
  });
}

bool has_out_of_service_taint(const kube::Node& node) {
  return std::ranges::any_of(node.taints, [](const kube::Taint& taint) {
    return taint.key == kOutOfServiceTaint && taint.value == kOutOfServiceValue &&
           taint.effect == kNoExecute;
  });
}

bool has_taint_of_ours(const kube::Node& node, const LifecyclePlanOptions& options) {
  return has_shutdown_taint(node) || (options.out_of_service && has_out_of_service_taint(node));
}

bool is_off(const LifecycleFacts& facts, Moment now) {
  return facts.report && facts.report->presence == cloud::Presence::present &&
         facts.report->power == cloud::Power::stopped &&
         now - facts.report->asked_at <= kAnswerAgeMax;
}

bool runs(const LifecycleFacts& facts) {
  return facts.report && facts.report->power == cloud::Power::running;
}

// What was said before the cloud could be believed says nothing of how long the machine is off.
bool is_off_for_good(const LifecycleFacts& facts, Moment now) {
  if (!is_off(facts, now) || !facts.believed_since) return false;
  const Moment since = std::max(facts.report->since, *facts.believed_since);
  return facts.report->asked_at - since >= kOffForLongEnough &&
         now - facts.ready_changed_at >= kOffForLongEnough &&
         facts.silence.value_or(Duration::zero()) >= kOffForLongEnough;
}

void plan_set(const kube::Node& node, const LifecycleFacts& facts,
              const LifecyclePlanOptions& options, Moment now, LifecyclePlan& plan) {
  if (is_off(facts, now) && !has_shutdown_taint(node)) {
    plan.change.added_taints.push_back(
        {.key = std::string(kShutdownTaint), .effect = std::string(kNoSchedule)});
    plan.why = "the cloud says that its machine is shut down";
  }
  if (options.out_of_service && is_off_for_good(facts, now) && !has_out_of_service_taint(node)) {
    plan.change.added_taints.push_back({.key = std::string(kOutOfServiceTaint),
                                        .value = std::string(kOutOfServiceValue),
                                        .effect = std::string(kNoExecute)});
    plan.why = "its machine has been shut down, and its kubelet silent, for a minute";
  }
}

void plan_removal_of_taints(const kube::Node& node, const LifecyclePlanOptions& options,
                            std::string why, LifecyclePlan& plan) {
  if (has_shutdown_taint(node)) plan.change.removed_taints.emplace_back(kShutdownTaint);
  if (options.out_of_service && has_out_of_service_taint(node)) {
    plan.change.removed_taints.emplace_back(kOutOfServiceTaint);
  }
  plan.why = std::move(why);
}

}  // namespace

bool is_watched(const kube::Node& node, const LifecyclePlanOptions& options) {
  const Result<cloud::ProviderId> id = cloud::parse_provider_id(node.provider_id);
  const bool is_ours = id && id->scheme == options.scheme;
  if (!is_ours || node.meta.deletion_time) return false;
  return !is_ready(node) || has_taint_of_ours(node, options);
}

LifecyclePlan plan_lifecycle(const kube::Node& node, const LifecycleFacts& facts,
                             const cloud::Verdict& verdict, const LifecyclePlanOptions& options,
                             Moment now) {
  LifecyclePlan plan;
  if (node.meta.deletion_time) {
    plan.why = "it is being deleted";
    return plan;
  }
  if (verdict.deletable() || verdict.is_ripe()) {
    plan.removes = true;
    plan.why = "its machine is gone";
    return plan;
  }
  if (!is_watched(node, options)) {
    plan.why = "nothing depends on its machine now";
    return plan;
  }
  const bool proves = is_ready(node) && now - facts.ready_changed_at >= kReadyProves;
  if (runs(facts)) {
    plan_removal_of_taints(node, options, "the cloud says that its machine runs", plan);
  } else if (proves) {
    plan_removal_of_taints(node, options, "it has been Ready for a minute, so its machine runs",
                           plan);
  } else if (!is_ready(node) && !is_tainted(node)) {
    plan_set(node, facts, options, now, plan);
  }
  if (!plan.acts()) plan.why = "it is as its machine is";
  return plan;
}

std::string describe(const LifecyclePlan& plan) {
  if (!plan.acts()) return "leave alone: " + plan.why;
  if (plan.removes) return "delete: " + plan.why;
  std::string text = "change";
  for (const kube::Taint& each : plan.change.added_taints) {
    text += fmt::format("; taint {}={}:{}", each.key, each.value, each.effect);
  }
  for (const std::string& key : plan.change.removed_taints) text += "; no taint " + key;
  return text + ": " + plan.why;
}

}  // namespace isthmus::controllers
