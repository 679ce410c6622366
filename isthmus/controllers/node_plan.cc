#include "isthmus/controllers/node_plan.h"

#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/node_labels.h"

namespace isthmus::controllers {
namespace {

bool is_foreign(const kube::Node& node, const NodePlanOptions& options) {
  const Result<cloud::ProviderId> id = cloud::parse_provider_id(node.provider_id);
  return !id || id->scheme != options.scheme;
}

NodePlan leave(std::string why, std::vector<Notice> notices = {}) {
  return {Leave{std::move(why)}, std::move(notices)};
}

NodePlan leave_foreign(const kube::Node& node, const NodePlanOptions& options) {
  const bool names_a_machine = cloud::parse_provider_id(node.provider_id).has_value();
  const std::string why = names_a_machine ? fmt::format("is not of {}://", options.scheme)
                                          : "names no machine (that would be scheme://id)";
  std::string message = fmt::format("providerID {} {}, so this Node is left to whoever manages it",
                                    node.provider_id, why);
  return leave("its providerID is not ours", {{false, "ForeignProviderID", std::move(message)}});
}

NodePlan leave_unclaimed(const kube::Node& node) {
  std::string message = fmt::format(
      "this Node has neither a providerID nor the taint {}, so it is left alone; a kubelet with "
      "--cloud-provider=external registers with the taint, and this hands it over: {}",
      kUninitializedTaint, taint_command(node));
  return leave("it never asked for a cloud", {{false, "NoProviderID", std::move(message)}});
}

void note_skipped(const std::vector<std::string>& skipped, std::vector<Notice>& notices) {
  if (skipped.empty()) return;
  notices.push_back(
      {true, "LabelsSkipped",
       fmt::format("labels of its machine that cannot be set: {}", fmt::join(skipped, "; "))});
}

void note_left_out(const cloud::Instance& machine, std::vector<Notice>& notices) {
  const std::string left_out = addresses_left_out(machine);
  if (left_out.empty()) return;
  notices.push_back(
      {true, "AddressesSkipped", "addresses of its machine that no Node can have: " + left_out});
}

std::optional<std::vector<kube::NodeAddress>> if_different(const kube::Node& node,
                                                           std::vector<kube::NodeAddress> wanted) {
  // The exact ordered list: comparing by type alone would see changes where there are none, and
  // miss some that are there.
  if (wanted.empty() || wanted == node.addresses) return std::nullopt;
  return wanted;
}

// The one place where an Initialize is made, and so the taint is removed: every doubt has been
// refused before.
NodePlan initialize(const kube::Node& node, const cloud::Instance& machine,
                    std::vector<kube::NodeAddress> addresses, std::vector<Notice> notices) {
  NodePlan plan{.what = {}, .notices = std::move(notices)};
  Initialize act{.provider_id = to_string(machine.provider_id),
                 .addresses = if_different(node, std::move(addresses))};
  note_skipped(plan_labels(node, machine, act.change), plan.notices);
  if (node.provider_id.empty()) act.change.provider_id = act.provider_id;
  act.change.removed_taints = {std::string(kUninitializedTaint)};
  plan.what = std::move(act);
  return plan;
}

NodePlan plan_tainted(const kube::Node& node, const Evidence& evidence,
                      const NodePlanOptions& options) {
  const Match match = match_machine(node, evidence, options.match_order);
  if (const auto* none = std::get_if<NoMatch>(&match)) {
    return {Refuse{kFailedToInitialize, none->message, none->cause}};
  }
  const cloud::Instance& machine = std::get<cloud::Instance>(match);
  std::vector<Notice> notices;
  note_left_out(machine, notices);
  auto addresses = wanted_addresses(node, machine, options.node_ip_filter);
  if (!addresses) {
    const bool annotation_is_wrong = addresses.outcome() == Outcome::invalid;
    return {Refuse{kNodeIpNotFound, addresses.error().message,
                   annotation_is_wrong ? "node_ip_unreadable" : "node_ip_not_found",
                   annotation_is_wrong ? Retry::on_change : Retry::later},
            std::move(notices)};
  }
  return initialize(node, machine, *std::move(addresses), std::move(notices));
}

// A member is never taken out here: whatever is wrong with its machine, it keeps what it has.
NodePlan plan_member(const kube::Node& node, const Evidence& evidence,
                     const NodePlanOptions& options) {
  const Match match = match_machine(node, evidence, options.match_order);
  if (const auto* none = std::get_if<NoMatch>(&match)) {
    return {Leave{none->message, none->cause}, {{true, kFailedToRefresh, none->message}}};
  }
  const cloud::Instance& machine = std::get<cloud::Instance>(match);
  NodePlan plan;
  note_left_out(machine, plan.notices);
  Refresh act;
  if (auto addresses = wanted_addresses(node, machine, options.node_ip_filter)) {
    act.addresses = if_different(node, *std::move(addresses));
  } else {
    plan.notices.push_back({true, kNodeIpNotFound, addresses.error().message});
  }
  if (options.refresh_labels) note_skipped(plan_labels(node, machine, act.change), plan.notices);
  if (!act.addresses && act.change.empty()) {
    return leave("it is as its machine is", std::move(plan.notices));
  }
  plan.what = std::move(act);
  return plan;
}

std::string describe_addresses(const std::optional<std::vector<kube::NodeAddress>>& addresses) {
  return addresses ? "; addresses " + describe(*addresses) : "";
}

std::string describe_change(const kube::NodeChange& change) {
  std::string text;
  if (!change.provider_id.empty()) text += fmt::format("; providerID {}", change.provider_id);
  for (const auto& [key, value] : change.labels) text += fmt::format("; label {}={}", key, value);
  for (const auto& key : change.removed_labels) text += fmt::format("; no label {}", key);
  for (const auto& key : change.removed_taints) text += fmt::format("; no taint {}", key);
  return text;
}

struct Describe {
  std::string operator()(const Leave& leave) const { return "leave alone: " + leave.why; }
  std::string operator()(const Refuse& refuse) const {
    return fmt::format("refuse: {}: {}", refuse.cause, refuse.message);
  }
  std::string operator()(const Initialize& act) const {
    return fmt::format("initialize as {}{}{}", act.provider_id, describe_addresses(act.addresses),
                       describe_change(act.change));
  }
  std::string operator()(const Refresh& act) const {
    return "refresh" + describe_addresses(act.addresses) + describe_change(act.change);
  }
};

}  // namespace

bool is_tainted(const kube::Node& node) { return node.find_taint(kUninitializedTaint) != nullptr; }

std::string taint_command(const kube::Node& node) {
  return fmt::format("kubectl taint node {} {}=true:NoSchedule", node.meta.key.name,
                     kUninitializedTaint);
}

Question question_for(const kube::Node& node, const NodePlanOptions& options) {
  if (node.meta.deletion_time) return AskNothing{};
  if (node.provider_id.empty()) {
    if (!is_tainted(node)) return AskNothing{};
    return query_for(node);
  }
  if (is_foreign(node, options)) return AskNothing{};
  return *cloud::parse_provider_id(node.provider_id);
}

NodePlan plan_node(const kube::Node& node, const Evidence& evidence,
                   const NodePlanOptions& options) {
  if (node.meta.deletion_time) return leave("it is being deleted");
  if (!node.provider_id.empty() && is_foreign(node, options)) return leave_foreign(node, options);
  if (is_tainted(node)) return plan_tainted(node, evidence, options);
  if (node.provider_id.empty()) return leave_unclaimed(node);
  return plan_member(node, evidence, options);
}

std::string describe(const std::vector<kube::NodeAddress>& addresses) {
  std::vector<std::string> parts;
  for (const auto& [type, address] : addresses) parts.push_back(type + " " + address);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string describe(const NodePlan& plan) { return std::visit(Describe{}, plan.what); }

}  // namespace isthmus::controllers
