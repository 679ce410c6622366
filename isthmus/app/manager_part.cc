#include "isthmus/app/manager_impl.h"

#include "isthmus/app/controller_names.h"

namespace isthmus::app {

bool PartContext::wants(std::string_view controller, bool cloud_can) const {
  if (!options.controllers.contains(controller)) return false;
  if (options.migration && options.migration->elsewhere.contains(controller)) {
    doors.log.info("a controller is off: the leader migration has it run in another component",
                   {{"controller", controller}});
    return false;
  }
  if (!cloud_can) {
    doors.log.warning("a controller is off: the cloud offers nothing that it needs",
                      {{"controller", controller}});
  }
  return cloud_can;
}

bool PartContext::is_migrated(std::string_view controller) const {
  return options.migration && options.migration->controllers.contains(controller);
}

std::unique_ptr<kube::Recorder> PartContext::recorder(std::string_view controller) const {
  return broadcaster.recorder(std::string(find_controller(controller)->event_source));
}

Task<Result<>> run_part(ManagerPart& part, const bool& drains, Logger& log) {
  ControllerPart& controllers = part.controllers();
  Scope& term = co_await current_scope();
  Scope beside(term);
  part.start(beside);
  Scope work(beside);
  controllers.set_running(true);
  Result<> ended = co_await work.run(controllers.queue().run());
  beside.cancel();
  Result<> beside_ended = co_await beside.join();
  controllers.set_running(false);
  if (term.is_cancelled() || drains) co_return ended;
  const bool beside_failed = !beside_ended && beside_ended.outcome() != Outcome::cancelled;
  const Result<>& why = beside_failed ? beside_ended : ended;
  controllers.set_failed(why ? Error{Outcome::lost, "its queue stopped by itself"} : why.error());
  for (const std::string_view name : controllers.names()) {
    log.error("a controller has failed; the others go on",
              {{"controller", name}, {"why", controllers.check().error()}});
  }
  co_return Result<>{};
}

}  // namespace isthmus::app
