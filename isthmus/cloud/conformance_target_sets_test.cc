// Clouds that are wrong about target sets; the conformance test must see it.
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/cloud/conformance_testing.h"

namespace isthmus::cloud {
namespace {

using Spec = LoadBalancerSpec;

Task<Result<>> set_once(FakeProvider& cloud, TargetSetSpec spec) {
  if (cloud.target_sets.standing.contains(spec.name)) co_return {};
  Result<> made = co_await cloud.target_sets.ensure(std::move(spec));
  co_return made;
}

Task<Result<>> set_may_not_stand(FakeProvider& cloud, TargetSetSpec spec) {
  if (cloud.target_sets.standing.contains(spec.name)) co_return fail(Outcome::conflict, "exists");
  Result<> made = co_await cloud.target_sets.ensure(std::move(spec));
  co_return made;
}

Task<Result<>> set_is_invalid(FakeProvider&, TargetSetSpec) {
  co_return fail(Outcome::invalid, "no such path");
}

Task<Result<>> set_with_generations(FakeProvider& cloud, TargetSetSpec spec) {
  const std::size_t writes = cloud.target_sets.writes;
  Result<> made = co_await cloud.target_sets.ensure(std::move(spec));
  if (cloud.target_sets.writes == writes) co_return made;
  for (const auto& [name, balancer] : cloud.load_balancers.standing) {
    cloud.load_balancers.touched(name, true);
  }
  co_return made;
}

Task<Result<>> set_goes(FakeProvider& cloud, std::string name) {
  cloud.target_sets.standing.erase(name);
  co_return {};
}

Task<Result<>> set_goes_in_silence(FakeProvider& cloud, std::string name) {
  Result<> released = co_await cloud.target_sets.release(name);
  cloud.target_sets.standing.erase(name);
  co_return released;
}

Task<Result<>> set_was_absent(FakeProvider& cloud, std::string name) {
  if (!cloud.target_sets.standing.contains(name)) co_return fail(Outcome::absent, "404");
  Result<> released = co_await cloud.target_sets.release(std::move(name));
  co_return released;
}

Task<Result<TargetSetPreview>> preview_writes(FakeProvider& cloud, TargetSetSpec spec) {
  Result<TargetSetPreview> preview = co_await cloud.target_sets.preview(spec);
  CO_TRY(co_await cloud.target_sets.ensure(std::move(spec)));
  co_return preview;
}

Task<Result<TargetSetPreview>> preview_of_a_new_one(FakeProvider&, TargetSetSpec) {
  co_return TargetSetPreview{.effect = LoadBalancerPreview::Effect::created};
}

// Only the first of those that use the set hears of it.
Task<Result<Balancer>> get_stale(FakeProvider& cloud, std::string name) {
  Result<Balancer> got = co_await cloud.load_balancers.get(name);
  const bool is_first = name == cloud.load_balancers.standing.begin()->first;
  if (got && !is_first && !cloud.load_balancers.standing.at(name).spec.target_set.empty()) {
    got->targets = 1;
  }
  co_return got;
}

std::vector<Mutant> mutants() {
  return {
      {.name = "never_changes_a_set", .caught_by = "set-changed", .ensure_set = set_once},
      {.name = "makes_a_set_once", .caught_by = "targets-by-set", .ensure_set = set_may_not_stand},
      {.name = "calls_sets_invalid", .caught_by = "targets-by-set", .ensure_set = set_is_invalid},
      {.name = "counts_changes_of_a_set",
       .caught_by = "set-changed",
       .ensure_set = set_with_generations},
      {.name = "changes_one_user_of_a_set", .caught_by = "set-changed", .get = get_stale},
      {.name = "makes_a_set_by_its_preview",
       .caught_by = "set-preview",
       .preview_set = preview_writes},
      {.name = "takes_every_set_for_a_new_one",
       .caught_by = "set-preview",
       .preview_set = preview_of_a_new_one},
      {.name = "releases_a_used_set", .caught_by = "set-in-use", .release_set = set_goes},
      {.name = "empties_a_used_set", .caught_by = "set-in-use", .release_set = set_goes_in_silence},
      {.name = "cannot_release_a_set_twice",
       .caught_by = "set-in-use",
       .release_set = set_was_absent},
  };
}

struct conformance_target_sets : testing::TestWithParam<Mutant>, ConformanceWorld {};

TEST_P(conformance_target_sets, are_wrong_and_that_is_caught) { expect_caught(GetParam()); }

INSTANTIATE_TEST_SUITE_P(mutants, conformance_target_sets, testing::ValuesIn(mutants()),
                         mutant_name);

}  // namespace
}  // namespace isthmus::cloud
