// The node controller: gives a new Node the identity of its machine, and keeps it in step.
//
// What it promises, in this order:
// 1. A Node with the uninitialized taint gets its addresses (nodes/status), and only when they
//    stand, in one patch, labels, providerID and the taint's removal; then one event, Synced.
// 2. An initialized Node of ours follows its machine's addresses and labels, every
//    --node-status-update-frequency and whenever somebody changes what is ours, but does not fight
//    over a field (contested.h).
// 3. Whatever is uncertain leaves the Node as it is, and a Warning event says why, once per change
//    of the story. What is decided when stands in node_plan.cc.
//
// Cut off at any point, the next run finds either an untouched Node, one with addresses and the
// taint, or a finished one, and goes on from there.
//
// It assumes that the store follows the API server, and that runs of one key never overlap
// (kube/controller.h). Every write carries uid and resourceVersion; after a conflict the Node is
// read live and everything is decided anew, so a taint that somebody else removed is seen. It never
// deletes a Node: that is the node lifecycle controller's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/cloud/cache.h"
#include "isthmus/controllers/contested.h"
#include "isthmus/controllers/machine_claims.h"
#include "isthmus/controllers/node_plan.h"
#include "isthmus/controllers/node_writer.h"
#include "isthmus/controllers/teller.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/controller.h"
#include "isthmus/kube/recorder.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

struct NodeControllerOptions {
  NodePlanOptions plan;

  // How often an initialized Node is compared with its machine, before the runner's jitter.
  Duration refresh_every = std::chrono::minutes(5);

  // How old the cloud's answer may be. A new Node's question is worth a call, but a hundred that
  // come within seconds need no hundred lists. One that has waited for its turn takes a list that
  // was asked for since it was seen, as old as for a member at most.
  Duration newcomer_age_max = std::chrono::seconds(5);
  Duration member_age_max = std::chrono::seconds(30);  // Or half of refresh_every, if that is less.

  // After the cloud refused us: no change of the Node helps, and nobody tells us when it is over.
  Duration refused_again_after = std::chrono::minutes(1);
};

// The annotations that must be kept of watched Nodes for this controller to work.
kube::Projection node_projection();

// Whether a difference concerns this controller: not a kubelet's heartbeat.
bool node_change_matters(const kube::Difference<kube::Node>& difference);

// A resource; the doors outlive it.
class NodeController final : public kube::Reconciler {
 public:
  static constexpr std::string_view kName = "cloud-node-controller";

  NodeController(NodeControllerOptions options, kube::Store<kube::Node>& nodes, kube::ApiDoor& api,
                 cloud::InstanceCache& machines, kube::Recorder& recorder, const Clock& clock,
                 Metrics& metrics, Logger& log);

  std::string_view name() const override { return kName; }
  Task<Result<kube::Action>> reconcile(kube::ObjectKey key) override;

 private:
  // What became of one attempt: finished, or look again at the Node as it is now.
  struct Finished {
    kube::Action action;
  };
  struct LookAgain {
    kube::Snapshot<kube::Node> node;  // Null: it is gone.
  };
  using Step = std::variant<Finished, LookAgain>;

  using NodePtr = kube::Snapshot<kube::Node>;

  Task<Result<Step>> attempt(NodePtr node);
  Task<Result<Evidence>> ask(NodePtr node);
  Duration age_max(const kube::Node& node) const;
  void note_newcomer(const kube::Difference<kube::Node>& difference);
  Task<Result<Step>> initialize(NodePtr node, Initialize act);
  Task<Result<Step>> refresh(NodePtr node, Refresh act);
  Result<Step> refuse(const Refuse& refusal);
  Result<Step> cloud_failed(const kube::Node& node, Error error);

  using Patched = NodeWriter::Patched;
  Task<Result<Patched>> patch_addresses(NodePtr node, std::vector<kube::NodeAddress> addresses);
  // `after`: the Node as the patch leaves it, but for its metadata.
  Task<Result<Patched>> patch(NodePtr node, std::string subresource, kube::Patch patch,
                              kube::Node after);
  Error write_failed(const kube::Node& node, Error error);

  kube::Action next_refresh() const { return kube::Action::again_after(options_.refresh_every); }
  void count(std::string_view result, std::string_view cause);

  const NodeControllerOptions options_;
  kube::Store<kube::Node>& nodes_;
  kube::ApiDoor& api_;
  cloud::InstanceCache& machines_;
  const Clock& clock_;
  Metrics& metrics_;
  Logger& log_;
  Teller teller_;
  kube::Recorder& recorder_;
  MachineClaims claims_;
  NodeWriter writer_;
  ContestedFields contested_;
  std::map<std::string, Moment> newcomers_;  // By uid: when each was first seen.
  Histogram& taint_removal_delay_;
  Histogram& initial_sync_delay_;
};

}  // namespace isthmus::controllers
