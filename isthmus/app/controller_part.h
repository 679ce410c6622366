// One controller of the manager with its queue: what all of them have in common.
#pragma once

#include <memory>
#include <string_view>

#include "isthmus/app/controller_names.h"
#include "isthmus/app/manager.h"
#include "isthmus/kube/controller.h"
#include "isthmus/kube/recorder.h"

namespace isthmus::app {

// A run that outlives its own timeout by this long means that something does not let itself be
// cancelled.
inline constexpr Duration kStuckRunGrace = std::chrono::minutes(1);

// A resource; the doors and the reconciler outlive it.
class ControllerPart {
 public:
  // The name under which manifests, dashboards and events know the manager.
  static constexpr std::string_view kManager = "cloud-controller-manager";

  ControllerPart(std::string_view name, kube::ControllerOptions options,
                 kube::Reconciler& reconciler, const ManagerDoors& doors)
      : options_(std::move(options)),
        queue_(options_, {reconciler}, doors.loop, doors.random, doors.metrics, doors.log),
        running_(doors.metrics.gauge("running_managed_controllers",
                                     "Whether a controller of this manager runs.",
                                     {{"name", std::string(find_controller(name)->running)},
                                      {"manager", std::string(kManager)}})) {}

  kube::Controller& queue() { return queue_; }
  void set_running(bool running) { running_.set(running ? 1 : 0); }

  // lost: an object has been worked on for longer than its timeout.
  Result<> check() const {
    const kube::Progress progress = queue_.progress();
    if (progress.longest_running <= options_.run_timeout + kStuckRunGrace) return {};
    return fail(Outcome::lost, "an object has been worked on for longer than its timeout");
  }

 private:
  const kube::ControllerOptions options_;
  kube::Controller queue_;
  Gauge& running_;
};

}  // namespace isthmus::app
