#include "isthmus/controllers/node_labels.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "isthmus/base/text.h"
#include "isthmus/kube/api/names.h"

namespace isthmus::controllers {
namespace {

using Keys = std::set<std::string, std::less<>>;

struct KnownLabel {
  std::string_view primary;
  std::string_view beta;
  std::string cloud::Instance::* value;
};

constexpr KnownLabel kKnownLabels[] = {
    {"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type",
     &cloud::Instance::type},
    {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone",
     &cloud::Instance::zone},
    {"topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region",
     &cloud::Instance::region},
};

// `kubernetes.io/x` and `a.k8s.io/x`, but not `k8snio/x` or `my-k8s.io/x`.
bool is_reserved(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view prefix = key.substr(0, slash);
  for (const std::string_view domain : {"kubernetes.io", "k8s.io"}) {
    if (prefix == domain || prefix.ends_with(fmt::format(".{}", domain))) return true;
  }
  return false;
}

// nullopt: the label may be set.
std::optional<std::string> why_not(std::string_view key, std::string_view value) {
  if (is_reserved(key)) return "the key is reserved for Kubernetes";
  if (const Result<> legal = kube::check_label_key(key); !legal) return legal.error().message;
  if (const Result<> legal = kube::check_label_value(value); !legal) return legal.error().message;
  return std::nullopt;
}

Keys read_managed(const kube::Node& node) {
  Keys keys;
  const auto text = node.meta.annotations.find(kManagedLabelsAnnotation).value_or("");
  for (const std::string_view key : split(text, ',')) {
    if (!key.empty()) keys.emplace(key);
  }
  return keys;
}

void want(const kube::Node& node, std::string_view key, std::string_view value,
          kube::NodeChange& change) {
  if (node.meta.labels.find(key) != value) change.labels.set(key, std::string(value));
}

void plan_known(const kube::Node& node, const cloud::Instance& machine, kube::NodeChange& change,
                std::vector<std::string>& skipped) {
  for (const KnownLabel& known : kKnownLabels) {
    std::string value = machine.*known.value;
    if (const Result<> legal = kube::check_label_value(value); !legal) {
      skipped.push_back(fmt::format("{}={}: {}", known.primary, value, legal.error().message));
      value.clear();
    }
    if (value.empty()) {  // The cloud has no say: then the twins follow whoever set one of them.
      value = node.meta.labels.find(known.primary)
                  .value_or(node.meta.labels.find(known.beta).value_or(""));
    }
    if (value.empty()) continue;
    want(node, known.primary, value, change);
    want(node, known.beta, value, change);
  }
}

// Answers the keys that are ours from now on.
Keys plan_additional(const kube::Node& node, const cloud::Instance& machine, const Keys& ours,
                     kube::NodeChange& change, std::vector<std::string>& skipped) {
  Keys managed;
  for (const auto& [key, value] : machine.labels) {
    if (const auto why = why_not(key, value)) {
      skipped.push_back(fmt::format("{}={}: {}", key, value, *why));
      continue;
    }
    const bool users = node.meta.labels.contains(key) && !ours.contains(key);
    if (users) continue;
    managed.insert(key);
    want(node, key, value, change);
  }
  return managed;
}

}  // namespace

std::vector<std::string> plan_labels(const kube::Node& node, const cloud::Instance& machine,
                                     kube::NodeChange& change) {
  std::vector<std::string> skipped;
  plan_known(node, machine, change, skipped);
  const Keys ours = read_managed(node);
  const Keys managed = plan_additional(node, machine, ours, change, skipped);

  for (const std::string& key : ours) {
    // The annotation is text that anyone may edit; it never makes a reserved label removable.
    const bool dropped = !managed.contains(key) && !is_reserved(key);
    if (dropped && node.meta.labels.contains(key)) change.removed_labels.push_back(key);
  }
  if (managed.empty() && !ours.empty()) {
    change.removed_annotations.emplace_back(kManagedLabelsAnnotation);
  } else if (managed != ours) {
    change.annotations.set(kManagedLabelsAnnotation, fmt::format("{}", fmt::join(managed, ",")));
  }
  return skipped;
}

}  // namespace isthmus::controllers
