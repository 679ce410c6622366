#include "isthmus/app/controller_part.h"

#include <algorithm>
#include <set>
#include <utility>

#include "isthmus/app/controller_names.h"
#include "isthmus/app/manager_impl.h"

namespace isthmus::app {

// Stands in front of a controller until the migration's lease is won, and remembers what came
// meanwhile: at most as many keys as there are objects.
class ControllerPart::Waiting final : public kube::Reconciler {
 public:
  explicit Waiting(kube::Reconciler& next) : next_(next) {}

  std::string_view name() const override { return next_.name(); }

  Task<Result<kube::Action>> reconcile(kube::ObjectKey key) override {
    if (waits_) {
      missed_.insert(std::move(key));
      co_return kube::Action::done();
    }
    Result<kube::Action> action = co_await next_.reconcile(std::move(key));
    co_return action;
  }

  bool waits() const { return waits_; }

  std::set<kube::ObjectKey> begin() {
    waits_ = false;
    return std::exchange(missed_, {});
  }

 private:
  kube::Reconciler& next_;
  bool waits_ = true;
  std::set<kube::ObjectKey> missed_;
};

ControllerPart::ControllerPart(kube::ControllerOptions options, std::vector<Member> members,
                               const PartContext& context)
    : options_(std::move(options)),
      places_(places_of(members, context)),
      queue_(options_, reconcilers_of(places_), context.doors.loop, context.doors.random,
             context.doors.metrics, context.doors.log) {}

ControllerPart::~ControllerPart() = default;

std::vector<ControllerPart::Place> ControllerPart::places_of(const std::vector<Member>& members,
                                                             const PartContext& context) {
  std::vector<Place> places;
  for (const Member& member : members) {
    const std::string name(find_controller(member.controller)->running);
    Gauge& running = context.doors.metrics.gauge(
        "running_managed_controllers", "Whether a controller of this manager runs.",
        {{"name", name}, {"manager", std::string(kManagerComponent)}});
    std::unique_ptr<Waiting> waiting;
    if (context.is_migrated(member.controller)) {
      waiting = std::make_unique<Waiting>(member.reconciler);
    }
    places.push_back({member.controller, std::move(waiting), member.reconciler, running});
  }
  return places;
}

std::vector<std::reference_wrapper<kube::Reconciler>> ControllerPart::reconcilers_of(
    const std::vector<Place>& places) {
  std::vector<std::reference_wrapper<kube::Reconciler>> reconcilers;
  for (const Place& place : places) {
    if (place.waiting) {
      reconcilers.emplace_back(*place.waiting);
    } else {
      reconcilers.push_back(place.reconciler);
    }
  }
  return reconcilers;
}

std::vector<std::string_view> ControllerPart::names() const {
  std::vector<std::string_view> names;
  for (const Place& place : places_) names.push_back(place.controller);
  return names;
}

bool ControllerPart::waits_for_migration() const {
  return std::ranges::all_of(places_, [](const Place& place) { return place.waiting != nullptr; });
}

void ControllerPart::begin_migrated() {
  for (const Place& place : places_) {
    if (!place.waiting) continue;
    for (const kube::ObjectKey& key : place.waiting->begin()) {
      queue_.enqueue(key, Priority::resync);
    }
  }
  show_running();
}

void ControllerPart::set_running(bool running) {
  is_running_ = running;
  show_running();
}

void ControllerPart::show_running() {
  for (const Place& place : places_) {
    const bool waits = place.waiting && place.waiting->waits();
    place.running.get().set(is_running_ && !waits ? 1 : 0);
  }
}

Result<> ControllerPart::check() const {
  if (failure_) return fail(Outcome::lost, "it has ended: " + failure_->message);
  if (queue_.longest_running() <= options_.run_timeout + kStuckRunGrace) return {};
  return fail(Outcome::lost, "an object has been worked on for longer than its timeout");
}

}  // namespace isthmus::app
