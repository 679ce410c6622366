#include "isthmus/controllers/node_outlook.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace isthmus::controllers {
namespace {

// What the plan says of itself: the first part, and each change.
void describe_in(const NodePlan& plan, Outlook& outlook) {
  std::vector<std::string> parts = parts_of(describe(plan));
  outlook.message = std::move(parts.front());
  outlook.details.assign(std::make_move_iterator(parts.begin() + 1),
                         std::make_move_iterator(parts.end()));
}

// Warnings that the Node itself is not as it should be. Another one, of a label that is not taken
// over, say, is only worth knowing.
bool is_refusal(const Notice& notice) {
  return notice.warning && (notice.reason == kFailedToRefresh || notice.reason == kNodeIpNotFound);
}

// What is left alone so is not as it should be: people have to change something.
void describe_left(const Leave& leave, const std::vector<Notice>& notices, Outlook& outlook) {
  outlook.message = leave.why;
  const auto warning = std::ranges::find_if(notices, is_refusal);
  if (warning == notices.end()) return;
  outlook.act = Act::refuse;
  outlook.reason = warning->reason;
  outlook.message = warning->message;
}

}  // namespace

Outlook outlook_of(const kube::Node& node, const NodePlan& plan) {
  Outlook outlook{.kind = "Node", .key = node.meta.key};
  if (const auto* refusal = std::get_if<Refuse>(&plan.what)) {
    outlook.act = Act::refuse;
    outlook.reason = refusal->reason;
    outlook.message = refusal->message;
  } else if (const auto* leave = std::get_if<Leave>(&plan.what)) {
    describe_left(*leave, plan.notices, outlook);
  } else {
    const bool is_new = std::holds_alternative<Initialize>(plan.what);
    outlook.act = is_new ? Act::initialize : Act::refresh;
    outlook.reason = is_new ? "Uninitialized" : "MachineChanged";
    describe_in(plan, outlook);
  }
  for (const Notice& notice : plan.notices) {
    if (outlook.reason.empty()) outlook.reason = notice.reason;
    if (notice.message != outlook.message) outlook.details.push_back(notice.message);
  }
  return outlook;
}

Task<Result<Evidence>> NodeOutlook::evidence_of(kube::Snapshot<kube::Node> node) {
  const Question question = question_for(*node, options_);
  Evidence evidence;
  if (const auto* id = std::get_if<cloud::ProviderId>(&question)) {
    Result<cloud::Instance> found = co_await machines_.get(*id);
    if (found) {
      evidence.machines.push_back(*std::move(found));
    } else if (found.outcome() != Outcome::absent) {
      co_return std::unexpected(std::move(found).error());
    }
  } else if (const auto* query = std::get_if<cloud::InstanceQuery>(&question)) {
    auto found = CO_TRY(co_await machines_.list(*query));
    evidence.machines = std::move(found.items);
    evidence.completeness = found.completeness;
  }
  for (const cloud::Instance& machine : evidence.machines) {
    const std::string id = to_string(machine.provider_id);
    if (auto holder = claims_.holder(id, node->meta.key)) evidence.held_by.emplace(id, *holder);
  }
  co_return evidence;
}

Task<Result<Outlook>> NodeOutlook::of(kube::Snapshot<kube::Node> node) {
  const Result<Evidence> evidence = co_await evidence_of(node);
  if (evidence.outcome() == Outcome::cancelled) co_return std::unexpected(evidence.error());
  if (evidence) co_return outlook_of(*node, plan_node(*node, *evidence, options_));
  co_return Outlook{
      .kind = "Node",
      .key = node->meta.key,
      .act = Act::unknown,
      .reason = "CloudNotAsked",
      .message = fmt::format("the cloud cannot be asked about its machine: {}: {}",
                             to_string(evidence.outcome()), evidence.error().message)};
}

}  // namespace isthmus::controllers
