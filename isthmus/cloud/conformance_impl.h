// What the steps of the conformance test (conformance.h) stand on: the provider under test with a
// deadline around each call, names and wishes of the test's own, waits that end, and a verdict.
//
// A step is a coroutine over the bench. It ends with ok, or passes on the error of the first thing
// that was not as it should be; the bench has noted by then what to tell people.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/cloud/conformance.h"
#include "isthmus/cloud/ownership.h"

namespace isthmus::cloud {

// The kinds of the owned names that the test makes (ownership.h).
inline constexpr std::string_view kConformanceKind = "conformance";

struct ConformanceFinding {
  ConformanceStep::Verdict verdict = ConformanceStep::Verdict::passed;
  std::string reason = {};
  std::string next_step = {};
};

// A resource, for one run.
class ConformanceBench final {
 public:
  ConformanceBench(ConformanceDoors doors, ConformanceOptions options);

  Provider& provider() { return doors_.provider; }
  Provider* stranger() { return doors_.stranger; }
  const ConformanceOptions& options() const { return options_; }
  LoadBalancers& balancers() { return *doors_.provider.capabilities().load_balancers; }
  TargetSets& sets() { return *doors_.provider.capabilities().target_sets; }
  RouteTables& tables() { return *doors_.provider.capabilities().route_tables; }
  Routes& singles() { return *doors_.provider.capabilities().routes; }
  const std::string& cluster() const { return cluster_.text(); }
  std::string made_up_id() { return doors_.random.uuid(); }

  // The verdict of the running step, if it is not to pass; the error ends the step.
  std::unexpected<Error> failed(std::string reason, std::string next_step);
  std::unexpected<Error> skipped(std::string reason, std::string next_step = {});
  ConformanceFinding take_finding(const Result<>& end);

  // What was seen of a call that should have been answered otherwise.
  std::unexpected<Error> failed_call(std::string_view what, const Error& error);

  // Names and wishes. `first` and `second` are the only load balancers of the test, `set` is its
  // target set and `table` its table of routes; a wish is of one TCP listener to one target.
  const std::string& first() const { return first_; }
  const std::string& second() const { return second_; }
  const std::string& set() const { return set_; }
  const std::string& table() const { return set_; }
  LoadBalancerSpec wish(const std::string& name) const;
  LoadBalancerSpec wish_by_set(const std::string& name) const;
  TargetSetSpec set_of(std::size_t targets) const;
  // The machines 0, 1, …; without families: those of the options.
  Target target(std::size_t number, std::vector<IpFamily> families = {}) const;
  bool is_ours(std::string_view name) const;

  // A table with a route to each of these machines, inside the ranges of the options.
  RouteTableSpec table_of(const std::vector<ProviderId>& machines) const;
  bool is_in_ranges(const IpPrefix& destination) const;
  std::string route_ranges_text() const;
  IpPrefix outside_of_ranges() const;

  // Runs a call with its deadline. `busy` is asked again as often as the patience allows, after the
  // time named: a cloud in use may limit us. The call is made anew by `make`.
  template <class T>
  Task<Result<T>> call(std::function<Task<Result<T>>()> make);

  // Calls that must be answered with ok; anything else fails the step.
  Task<Result<LoadBalancerState>> ensure(LoadBalancerSpec spec);
  Task<Result<LoadBalancerState>> get(std::string name);
  Task<Result<LoadBalancerPreview>> preview(LoadBalancerSpec spec);
  Task<Result<>> ensure_set(TargetSetSpec spec);

  // Calls of which any answer is of interest.
  Task<Result<LoadBalancerState>> try_ensure(LoadBalancerSpec spec);
  Task<Result<LoadBalancerState>> try_get(std::string name);
  Task<Result<LoadBalancerPreview>> try_preview(LoadBalancerSpec spec);
  Task<Result<>> try_ensure_set(TargetSetSpec spec);
  Task<Result<>> try_release_set(std::string name);
  Task<Result<TargetSetPreview>> try_preview_set(TargetSetSpec spec);

  // Ensured and settled, with its addresses; ensured anew while it leaves.
  Task<Result<LoadBalancerState>> standing(LoadBalancerSpec spec);

  // The state once it is settled, within the patience.
  Task<Result<LoadBalancerState>> settled(std::string name);

  // The settled state once it has so many targets; a cloud that does not say is taken at its word.
  Task<Result<LoadBalancerState>> with_targets(std::string name, std::size_t targets);

  // Released until that is answered with ok, and absent then. A `busy` release is asked for again.
  Task<Result<>> gone(std::string name);

  // All of the test's, from a list that says it is complete.
  Task<Result<std::vector<LoadBalancerState>>> ours();

  // Fails unless exactly one of that name is listed.
  Task<Result<>> listed_once(std::string name);

  // Ok as soon as it is so; deadline when the patience for news is at its end.
  Task<Result<>> until_so(std::function<bool()> is_so);

  // Takes away whatever the run may have made and answers what could not be.
  Task<std::vector<std::string>> clean_up();

 private:
  Task<Result<>> release_within_patience(LoadBalancers& from, std::string name);
  Task<Result<>> release_set_within_patience(std::string name);
  Task<std::vector<std::string>> clean_up_routes();
  Task<Result<>> pause(const Error* error, Moment until);

  ConformanceDoors doors_;
  const ConformanceOptions options_;
  const ClusterUid cluster_;
  const std::string first_;
  const std::string second_;
  const std::string set_;
  std::optional<ConformanceFinding> finding_;
};

template <class T>
Task<Result<T>> ConformanceBench::call(std::function<Task<Result<T>>()> make) {
  Scope& here = co_await current_scope();
  const Moment until = later(here.loop().now(), options_.patience);
  for (;;) {
    Result<T> answer = co_await with_timeout(options_.call_deadline, make());
    if (answer.outcome() != Outcome::busy) co_return answer;
    const Result<> paused = co_await pause(&answer.error(), until);
    if (!paused) co_return answer;
  }
}

// A step that can be named, explained and run.
struct ConformanceCheck {
  // What the provider must have; where it has not, the step is skipped.
  enum class Needs : std::uint8_t {
    nothing,
    instances,
    load_balancers,
    target_sets,
    route_tables,
    routes,
  };

  std::string name;
  std::string checks;
  Needs needs = Needs::nothing;
  std::function<Task<Result<>>(ConformanceBench&)> run = {};
};

// Each group in its own file, in the order in which they run.
void add_instance_checks(std::vector<ConformanceCheck>& checks);    // conformance_instances.cc
void add_life_checks(std::vector<ConformanceCheck>& checks);        // conformance_life.cc
void add_attribute_checks(std::vector<ConformanceCheck>& checks);   // conformance_attributes.cc
void add_address_checks(std::vector<ConformanceCheck>& checks);     // conformance_addresses.cc
void add_news_checks(std::vector<ConformanceCheck>& checks);        // conformance_news.cc
void add_target_set_checks(std::vector<ConformanceCheck>& checks);  // conformance_target_sets.cc
void add_route_checks(std::vector<ConformanceCheck>& checks);       // conformance_routes.cc

}  // namespace isthmus::cloud
