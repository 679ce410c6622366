// The eligible Nodes as targets of load balancers: worked out once per change of the Nodes, whoever
// looks, and where the cloud has target sets kept there as one set that all load balancers use.
//
// A change is taken in when the Nodes have been quiet for a moment, and compared by the hash of
// what it comes to; so a thousand Nodes that join cost a handful of calls, and a heartbeat none.
//
// A watch may show less than there is, and a target that is taken away by mistake is an outage. So
// where more than half of the targets, or the last of them, would go because their Nodes have
// vanished, the targets stay as they are until the API server, asked live, knows none of these
// Nodes and knows others; and as long as it is the cluster that it was.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "isthmus/base/log.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/signal.h"
#include "isthmus/cloud/coalesce.h"
#include "isthmus/cloud/ownership.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/controllers/eligible_nodes.h"
#include "isthmus/controllers/withheld.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/recorder.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

// The set of a cluster, with these Nodes in it.
cloud::TargetSetSpec target_set_of(const cloud::ClusterUid& cluster, const EligibleNodes& nodes);

struct NodeTargetsOptions {
  bool shares = true;  // Off: no set is kept, whatever the cloud has.
  Duration debounce = std::chrono::seconds(1);
  Duration debounce_max = std::chrono::seconds(10);
};

struct NodeTargetsDoors {
  kube::Store<kube::Node>& nodes;
  kube::ApiDoor& api;
  cloud::TargetSets* sets;  // May be null.
  kube::Recorder& recorder;
  Loop& loop;
  Metrics& metrics;
  Logger& log;
};

// A resource; the doors outlive it.
class NodeTargets final {
 public:
  using Snapshot = std::shared_ptr<const EligibleNodes>;

  // Told of a change: what it was and what it is. It takes note and returns.
  using Listener = std::function<void(const EligibleNodes& before, const EligibleNodes& after)>;

  NodeTargets(NodeTargetsOptions options, NodeTargetsDoors doors);
  ~NodeTargets();

  // Whose Nodes these are; before they are followed and anything is asked of the set.
  void belong_to(const cloud::ClusterUid& cluster);

  // Follows the Nodes until the scope is cancelled.
  Task<Result<>> run(Listener listener);

  // The newest that was taken in; null before the Nodes are known (a wait for that: known()).
  Snapshot nodes() const { return nodes_; }
  Signal& known() { return known_; }

  // The name by which load balancers refer to the set; empty: targets are named inline.
  std::string set_name() const { return shares_ ? name_ : std::string(); }

  // Makes sure that the set exists, in whatever version: before the first load balancer of this
  // process, one call for all who ask meanwhile. Ok as well where there are no sets after all; look
  // at set_name() again. Errors: the cloud's.
  Task<Result<>> need();

  // Makes the set what the Nodes are now. Writes nothing where it is, unless `anyway`.
  Task<Result<>> refresh(bool anyway);

  // Takes the set away. busy: it is just being ensured. conflict: load balancers still use it.
  Task<Result<>> release();

  // The cloud may have lost it: the next need() ensures it again.
  void doubt() { in_cloud_.clear(); }

 private:
  class Releasing;

  Task<Result<>> wait_for_change();
  Task<Result<>> look(const Listener& listener);
  Task<Result<>> confirm_loss();
  void take_in(Snapshot newest, const Listener& listener);
  Task<Result<std::string>> ensure();

  const NodeTargetsOptions options_;
  kube::Store<kube::Node>& store_;
  kube::ApiDoor& api_;
  cloud::TargetSets* sets_;
  Loop& loop_;
  Logger& log_;
  bool shares_;
  std::string name_;
  std::optional<cloud::ClusterUid> cluster_;
  Snapshot nodes_;
  Signal known_;
  Signal dirty_;
  Withheld withheld_;
  Moment confirm_again_at_ = {};
  std::optional<Moment> changed_at_;  // The first change of the Nodes that the cloud has not.
  std::string in_cloud_;              // Hash of the targets that the set has; empty: not known.
  bool is_releasing_ = false;
  Signal released_;
  Counter& errors_;
  Histogram& sync_latency_;
  Histogram& call_latency_;
  cloud::Coalescer<int, std::string> calls_;  // Last: what runs in it ends before what it uses.
};

}  // namespace isthmus::controllers
