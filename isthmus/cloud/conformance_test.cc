#include "isthmus/cloud/conformance.h"

#include <map>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/cloud/conformance_testing.h"
#include "isthmus/cloud/guarded_provider.h"

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;
using Verdict = ConformanceStep::Verdict;

struct conformance : testing::Test, ConformanceWorld {
  // The names of the steps of that verdict, with why.
  static std::map<std::string, std::string> all(const ConformanceReport& report, Verdict verdict) {
    std::map<std::string, std::string> found;
    for (const ConformanceStep& one : report.steps) {
      if (one.verdict == verdict) found[one.name] = one.reason;
    }
    return found;
  }
  static std::map<std::string, std::string> none() { return {}; }

  // With the names of the steps that were told, in their order.
  ConformanceReport run_telling(std::vector<std::string>& told,
                                std::function<void(const ConformanceStep&)> also = {}) {
    const auto tell = [&told, also](const ConformanceStep& one) {
      told.push_back(one.name);
      if (also) also(one);
    };
    return world.run(run_conformance({.provider = cloud, .random = random, .tell = tell}, {},
                                     Uncancellable(outliving)));
  }
};

TEST_F(conformance, passes_with_everything_and_leaves_nothing_behind) {
  LoadBalancerSpec theirs{.name = "theirs",
                          .listeners = {{.name = "http", .port = 80, .target_port = 30080}}};
  ASSERT_TRUE(world.run(cloud.load_balancers.ensure(theirs)));
  world.advance(1s);
  const auto before = world.run(cloud.load_balancers.list());
  const auto held = cloud.load_balancers.pool.holders;
  FakeProvider stranger;
  stranger.load_balancers.owner = "stranger";
  stranger.load_balancers.share_pool_of(cloud.load_balancers);
  stranger.route_tables.share_ranges_with(cloud.route_tables);

  const ConformanceReport report = run(cloud, {}, &stranger);

  EXPECT_EQ(all(report, Verdict::failed), none());
  EXPECT_EQ(all(report, Verdict::skipped), none());
  EXPECT_TRUE(report.passed());
  EXPECT_TRUE(report.left.empty());
  EXPECT_EQ(world.run(cloud.load_balancers.list()), before);
  EXPECT_EQ(cloud.load_balancers.pool.holders, held);
  EXPECT_TRUE(cloud.target_sets.standing.empty());
  EXPECT_TRUE(stranger.load_balancers.standing.empty());
}

TEST_F(conformance, passes_on_a_cloud_that_does_everything_at_once) {
  cloud.load_balancers.settle_after = 0s;
  cloud.load_balancers.release_takes = 0s;
  cloud.route_tables.apply_after = 0s;
  EXPECT_EQ(all(run(cloud), Verdict::failed), none());
}

TEST_F(conformance, passes_through_the_guard_and_on_a_slow_cloud) {
  cloud.faults.delay = 300ms;
  Metrics metrics;
  NullLogger log;
  GuardedProvider guarded(cloud, {}, world.loop, metrics, log);
  EXPECT_EQ(all(run(guarded), Verdict::failed), none());
}

TEST_F(conformance, skips_what_a_cloud_is_without) {
  cloud.has_target_sets = false;
  cloud.has_routes = false;
  cloud.load_balancers.tells = false;
  cloud.route_tables.tells = false;
  const ConformanceReport report = run(cloud);
  EXPECT_TRUE(report.passed());
  const auto skipped = all(report, Verdict::skipped);
  EXPECT_EQ(skipped.size(), 10U);
  for (const std::string name : {"targets-by-set", "set-changed", "set-preview", "set-in-use",
                                 "news", "routes-news", "route-made", "route-released"}) {
    EXPECT_TRUE(skipped.contains(name)) << name;
    EXPECT_FALSE(skipped.at(name).empty()) << name;
  }
  EXPECT_TRUE(skipped.contains("other-owner"));
  EXPECT_TRUE(skipped.contains("routes-other-owner"));
}

TEST_F(conformance, takes_target_sets_that_are_unsupported_for_missing_ones) {
  cloud.target_sets.supported = false;
  const ConformanceReport report = run(cloud);
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(step(report, "targets-by-set").verdict, Verdict::skipped);
  EXPECT_EQ(step(report, "set-changed").verdict, Verdict::skipped);
}

TEST_F(conformance, takes_what_a_cloud_is_without_for_missing_and_leaves_nothing_behind) {
  Mutant without{.name = "without"};
  without.ensure = [](FakeProvider&, LoadBalancerSpec) -> Task<Result<Balancer>> {
    co_return fail(Outcome::unsupported, "this cloud has none");
  };
  without.release = [](FakeProvider&, std::string) -> Task<Result<>> {
    co_return fail(Outcome::unsupported, "this cloud has none");
  };
  without.get = [](FakeProvider&, std::string) -> Task<Result<Balancer>> {
    co_return fail(Outcome::unsupported, "this cloud has none");
  };
  without.list = [](FakeProvider&) -> Task<Result<Balancers>> {
    co_return fail(Outcome::unsupported, "this cloud has none");
  };
  MutantProvider provider(cloud, without);
  const ConformanceReport report = run(provider);
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(step(report, "create").verdict, Verdict::skipped);
  EXPECT_EQ(step(report, "create").reason, "this cloud has none");
  EXPECT_EQ(step(report, "instances-list").verdict, Verdict::passed);
}

TEST_F(conformance, of_a_cloud_without_anything_skips_nearly_all) {
  cloud.has_instances = false;
  cloud.has_load_balancers = false;
  cloud.has_target_sets = false;
  const ConformanceReport report = run(cloud);
  EXPECT_EQ(report.count(Verdict::passed), 2U);
  EXPECT_EQ(report.count(Verdict::failed), 0U);
}

