#include "isthmus/cloud/conformance.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isthmus/cloud/conformance_impl.h"

namespace isthmus::cloud {
namespace {

using Verdict = ConformanceStep::Verdict;
using Needs = ConformanceCheck::Needs;

constexpr std::string_view kCleanUp = "clean-up";

std::string refused_check(const Error& error) {
  return fmt::format("check was answered with {}: {}", to_string(error.outcome), error.message);
}

Task<Result<>> lets_us_in(ConformanceBench& bench) {
  const Result<> there = co_await bench.call<void>([&bench] { return bench.provider().check(); });
  if (!there) {
    co_return bench.failed(
        refused_check(there.error()),
        "see that the cloud is where it is looked for, and takes our credential");
  }
  if (bench.provider().scheme().empty() || bench.provider().name().empty()) {
    co_return bench.failed("the provider has no name or no scheme",
                           "both are constant words: a Node's providerID begins with the scheme");
  }
  const Capabilities once = bench.provider().capabilities();
  const Capabilities again = bench.provider().capabilities();
  if (once.instances != again.instances || once.load_balancers != again.load_balancers ||
      once.target_sets != again.target_sets || once.route_tables != again.route_tables ||
      once.routes != again.routes) {
    co_return bench.failed("what the provider is able to do changes between two questions",
                           "capabilities are constant from construction to destruction");
  }
  co_return {};
}

std::vector<ConformanceCheck> all_checks() {
  std::vector<ConformanceCheck> checks;
  checks.push_back({"check", "The cloud is there and lets us in", Needs::nothing, lets_us_in});
  add_instance_checks(checks);
  add_life_checks(checks);
  add_address_checks(checks);
  add_attribute_checks(checks);
  add_news_checks(checks);
  add_target_set_checks(checks);
  add_route_checks(checks);
  return checks;
}

ConformanceStep step_of(const ConformanceCheck& check) {
  return {.name = check.name, .checks = check.checks};
}

ConformanceStep clean_up_step() {
  return {.name = std::string(kCleanUp), .checks = "Nothing of the test is left"};
}

// Why there is nothing to test; empty: there is. A provider may have a capability whose cloud is
// without it, and says so whatever it is asked.
struct Lacks {
  std::string instances = {};
  std::string load_balancers = {};
};

Task<std::string> why_no_instances(ConformanceBench& bench) {
  Instances* machines = bench.provider().capabilities().instances;
  if (machines == nullptr) co_return "the provider knows no machines";
  const Result<Listing<Instance>> listed =
      co_await bench.call<Listing<Instance>>([machines] { return machines->list({}); });
  const ProviderId nobody{bench.provider().scheme(), bench.made_up_id()};
  const Result<Instance> found =
      co_await bench.call<Instance>([machines, nobody] { return machines->get(nobody); });
  const bool refuses =
      listed.outcome() == Outcome::unsupported && found.outcome() == Outcome::unsupported;
  co_return refuses ? listed.error().message : std::string();
}

Task<std::string> why_no_balancers(ConformanceBench& bench) {
  LoadBalancers* balancers = bench.provider().capabilities().load_balancers;
  if (balancers == nullptr) co_return "the provider has no load balancers";
  const Result<Listing<LoadBalancerState>> listed =
      co_await bench.call<Listing<LoadBalancerState>>([balancers] { return balancers->list(); });
  const Result<LoadBalancerState> found = co_await bench.try_get(bench.first());
  const bool refuses =
      listed.outcome() == Outcome::unsupported && found.outcome() == Outcome::unsupported;
  co_return refuses ? listed.error().message : std::string();
}

Task<Lacks> find_lacks(ConformanceBench& bench) {
  Lacks lacks;
  lacks.instances = co_await why_no_instances(bench);
  lacks.load_balancers = co_await why_no_balancers(bench);
  co_return lacks;
}

// Why the step cannot be run; empty: it can.
std::string missing(Needs needs, const Capabilities& has, const Lacks& lacks) {
  if (needs == Needs::instances) return lacks.instances;
  if (needs == Needs::load_balancers) return lacks.load_balancers;
  if (needs == Needs::route_tables && has.route_tables == nullptr) {
    return "the provider has no tables of routes";
  }
  if (needs == Needs::routes && has.routes == nullptr) return "the provider has no single routes";
  if (needs != Needs::target_sets) return {};
  if (has.target_sets == nullptr) return "the provider has no target sets";
  return lacks.load_balancers;
}

Task<ConformanceStep> run_step(ConformanceBench& bench, const ConformanceCheck& check,
                               const Lacks& lacks) {
  Scope& here = co_await current_scope();
  ConformanceStep step = step_of(check);
  step.reason = missing(check.needs, bench.provider().capabilities(), lacks);
  if (here.is_cancelled()) step.reason = "the run was cut off";
  if (!step.reason.empty()) co_return step;
  const Moment begun = here.loop().now();
  const Result<> end = co_await check.run(bench);
  step.took = here.loop().now() - begun;
  ConformanceFinding finding = bench.take_finding(end);
  if (here.is_cancelled()) finding = {Verdict::skipped, "the run was cut off", {}};
  step.verdict = finding.verdict;
  step.reason = std::move(finding.reason);
  step.next_step = std::move(finding.next_step);
  co_return step;
}

// Why nothing can be asked of the cloud any more; nullopt: it can. One that limits us is there.
Task<std::optional<Error>> why_silent(ConformanceBench& bench) {
  Scope& here = co_await current_scope();
  const Result<> there =
      co_await with_timeout(bench.options().call_deadline, bench.provider().check());
  if (there || there.outcome() == Outcome::busy || here.is_cancelled()) co_return std::nullopt;
  co_return there.error();
}

// Runs them until one fails because the cloud cannot be asked: all that follow would fail alike.
// Answers whether any has run that may have made something, which the first does not.
Task<bool> run_steps(ConformanceBench& bench, const ConformanceDoors& doors,
                     ConformanceReport& report) {
  std::optional<Lacks> lacks;
  for (const ConformanceCheck& check : all_checks()) {
    if (report.broken_off) {
      report.steps.push_back(step_of(check));
      report.steps.back().reason = "the cloud cannot be asked";
      continue;
    }
    const bool is_first = report.steps.empty();
    if (!is_first && !lacks) lacks = co_await find_lacks(bench);
    ConformanceStep step = co_await run_step(bench, check, lacks.value_or(Lacks{}));
    if (step.verdict == Verdict::failed) {
      const std::optional<Error> silent = co_await why_silent(bench);
      report.broken_off = silent.has_value();
      if (silent && !is_first) step.reason += "; then " + refused_check(*silent);
    }
    if (doors.tell) doors.tell(step);
    report.steps.push_back(std::move(step));
  }
  co_return lacks.has_value();
}

}  // namespace

bool ConformanceReport::passed() const { return count(Verdict::failed) == 0 && left.empty(); }

std::size_t ConformanceReport::count(Verdict verdict) const {
  return std::ranges::count(steps, verdict, &ConformanceStep::verdict);
}

Task<ConformanceReport> run_conformance(ConformanceDoors doors, ConformanceOptions options,
                                        Uncancellable cleanup) {
  Scope& here = co_await current_scope();
  ConformanceBench bench(doors, std::move(options));
  ConformanceReport report{.cluster = bench.cluster()};
  const bool has_begun = co_await run_steps(bench, doors, report);
  ConformanceStep step = clean_up_step();
  if (!has_begun) {
    step.reason = "nothing was made";
    report.steps.push_back(std::move(step));
    co_return report;
  }

  const Moment begun = here.loop().now();
  report.left = co_await cleanup.run(bench.clean_up());
  step.took = here.loop().now() - begun;
  step.verdict = report.left.empty() ? Verdict::passed : Verdict::failed;
  for (const std::string& name : report.left) {
    step.reason += (step.reason.empty() ? "still there: " : ", ") + name;
  }
  if (!report.left.empty()) step.next_step = "take away by hand what is named";
  if (doors.tell) doors.tell(step);
  report.steps.push_back(std::move(step));
  co_return report;
}

std::vector<ConformanceStep> conformance_steps() {
  std::vector<ConformanceStep> steps;
  for (const ConformanceCheck& check : all_checks()) steps.push_back(step_of(check));
  steps.push_back(clean_up_step());
  return steps;
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::skipped:
      return "skipped";
  }
  return {};
}

}  // namespace isthmus::cloud
