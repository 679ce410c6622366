// The node lifecycle controller: a Node whose machine is stopped says so, and one whose machine is
// gone goes; and no live Node is ever deleted.
//
// What it promises:
// 1. The taint node.cloudprovider.kubernetes.io/shutdown follows what the cloud says, both ways
//    (node_lifecycle_plan.h). With --node-out-of-service-taint, a Node whose machine has certainly
//    been off for a while also gets node.kubernetes.io/out-of-service until it runs again.
// 2. A Node is deleted by the witness's verdict alone (cloud/witness.h), after a live read, with
//    uid and resourceVersion of what was read, and while we lead for long enough to hear the
//    answer. One line of the log tells everything it was decided on.
// 3. A deletion that is withheld says on the Node why, and what would release it, once per reason.
// 4. A cloud that contradicts the cluster, or itself, to whomever of us, is reported by events,
//    metrics and the log within 75 s, once per story, and what it says has no consequences for ten
//    minutes (cloud/deletion_stop.h).
//
// It has two halves. run() follows the Nodes and asks the cloud and the kubelets in rounds
// (machine_rounds.h), for all Nodes at once; Ready Nodes without a taint of ours cost nothing.
// reconcile() acts on one Node by what is known then. It runs in the queue that the node controller
// uses too, so that the two never write to one Node at once, and it never waits for the cloud, so
// that a cloud which hangs holds up nobody.
//
// Cut off at any point, nothing is half done: each write is one request. What was counted against a
// machine is only in memory, so whoever starts anew starts over.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/log.h"
#include "isthmus/base/signal.h"
#include "isthmus/cloud/deletion_stop.h"
#include "isthmus/cloud/witness.h"
#include "isthmus/controllers/contested.h"
#include "isthmus/controllers/machine_rounds.h"
#include "isthmus/controllers/node_deletion_news.h"
#include "isthmus/controllers/node_lifecycle_metrics.h"
#include "isthmus/controllers/node_lifecycle_plan.h"
#include "isthmus/controllers/node_writer.h"
#include "isthmus/controllers/safety_switch.h"
#include "isthmus/controllers/teller.h"
#include "isthmus/kube/controller.h"
#include "isthmus/kube/recorder.h"

namespace isthmus::controllers {

struct NodeLifecycleOptions {
  cloud::DeletionPolicy policy;
  LifecyclePlanOptions plan;
  MachineRoundsOptions rounds;

  // Nodes that change together are asked about together.
  Duration settle = std::chrono::milliseconds(500);

  // A Node without a providerID is reported when it has not been Ready for so long.
  Duration no_id_report_after = std::chrono::minutes(15);

  // After the cluster has refused us a deletion: nobody tells us when we get the right.
  Duration denied_again_after = std::chrono::minutes(10);
};

// How well the cloud can be asked, as the manager knows it.
struct CloudHealth {
  bool is_open = true;   // Its breaker lets calls through.
  bool is_known = true;  // It has said that it is the one that it was.
};

// A resource; the doors outlive it, and it outlives every publication of the store.
class NodeLifecycleController final : public kube::Reconciler {
 public:
  static constexpr std::string_view kName = "cloud-node-lifecycle-controller";

  struct Doors {
    kube::Store<kube::Node>& nodes;
    kube::ApiDoor& api;
    kube::Projection projection;  // Of the watched Nodes.
    cloud::Instances& instances;
    cloud::InstanceCache& lists;
    std::function<CloudHealth()> cloud_health;
    cloud::DeletionStop& stop;
    Heartbeats& heartbeats;
    const SafetySwitch& safety;
    std::function<Duration()> leads_for;  // For how long we may still write; zero: not at all.
    kube::Recorder& recorder;
    Loop& loop;
    Metrics& metrics;
    Logger& log;
  };

  NodeLifecycleController(NodeLifecycleOptions options, Doors doors);
  NodeLifecycleController(const NodeLifecycleController&) = delete;
  NodeLifecycleController& operator=(const NodeLifecycleController&) = delete;

  std::string_view name() const override { return kName; }

  // Asks in rounds until the scope is cancelled, and puts the Nodes about which something is to be
  // done into the queue.
  Task<Result<>> run(kube::Controller& queue);

  Task<Result<kube::Action>> reconcile(kube::ObjectKey key) override;

  // For /livez. lost: a round has been under way for too long.
  Result<> check() const;

  // The verdict about a Node as it is now, for whoever explains it.
  cloud::Verdict verdict(const kube::Node& node) const;

 private:
  using NodePtr = kube::Snapshot<kube::Node>;

  // What became of one attempt: finished, or look again at the Node as it is now.
  struct Step {
    std::optional<kube::Action> finished = {};
    NodePtr node = {};  // Null: it is gone.
  };

  // What is known of a Node beside its machine.
  struct Known {
    kube::ObjectKey key = {};
    bool ready = false;
    bool was_ready = false;  // At any time since we know it.
    Moment ready_changed_at = {};
  };

  // Following the Nodes.
  void note(const kube::Difference<kube::Node>& difference);
  void take_in(const kube::Node& node);
  void take_in_answer(const kube::Node& node);
  void forget(const std::string& uid);
  Duration patience_with(const kube::Node& node, const Known& known) const;

  // Rounds.
  Task<Result<>> wait_for_work();
  std::optional<Moment> next_work() const;
  void look_at_cloud();
  void enqueue_work(kube::Controller& queue, const std::vector<std::string>& may_go);

  // One Node.
  Task<Result<Step>> attempt(NodePtr node);
  Task<Result<Step>> change_taints(NodePtr node, LifecyclePlan plan);
  Task<Result<Step>> remove(NodePtr node);
  Task<Result<Step>> remove_live(NodePtr live);
  void removal_denied(const kube::Node& node, const Error& error);
  Error removal_failed(const kube::Node& node, Error error);
  void removed(const kube::Node& node, bool is_confirmed_gone, const std::string& evidence);
  LifecyclePlan plan_for(const kube::Node& node, const cloud::Verdict& verdict) const;
  cloud::Surroundings around() const;
  std::optional<Moment> cloud_believed_since() const;
  cloud::Now now() const { return {doors_.loop.now(), doors_.loop.wall_now()}; }

  const NodeLifecycleOptions options_;
  const Doors doors_;
  NodeWriter writer_;
  cloud::Witness witness_;
  MachineRounds rounds_;
  NodeLifecycleMetrics metrics_;
  NodeDeletionNews news_;
  ContestedFields contested_;
  Teller contests_;                     // About contested fields.
  std::map<std::string, Known> known_;  // By uid.
  bool cloud_is_known_ = true;
  Moment cloud_known_since_ = Moment::min();
  std::optional<Moment> round_began_;  // While one is under way.
  Signal wake_;
  std::shared_ptr<const cloud::InstanceCache::OnGone> hearsay_;  // Heard for as long as it lives.
};

}  // namespace isthmus::controllers
