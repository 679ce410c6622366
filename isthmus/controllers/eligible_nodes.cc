#include "isthmus/controllers/eligible_nodes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/node_plan.h"
#include "isthmus/controllers/usable_address.h"

namespace isthmus::controllers {
namespace {

__extension__ using Uint128 = unsigned __int128;

// FNV-1a of 128 bits. Every part goes in with its length, so that two lists of parts that read the
// same when written one behind the other are still two.
class Hash {
 public:
  void add(std::string_view part) {
    add_number(part.size());
    for (const char c : part) add_byte(static_cast<std::uint8_t>(c));
  }
  void add(const IpAddress& address) {
    add_number(address.size());
    for (std::size_t i = 0; i < address.size(); ++i) add_byte(address.bytes[i]);
  }
  void add_number(std::size_t number) {
    for (; number > 0x7f; number >>= 7) add_byte(static_cast<std::uint8_t>(number | 0x80));
    add_byte(static_cast<std::uint8_t>(number));
  }
  std::string text() const {
    return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(state_ >> 64),
                       static_cast<std::uint64_t>(state_));
  }

 private:
  void add_byte(std::uint8_t byte) { state_ = (state_ ^ byte) * kPrime; }

  static constexpr Uint128 kPrime = (Uint128{1} << 88) + 0x13b;
  Uint128 state_ = (Uint128{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
};

std::string hash_of(const std::vector<cloud::Target>& targets) {
  Hash hash;
  for (const cloud::Target& target : targets) {
    hash.add(target.name);
    hash.add_number(target.addresses.size());
    for (const IpAddress& address : target.addresses) hash.add(address);
    hash.add(target.instance ? to_string(*target.instance) : "");
  }
  return hash.text();
}

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

}  // namespace

std::string_view why_no_target(const kube::Node& node) {
  if (node.meta.deletion_time) return "is being deleted";
  if (node.find_taint(kUninitializedTaint) != nullptr) return "is not initialized yet";
  if (node.find_taint(kAutoscalerTaint) != nullptr) {
    return "is about to be removed by the cluster autoscaler";
  }
  if (is_excluded(node)) return "is excluded by its label";
  if (target_of(node).addresses.empty()) return "has no usable InternalIP";
  return {};
}

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

EligibleNodes eligible_nodes(const std::map<kube::ObjectKey, kube::Snapshot<kube::Node>>& nodes) {
  EligibleNodes eligible;
  std::map<IpAddress, std::string> holders;
  std::map<std::uint16_t, std::size_t> kubelet_ports;
  for (const auto& [key, node] : nodes) {
    std::string why(why_no_target(*node));
    cloud::Target target;
    if (why.empty()) {
      target = target_of(*node);
      why = take_addresses(target, holders);
    }
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

bool target_change_matters(const kube::Difference<kube::Node>& difference) {
  const auto is_target = [](const kube::Snapshot<kube::Node>& node) {
    return node && why_no_target(*node).empty();
  };
  if (!is_target(difference.before) && !is_target(difference.after)) return false;
  if (!is_target(difference.before) || !is_target(difference.after)) return true;
  const kube::Node& before = *difference.before;
  const kube::Node& after = *difference.after;
  return target_of(before) != target_of(after) || is_ready(before) != is_ready(after) ||
         kubelet_port_of(before) != kubelet_port_of(after);
}

}  // namespace isthmus::controllers