TEST_F(conformance, needs_no_more_than_two_addresses) {
  cloud.load_balancers.pool.set_addresses({"192.0.2.1", "192.0.2.2"});
  const ConformanceReport report = run(cloud);
  EXPECT_EQ(all(report, Verdict::failed), none());
  EXPECT_EQ(step(report, "changes-address").verdict, Verdict::passed);
  EXPECT_EQ(step(report, "changes-families").verdict, Verdict::skipped);
}

TEST_F(conformance, loses_the_answer_on_the_way_where_it_can) {
  ConformanceOptions options;
  options.lose_answers = [this](bool on) { cloud.faults.answers_lost = on ? 1 : 0; };
  EXPECT_EQ(all(run(cloud, options), Verdict::failed), none());
  options.lose_answers = [](bool) {};
  EXPECT_EQ(step(run(cloud, options), "answer-lost").verdict, Verdict::failed);
}

TEST_F(conformance, is_asked_to_slow_down_and_does) {
  cloud.faults.calls_until_limit = 30;
  cloud.faults.busy_for = 5s;
  Scope relief(world.loop);
  relief.spawn(
      [](FakeProvider* limited) -> Task<Result<>> {
        CO_TRY(co_await sleep_for(12s));
        limited->faults.calls_until_limit.reset();
        co_return {};
      },
      &cloud);
  EXPECT_EQ(all(run(cloud), Verdict::failed), none());
}

TEST_F(conformance, that_is_cut_off_skips_the_rest_and_still_takes_away_what_it_made) {
  Result<ConformanceReport> report =
      world.run(with_timeout(3s, [](ConformanceWorld* self) -> Task<Result<ConformanceReport>> {
        ConformanceReport cut = co_await run_conformance(
            {.provider = self->cloud, .random = self->random}, {}, Uncancellable(self->outliving));
        co_return cut;
      }(this)));
  ASSERT_TRUE(report);
  EXPECT_EQ(step(*report, "set-in-use").reason, "the run was cut off");
  EXPECT_EQ(step(*report, "check").verdict, Verdict::passed);
  EXPECT_TRUE(report->passed());
  EXPECT_TRUE(cloud.load_balancers.standing.empty());
}

TEST_F(conformance, fails_where_nothing_can_be_released_and_says_what_is_left) {
  MutantProvider dead(cloud, {.name = "cannot release",
                              .release = [](FakeProvider&, std::string) -> Task<Result<>> {
                                co_return fail(Outcome::lost, "cut");
                              }});
  const ConformanceReport report = run(dead);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.left.size(), 3U);  // Both load balancers, and the set that they use.
  EXPECT_EQ(step(report, "clean-up").verdict, Verdict::failed);
}

TEST_F(conformance, of_a_cloud_that_is_not_there_is_broken_off_at_the_first_answer) {
  cloud.faults.error = Error{Outcome::lost, "nobody answers"};
  std::vector<std::string> told;
  const ConformanceReport report = run_telling(told);
  EXPECT_THAT(told, testing::ElementsAre("check"));
  EXPECT_EQ(step(report, "check").reason, "check was answered with lost: nobody answers");
  EXPECT_TRUE(report.broken_off);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.count(Verdict::failed), 1U);
  EXPECT_EQ(report.steps.size(), conformance_steps().size());
  EXPECT_EQ(report.left, std::vector<std::string>());
  EXPECT_EQ(cloud.lists + cloud.gets + cloud.load_balancers.gets + cloud.load_balancers.releases,
            0U);
}

TEST_F(conformance, of_a_cloud_that_goes_away_is_broken_off_and_says_what_may_be_left) {
  std::vector<std::string> told;
  const ConformanceReport report = run_telling(told, [this](const ConformanceStep& one) {
    if (one.name == "ensure-twice") cloud.faults.error = Error{Outcome::lost, "nobody answers"};
  });
  EXPECT_EQ(told.back(), "clean-up");
  EXPECT_EQ(told[told.size() - 2], "answer-lost");
  EXPECT_THAT(step(report, "answer-lost").reason,
              testing::EndsWith("; then check was answered with lost: nobody answers"));
  EXPECT_EQ(step(report, "caller-gone").reason, "the cloud cannot be asked");
  EXPECT_TRUE(report.broken_off);
  EXPECT_FALSE(report.left.empty());
}

TEST_F(conformance, goes_on_where_one_step_failed_and_the_cloud_is_still_there) {
  cloud.faults.error = Error{Outcome::lost, "cut"};
  cloud.faults.errors = 1;
  const ConformanceReport report = run(cloud);
  EXPECT_EQ(report.count(Verdict::failed), 1U);
  EXPECT_EQ(step(report, "check").reason, "check was answered with lost: cut");
  EXPECT_FALSE(report.broken_off);
  EXPECT_EQ(step(report, "routes-released").verdict, Verdict::passed);
}

TEST_F(conformance, tells_each_step_as_it_ends_and_names_all_beforehand) {
  std::vector<std::string> told;
  const ConformanceReport report = run_telling(told);
  const std::vector<ConformanceStep> known = conformance_steps();
  ASSERT_EQ(told.size(), known.size());
  ASSERT_EQ(report.steps.size(), known.size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < known.size(); ++i) {
    EXPECT_EQ(told[i], known[i].name);
    EXPECT_EQ(report.steps[i].checks, known[i].checks);
    EXPECT_FALSE(known[i].checks.empty());
    EXPECT_TRUE(names.insert(known[i].name).second) << known[i].name;
  }
}

}  // namespace
}  // namespace isthmus::cloud
