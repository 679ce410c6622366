#include "isthmus/controllers/lifecycle_outlook.h"

#include <chrono>
#include <utility>

namespace isthmus::controllers {
namespace {

// A manager that has run for a while has seen the Node be as it is for longer than any rule asks.
constexpr Duration kLongAgo = std::chrono::hours(1);

}  // namespace

std::optional<Outlook> lifecycle_outlook_of(const kube::Node& node, const cloud::Instance* machine,
                                            const LifecyclePlanOptions& options, Moment now) {
  if (!is_watched(node, options)) return std::nullopt;
  const cloud::Presence presence = machine ? machine->presence : cloud::Presence::absent;
  const cloud::Power power = machine ? machine->power : cloud::Power::unknown;
  const LifecycleFacts facts{
      .report = MachineReport{.presence = presence, .power = power, .since = now, .asked_at = now},
      .ready_changed_at = now - kLongAgo};
  const LifecyclePlan plan = plan_lifecycle(node, facts, cloud::Verdict{}, options, now);
  Outlook outlook{.kind = "Node", .key = node.meta.key};
  if (plan.acts()) {
    outlook.act = Act::taint;
    outlook.reason = power == cloud::Power::stopped ? "MachineStopped" : "MachineRuns";
    outlook.message = plan.why;
    for (const kube::Taint& taint : plan.change.added_taints) {
      outlook.details.push_back("taint " + taint.key);
    }
    for (const std::string& key : plan.change.removed_taints) {
      outlook.details.push_back("no taint " + key);
    }
    return outlook;
  }
  if (presence != cloud::Presence::absent) return std::nullopt;
  outlook.act = Act::withhold;
  outlook.reason = "MachineGone";
  outlook.message =
      "the cloud says that its machine is gone; the Node is deleted once a manager has confirmed "
      "that over some minutes and all conditions hold";
  outlook.details.emplace_back("its event NodeDeletionWithheld names what is missing");
  return outlook;
}

}  // namespace isthmus::controllers
