#include "isthmus/controllers/node_subject.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "isthmus/base/text.h"
#include "isthmus/controllers/eligible_nodes.h"
#include "isthmus/controllers/node_plan.h"

namespace isthmus::controllers {
namespace {

// The newer label leads, as everywhere.
constexpr std::array<std::string_view, 2> kZoneLabels = {"topology.kubernetes.io/zone",
                                                         "failure-domain.beta.kubernetes.io/zone"};
constexpr std::array<std::string_view, 2> kControlPlaneLabels = {
    "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"};

// Set by those who are about to remove the machine.
constexpr std::array<std::string_view, 3> kRemovalTaints = {
    kAutoscalerTaint, "karpenter.sh/disrupted", "karpenter.sh/disruption"};

bool says_so(const kube::Node& node, std::string_view annotation) {
  const std::optional<std::string_view> value = node.meta.annotations.find(annotation);
  return value && *value != "false";
}

bool is_announced(const kube::Node& node) {
  if (node.unschedulable && says_so(node, kNodeRemovalAnnouncedAnnotation)) return true;
  return std::ranges::any_of(kRemovalTaints,
                             [&](std::string_view key) { return node.find_taint(key) != nullptr; });
}

struct ConfirmedGone {
  std::string_view uid;
  WallTime until;
};

std::optional<ConfirmedGone> parse_confirmed_gone(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return std::nullopt;
  const std::optional<WallTime> until = kube::parse_rfc3339(text.substr(at + 1));
  if (!until) return std::nullopt;
  return ConfirmedGone{text.substr(0, at), *until};
}

std::optional<WallTime> confirmed_gone_until(const kube::Node& node) {
  const auto text = node.meta.annotations.find(kNodeConfirmedGoneAnnotation);
  const std::optional<ConfirmedGone> said = text ? parse_confirmed_gone(*text) : std::nullopt;
  if (!said || said->uid != node.meta.uid) return std::nullopt;
  return said->until;
}

}  // namespace

bool is_deletion_annotation(std::string_view key) {
  return key == kNodeProtectAnnotation || key == kNodeConfirmedGoneAnnotation ||
         key == kNodeRemovalAnnouncedAnnotation;
}

bool is_ready(const kube::Node& node) {
  const kube::NodeCondition* ready = node.find_condition("Ready");
  return ready != nullptr && ready->status == "True";
}

cloud::Subject subject_of(const kube::Node& node) {
  cloud::Subject subject{.uid = node.meta.uid,
                         .name = node.meta.key.name,
                         .provider_id = node.provider_id,
                         .ready = is_ready(node),
                         .initialized = !is_tainted(node),
                         .is_protected = says_so(node, kNodeProtectAnnotation),
                         .created = node.meta.creation_time,
                         .confirmed_gone_until = confirmed_gone_until(node)};
  for (const std::string_view label : kZoneLabels) {
    if (subject.zone.empty()) subject.zone = node.meta.labels.find(label).value_or("");
  }
  subject.control_plane = std::ranges::any_of(kControlPlaneLabels, [&](std::string_view label) {
    return node.meta.labels.find(label).has_value();
  });
  subject.announced = is_announced(node);
  return subject;
}

std::optional<std::string> complaint_about(const kube::Node& node) {
  const auto text = node.meta.annotations.find(kNodeConfirmedGoneAnnotation);
  if (!text) return std::nullopt;
  const std::optional<ConfirmedGone> said = parse_confirmed_gone(*text);
  if (!said) {
    return fmt::format("{}: {} is not \"<uid>@<RFC 3339 time>\"", kNodeConfirmedGoneAnnotation,
                       quoted(*text));
  }
  if (said->uid == node.meta.uid) return std::nullopt;
  return fmt::format("{}: the uid is {}, and this Node's is {}", kNodeConfirmedGoneAnnotation,
                     quoted(said->uid), node.meta.uid);
}

}  // namespace isthmus::controllers
