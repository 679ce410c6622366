// The queue of the Services, with the watch of them.
#include "isthmus/app/manager_impl.h"

#include "isthmus/app/controller_names.h"
#include "isthmus/controllers/service.h"
#include "isthmus/kube/api/service.h"

namespace isthmus::app {
namespace {

class ServicesPart final : public ManagerPart {
 public:
  explicit ServicesPart(const PartContext& context)
      : recorder_(context.recorder(kServiceControllerName)),
        services_(context.doors, controllers::service_projection()),
        service_controller_(
            context.options.service,
            {services_.store, context.nodes.store, context.api(kServiceControllerName),
             context.doors.cloud.provider(), *recorder_, context.doors.loop, context.doors.random,
             context.doors.metrics, context.doors.log}),
        controllers_({.queue = "service", .workers = context.options.service_workers},
                     {{kServiceControllerName, service_controller_}}, context) {
    controllers_.queue().follow<kube::Service>(services_.store,
                                               controllers::service_change_matters);
  }

  ControllerPart& controllers() override { return controllers_; }

  void start(Scope& beside) override {
    beside.spawn(&kube::Watcher::run, &services_.watcher);
    beside.spawn(&controllers::ServiceController::run, &service_controller_,
                 std::ref(controllers_.queue()));
  }

  std::vector<HealthCheck> watch_checks(const Clock& clock) const override {
    return {{"watch-services", Probe::readiness,
             [this, &clock] { return services_.check(clock.now()); }}};
  }

 private:
  const std::unique_ptr<kube::Recorder> recorder_;
  Watched<kube::Service> services_;
  controllers::ServiceController service_controller_;
  ControllerPart controllers_;
};

}  // namespace

std::unique_ptr<ManagerPart> make_services_part(const PartContext& context) {
  const cloud::Capabilities can = context.doors.cloud.provider().capabilities();
  if (!context.wants(kServiceControllerName, can.load_balancers != nullptr)) return nullptr;
  return std::make_unique<ServicesPart>(context);
}

}  // namespace isthmus::app
