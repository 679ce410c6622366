// The service controller: gives each Service of type LoadBalancer a load balancer, keeps it right,
// and takes it away again.
//
// What it promises, in this order:
// 1. The finalizer stands before anything is made in the cloud, and goes only when the cloud has
//    said that nothing is left; the release is asked for whatever else is believed.
// 2. What is made carries the cluster's and the Service's uid. What does not is never touched, nor
//    is a Service that somebody else serves.
// 3. A Service follows its spec, the eligible Nodes and what the cloud says: an address is
//    published once it answers, and what somebody changed in the cloud is put right.
// 4. Whatever is uncertain leaves the load balancer as it is, and a Warning event says why, once
//    per change of the story. A Service can always tell why it is pending.
//
// One road leads here: keys in one queue. A change of a Service comes at once; a change of the
// Nodes, debounced, as one key for the shared target set (kNodesKey) or as a resync of every
// Service where there are none, spread out; news of the cloud wakes the Service it is about. A
// run never waits for the cloud to be done: it ends with "again after", and the news comes sooner.
//
// It assumes that the stores follow the API server and that runs of one key never overlap
// (kube/controller.h). What is known of the cloud is in ServiceBook; what is decided when stands in
// service_plan.cc.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "isthmus/base/log.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/work_queue.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/controllers/service_plan.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/controller.h"
#include "isthmus/kube/recorder.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

// The key of the Nodes as targets. A name without a namespace is no Service's.
inline const kube::ObjectKey kNodesKey{.name = "nodes"};

struct ServiceControllerOptions {
  ServicePlanOptions plan;
  bool shares_targets = true;  // Off: targets inline, whatever the cloud has.

  // A healthy load balancer is ensured anew about this often, whatever we believe of it.
  Duration drift_every = std::chrono::minutes(20);

  // Where the cloud does not tell by itself: how soon what is not settled, or leaving, is asked
  // for.
  Duration unsettled_again_after = std::chrono::seconds(5);

  // Nodes: a change is acted on after the first, and while more come at the latest after the
  // second; inline, the Services then follow within the third.
  Duration node_debounce = std::chrono::seconds(1);
  Duration node_debounce_max = std::chrono::seconds(10);
  Duration node_spread = std::chrono::seconds(20);

  // A load balancer of ours whose Service vanished without asking for its release is released after
  // this long, if the API server then says again that there is no such Service; but not where more
  // than orphans_max of them, and more than a third of all, are orphans at once: then something
  // else is wrong, and it is only told.
  Duration orphan_grace = std::chrono::minutes(10);
  std::size_t orphans_max = 3;
};

// What must be kept of watched Services.
kube::Projection service_projection();

// What the controller is given; all of it outlives it.
struct ServiceDoors {
  kube::Store<kube::Service>& services;
  kube::Store<kube::Node>& nodes;
  kube::ApiDoor& api;
  cloud::Provider& cloud;  // Has load_balancers (asserted).
  kube::Recorder& recorder;
  Loop& loop;
  Random& random;
  Metrics& metrics;
  Logger& log;
};

// A resource; the doors outlive it.
class ServiceController final : public kube::Reconciler {
 public:
  static constexpr std::string_view kName = "service-lb-controller";

  ServiceController(ServiceControllerOptions options, ServiceDoors doors);
  ~ServiceController() override;

  std::string_view name() const override { return kName; }
  Task<Result<kube::Action>> reconcile(kube::ObjectKey key) override;

  // Follows what concerns Services besides themselves (Nodes, the cloud's news, orphans) and puts
  // the keys concerned into the queue, until the scope is cancelled. Nothing is ensured before it
  // has heard once what the cloud has; run it beside the queue.
  Task<Result<>> run(kube::Controller& queue);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace isthmus::controllers
