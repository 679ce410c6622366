#include "isthmus/controllers/eligible_nodes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/node_plan.h"
#include "isthmus/controllers/target_hash.h"
#include "isthmus/controllers/usable_address.h"

namespace isthmus::controllers {
namespace {

// Upstream's: the label excludes unless its value is one that Go reads as the boolean false, so an
// empty value and one that is no boolean exclude as well.
bool is_excluded(const kube::Node& node) {
  static constexpr std::array<std::string_view, 6> kFalse{"0", "f", "F", "FALSE", "false", "False"};
  const std::optional<std::string_view> value = node.meta.labels.find(kExcludedLabel);
  return value && std::ranges::find(kFalse, *value) == kFalse.end();
}

bool is_ready(const kube::Node& node) {
  const kube::NodeCondition* condition = node.find_condition("Ready");
  return condition != nullptr && condition->status == "True";
}

std::uint16_t kubelet_port_of(const kube::Node& node) {
  const bool is_port =
      node.kubelet_port > 0 && node.kubelet_port <= std::numeric_limits<std::uint16_t>::max();
  return is_port ? static_cast<std::uint16_t>(node.kubelet_port) : std::uint16_t{0};
}

// Takes from the target what an earlier one holds already: a machine that registered under a new
// name while its old Node still stands is one machine, and a cloud refuses a set that has an
// address twice. Answers why nothing is left, or nothing.
std::string take_addresses(cloud::Target& target, std::map<IpAddress, std::string>& holders) {
  std::string why;
  std::erase_if(target.addresses, [&](const IpAddress& address) {
    const auto [holder, is_free] = holders.emplace(address, target.name);
    if (!is_free) why = fmt::format("has the address {} of {}", to_string(address), holder->second);
    return !is_free;
  });
  return target.addresses.empty() ? why : "";
}

std::uint16_t most_reported(const std::map<std::uint16_t, std::size_t>& ports,
                            std::uint16_t otherwise) {
  const auto most = std::ranges::max_element(ports, {}, [](const auto& port) {
    return port.second;
  });  // The first, so lowest, of several.
  return most == ports.end() ? otherwise : most->first;
}

// Why it is no target whatever its addresses are; empty: they decide.
std::string_view why_barred(const kube::Node& node) {
  if (node.meta.deletion_time) return "is being deleted";
  if (is_tainted(node)) return "is not initialized yet";
  if (node.find_taint(kAutoscalerTaint) != nullptr) {
    return "is about to be removed by the cluster autoscaler";
  }
  return is_excluded(node) ? "is excluded by its label" : "";
}

// A Node as it counts: as a target, or why it is none.
struct Candidate {
  std::string_view why = {};  // Empty: it is one.
  cloud::Target target = {};
};

Candidate candidate(const kube::Node& node) {
  Candidate found{.why = why_barred(node)};
  if (!found.why.empty()) return found;
  found.target = target_of(node);
  if (found.target.addresses.empty()) found.why = "has no usable InternalIP";
  return found;
}

}  // namespace

std::string_view why_no_target(const kube::Node& node) { return candidate(node).why; }

cloud::Target target_of(const kube::Node& node) {
  cloud::Target target{.name = node.meta.key.name};
  for (const kube::NodeAddress& candidate : node.addresses) {
    if (candidate.type != "InternalIP") continue;
    const Result<IpAddress> address = parse_ip(candidate.address);
    if (!address || why_unusable(*address)) continue;
    if (std::ranges::find(target.addresses, address->family, &IpAddress::family) ==
        target.addresses.end()) {
      target.addresses.push_back(*address);
    }
  }
  if (Result<cloud::ProviderId> id = cloud::parse_provider_id(node.provider_id)) {
    target.instance = *std::move(id);
  }
  return target;
}

EligibleNodes eligible_nodes(const NodesByKey& nodes) {
  EligibleNodes eligible;
  std::map<IpAddress, std::string> holders;
  std::map<std::uint16_t, std::size_t> kubelet_ports;
  for (const auto& [key, node] : nodes) {
    auto [barred, target] = candidate(*node);
    std::string why(barred);
    if (why.empty()) why = take_addresses(target, holders);
    if (!why.empty()) {
      eligible.left_out.emplace(key.name, std::move(why));
      continue;
    }
    eligible.targets.push_back(std::move(target));
    if (is_ready(*node)) ++eligible.ready;
    if (const std::uint16_t port = kubelet_port_of(*node)) ++kubelet_ports[port];
  }
  eligible.hash = hash_of(eligible.targets);
  eligible.kubelet_port = most_reported(kubelet_ports, eligible.kubelet_port);
  return eligible;
}

std::vector<std::string> vanished_targets(const EligibleNodes& before, const NodesByKey& nodes) {
  std::vector<std::string> names;
  for (const cloud::Target& target : before.targets) {
    if (!nodes.contains({"", target.name})) names.push_back(target.name);
  }
  return names;
}

bool is_suspicious_loss(const EligibleNodes& before, const EligibleNodes& after,
                        std::size_t vanished) {
  return vanished > 0 && (after.targets.empty() || vanished * 2 > before.targets.size());
}

bool target_change_matters(const kube::Difference<kube::Node>& difference) {
  const auto look = [](const kube::Snapshot<kube::Node>& node) {
    return node ? candidate(*node) : Candidate{.why = "is not there"};
  };
  const Candidate before = look(difference.before);
  const Candidate after = look(difference.after);
  if (!before.why.empty() || !after.why.empty()) return before.why.empty() != after.why.empty();
  return before.target != after.target ||
         is_ready(*difference.before) != is_ready(*difference.after) ||
         kubelet_port_of(*difference.before) != kubelet_port_of(*difference.after);
}

}  // namespace isthmus::controllers
