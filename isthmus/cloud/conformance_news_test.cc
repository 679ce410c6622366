// Clouds that tell wrong news; the conformance test must see it.
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/cloud/conformance_testing.h"

namespace isthmus::cloud {
namespace {

Task<Result<>> follow_to_the_end(FakeProvider&, Tell tell) {
  tell({.kind = LoadBalancerNews::Kind::everything});
  co_return fail(Outcome::lost, "cut");
}

Task<Result<>> follow_without(FakeProvider& cloud, Tell tell, LoadBalancerNews::Kind missing) {
  Result<> end = co_await cloud.load_balancers.follow([tell, missing](LoadBalancerNews news) {
    if (news.kind != missing) tell(std::move(news));
  });
  co_return end;
}
Task<Result<>> follow_without_all(FakeProvider& cloud, Tell tell) {
  return follow_without(cloud, std::move(tell), LoadBalancerNews::Kind::everything);
}
Task<Result<>> follow_without_changes(FakeProvider& cloud, Tell tell) {
  return follow_without(cloud, std::move(tell), LoadBalancerNews::Kind::changed);
}
Task<Result<>> follow_without_ends(FakeProvider& cloud, Tell tell) {
  return follow_without(cloud, std::move(tell), LoadBalancerNews::Kind::removed);
}

Task<Result<>> follow_empty_handed(FakeProvider& cloud, Tell tell) {
  Result<> end = co_await cloud.load_balancers.follow([tell](LoadBalancerNews news) {
    if (news.kind == LoadBalancerNews::Kind::everything) news.states.clear();
    tell(std::move(news));
  });
  co_return end;
}

Task<Result<>> follow_backwards(FakeProvider& cloud, Tell tell) {
  Result<> end = co_await cloud.load_balancers.follow([tell](LoadBalancerNews news) {
    for (Balancer& one : news.states) one.revision = 1'000'000 - one.revision;
    tell(std::move(news));
  });
  co_return end;
}

std::vector<Mutant> mutants() {
  return {
      {.name = "stops_telling", .caught_by = "news", .follow = follow_to_the_end},
      {.name = "never_tells_everything", .caught_by = "news", .follow = follow_without_all},
      {.name = "tells_no_changes", .caught_by = "news", .follow = follow_without_changes},
      {.name = "tells_no_ends", .caught_by = "news", .follow = follow_without_ends},
      {.name = "tells_of_less_than_everything", .caught_by = "news", .follow = follow_empty_handed},
      {.name = "tells_the_old_after_the_new", .caught_by = "news", .follow = follow_backwards},
  };
}

struct conformance_news : testing::TestWithParam<Mutant>, ConformanceWorld {};

TEST_P(conformance_news, are_wrong_and_that_is_caught) { expect_caught(GetParam()); }

INSTANTIATE_TEST_SUITE_P(mutants, conformance_news, testing::ValuesIn(mutants()), mutant_name);

}  // namespace
}  // namespace isthmus::cloud
