// What should be done about one Node whose machine may be stopped or gone: the decision, as data,
// made without IO or clock. Whether its machine is gone is the witness's to say (cloud/witness.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "isthmus/cloud/deletion_verdict.h"
#include "isthmus/cloud/model.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/api/patch.h"

namespace isthmus::controllers {

// The machine is shut down; upstream's key and effect.
inline constexpr std::string_view kShutdownTaint = "node.cloudprovider.kubernetes.io/shutdown";

// Volumes and pods of the Node are given up for lost; Kubernetes' own key, and the value by which
// its documentation sets it.
inline constexpr std::string_view kOutOfServiceTaint = "node.kubernetes.io/out-of-service";
inline constexpr std::string_view kOutOfServiceValue = "nodeshutdown";

struct LifecyclePlanOptions {
  std::string scheme;           // Of our provider ids.
  bool out_of_service = false;  // --node-out-of-service-taint
};

// What the cloud has said of the machine, as long as it said the same.
struct MachineReport {
  cloud::Presence presence = cloud::Presence::unknown;
  cloud::Power power = cloud::Power::unknown;
  Moment since = {};     // When the first answer of this kind came.
  Moment asked_at = {};  // When the last one was asked for.

  friend bool operator==(const MachineReport&, const MachineReport&) = default;
};

// What is known besides the Node itself.
struct LifecycleFacts {
  std::optional<MachineReport> report = {};  // nullopt: the cloud has not been asked.
  Moment ready_changed_at = {};              // When we saw Ready change, or saw the Node first.
  std::optional<Duration> silence = {};      // Of its kubelet, lately; nullopt: not looked at.

  // Since when the cloud has been the one it was, and no liar; nullopt: it is not now.
  std::optional<Moment> believed_since = {};
};

struct LifecyclePlan {
  kube::NodeChange change = {};  // Taints to set and to remove.
  bool removes = false;          // Read it live, and delete it if the verdict still is so then.
  std::string why = {};

  bool acts() const { return removes || !change.empty(); }
};

// Whether the cloud has to be asked about its machine at all: not for a Ready Node without a taint
// of ours, for one of somebody else's or without an id, nor for one that is being deleted.
bool is_watched(const kube::Node& node, const LifecyclePlanOptions& options);

// The decision. A shutdown taint follows what the cloud says, both ways: it is set only on a Node
// that is initialized and not Ready, by an answer of the last minute, and it also goes when the
// Node has been Ready for a minute, because then the machine runs, whatever the cloud says. The
// out-of-service taint, by which pods and volumes are taken from a machine, is only set for what a
// cloud says that can be believed.
LifecyclePlan plan_lifecycle(const kube::Node& node, const LifecycleFacts& facts,
                             const cloud::Verdict& verdict, const LifecyclePlanOptions& options,
                             Moment now);

// One line for people: dry run and log.
std::string describe(const LifecyclePlan& plan);

}  // namespace isthmus::controllers
