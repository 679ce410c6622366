// The queue of the Nodes: the controllers that work on Nodes share it, so that two of them never
// act on one Node at once.
#include "isthmus/app/manager_impl.h"

#include <optional>

#include "isthmus/app/controller_names.h"
#include "isthmus/controllers/lease_heartbeats.h"
#include "isthmus/controllers/node.h"
#include "isthmus/controllers/node_lifecycle.h"

namespace isthmus::app {
namespace {

// The node controller, if it is wanted.
struct Node {
  explicit Node(const PartContext& context)
      : recorder(context.recorder(kNodeControllerName)),
        controller(context.options.node, context.nodes.store, context.api(kNodeControllerName),
                   *context.doors.cloud.instances(), *recorder, context.doors.loop,
                   context.doors.metrics, context.doors.log) {}

  const std::unique_ptr<kube::Recorder> recorder;
  controllers::NodeController controller;
};

// The node lifecycle controller, likewise.
struct NodeLifecycle {
  explicit NodeLifecycle(const PartContext& context)
      : recorder(context.recorder(kNodeLifecycleControllerName)),
        heartbeats(context.api(kNodeLifecycleControllerName), context.doors.loop),
        controller(context.options.node_lifecycle, doors(context)) {}

  controllers::NodeLifecycleController::Doors doors(const PartContext& context) {
    return {.nodes = context.nodes.store,
            .api = context.api(kNodeLifecycleControllerName),
            .projection = controllers::node_projection(),
            .instances = *context.doors.cloud.provider().capabilities().instances,
            .lists = *context.doors.cloud.instances(),
            .cloud_health = context.cloud_health,
            .stop = context.deletion_stop,
            .heartbeats = heartbeats,
            .safety = context.safety,
            .leads_for = [&context] { return context.leads_for(kNodeLifecycleControllerName); },
            .recorder = *recorder,
            .loop = context.doors.loop,
            .metrics = context.doors.metrics,
            .log = context.doors.log};
  }

  const std::unique_ptr<kube::Recorder> recorder;
  controllers::LeaseHeartbeats heartbeats;
  controllers::NodeLifecycleController controller;
};

// A lease is ours for the renew deadline after each renewal, and a deletion wants a part of it
// left.
void warn_of_short_lease(const PartContext& context) {
  const ManagerOptions& options = context.options;
  if (!options.leader_elect || options.election.renew_deadline > cloud::kLeaseLifeMin) return;
  context.doors.log.warning(
      "no Node will ever be deleted: --leader-elect-renew-deadline is too short",
      {{"renew-deadline", options.election.renew_deadline}, {"more_than", cloud::kLeaseLifeMin}});
}

class NodesPart final : public ManagerPart {
 public:
  NodesPart(const PartContext& context, bool node, bool lifecycle)
      : node_(node ? std::make_unique<Node>(context) : nullptr),
        lifecycle_(lifecycle ? std::make_unique<NodeLifecycle>(context) : nullptr),
        controllers_({.queue = "Nodes", .workers = context.options.node_workers}, members(),
                     context) {
    // The lifecycle controller follows the Nodes by itself, and asks for a run where it has
    // something to do.
    if (!node_) return;
    controllers_.queue().follow<kube::Node>(context.nodes.store, controllers::node_change_matters);
  }

  ControllerPart& controllers() override { return controllers_; }
  void start(Scope& beside) override {
    if (!lifecycle_) return;
    beside.spawn(&controllers::NodeLifecycleController::run, &lifecycle_->controller,
                 std::ref(controllers_.queue()));
  }
  std::vector<HealthCheck> watch_checks(const Clock&) const override {
    if (!lifecycle_) return {};
    return {{"node-lifecycle-rounds", Probe::liveness,
             [this] { return lifecycle_->controller.check(); }}};
  }

 private:
  std::vector<ControllerPart::Member> members() const {
    std::vector<ControllerPart::Member> members;
    if (node_) members.push_back({kNodeControllerName, node_->controller});
    if (lifecycle_) members.push_back({kNodeLifecycleControllerName, lifecycle_->controller});
    return members;
  }

  const std::unique_ptr<Node> node_;
  const std::unique_ptr<NodeLifecycle> lifecycle_;
  ControllerPart controllers_;
};

}  // namespace

std::unique_ptr<ManagerPart> make_nodes_part(const PartContext& context) {
  const bool cloud_can = context.doors.cloud.instances() != nullptr;
  const bool node = context.wants(kNodeControllerName, cloud_can);
  const bool lifecycle = context.wants(kNodeLifecycleControllerName, cloud_can);
  if (!node && !lifecycle) return nullptr;
  if (lifecycle) warn_of_short_lease(context);
  return std::make_unique<NodesPart>(context, node, lifecycle);
}

}  // namespace isthmus::app
