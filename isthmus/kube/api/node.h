// core/v1 Node, as far as controllers of clouds look at one. A Node of 15 KB becomes about 2 KB.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/kube/api/meta.h"

namespace isthmus::kube {

// The API's own words are kept as text: a value that we do not know yet must survive us.
struct Taint {
  std::string key = {};
  std::string value = {};
  std::string effect = {};      // "NoSchedule", "PreferNoSchedule", "NoExecute".
  std::string time_added = {};  // As the server wrote it; empty: none.

  // The taint as the server sent it (JSON), only where it has fields that the four above do not
  // cover. spec.taints is an atomic list: whoever changes one taint sends all of them back, and
  // this is how we send back what we do not understand.
  std::string raw = {};

  friend bool operator==(const Taint&, const Taint&) = default;
};

struct NodeAddress {
  std::string type = {};  // "InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS".
  std::string address = {};

  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
};

struct NodeCondition {
  std::string type = {};    // "Ready", "NetworkUnavailable", …
  std::string status = {};  // "True", "False", "Unknown".
  std::string reason = {};

  friend bool operator==(const NodeCondition&, const NodeCondition&) = default;
};

struct Node {
  static constexpr ResourceType resource{"v1", "Node", "nodes", false};

  ObjectMeta meta = {};

  // spec
  std::string provider_id = {};
  std::vector<Taint> taints = {};
  std::vector<std::string> pod_cidrs = {};
  bool unschedulable = false;

  // status
  std::vector<NodeAddress> addresses = {};  // In the server's order, which is significant.
  std::vector<NodeCondition> conditions = {};
  std::string system_uuid = {};   // nodeInfo.systemUUID, as the kubelet spelled it.
  std::int32_t kubelet_port = 0;  // daemonEndpoints.kubeletEndpoint.Port; 0: not reported.

  // The first of that key or type, borrowed; null when there is none.
  const Taint* find_taint(std::string_view key) const {
    auto place = std::ranges::find(taints, key, &Taint::key);
    return place == taints.end() ? nullptr : &*place;
  }
  const NodeCondition* find_condition(std::string_view type) const {
    auto place = std::ranges::find(conditions, type, &NodeCondition::type);
    return place == conditions.end() ? nullptr : &*place;
  }

  friend bool operator==(const Node&, const Node&) = default;
};

// A Node without its spec and status, as the API server sends it to who asks for no more.
struct NodeMetadata {
  static constexpr ResourceType resource{"meta.k8s.io/v1", "PartialObjectMetadata", "nodes", false};

  ObjectMeta meta = {};
};

}  // namespace isthmus::kube
