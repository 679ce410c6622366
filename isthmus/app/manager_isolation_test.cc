// What one controller may not do stops that one alone, without a storm of calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "isthmus/app/manager_testing.h"

namespace isthmus::app {
namespace {

using kube::testing::Verb;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

class ManagerIsolationTest : public ManagerFixture {
 protected:
  void forbid(Verb verb, const std::string& plural) {
    api.inject({.verb = verb,
                .plural = plural,
                .error = {Outcome::denied, plural + " is forbidden: User \"x\" cannot do that"},
                .times = 100'000});
  }
  static std::string why(OneManager& one, std::string_view name) {
    for (const HealthCheck& check : one.manager->checks()) {
      if (check.name != name) continue;
      const Result<> answer = check.run();
      return answer ? "" : answer.error().message;
    }
    return "no such check";
  }
};

TEST_F(ManagerIsolationTest, services_that_may_not_be_read_stop_no_node) {
  forbid(Verb::list, "services");
  forbid(Verb::watch, "services");
  OneManager one(world, api, "a");
  start(one);
  pass(seconds(5));
  register_node("node1");
  pass(minutes(5));

  EXPECT_TRUE(initialized("node1"));
  EXPECT_EQ(one.check("cloud-node-controller"), Outcome::ok);
  EXPECT_EQ(one.check("watch-nodes"), Outcome::ok);
  EXPECT_THAT(why(one, "watch-services"), HasSubstr("services is forbidden"));
  EXPECT_LT(api.calls(Verb::list, "services") + api.calls(Verb::watch, "services"), 40u);

  api.heal();
  pass(minutes(2));
  EXPECT_EQ(one.check("watch-services"), Outcome::ok);
}

TEST_F(ManagerIsolationTest, a_verb_that_is_missing_is_tried_about_once_a_minute) {
  forbid(Verb::patch, "nodes");
  OneManager one(world, api, "a");
  register_node("node1");
  start(one);
  pass(minutes(10));

  EXPECT_FALSE(initialized("node1"));
  EXPECT_GT(api.calls(Verb::patch, "nodes"), 5u);
  EXPECT_LT(api.calls(Verb::patch, "nodes"), 25u);
  EXPECT_FALSE(one.answer.has_value());

  api.heal();
  pass(minutes(2));
  EXPECT_TRUE(initialized("node1"));
}

TEST_F(ManagerIsolationTest, a_controller_that_the_cloud_has_nothing_for_is_skipped_once) {
  const auto without_load_balancers = [](providers::fake::FakeProvider& provider) {
    provider.has_load_balancers = false;
  };
  OneManager one(world, api, "a", {}, without_load_balancers);
  start(one);
  register_node("node1");
  pass(minutes(1));

  EXPECT_TRUE(initialized("node1"));
  EXPECT_EQ(api.calls(Verb::watch, "services"), 0u);
  EXPECT_EQ(std::ranges::count_if(one.log.lines,
                                  [](const MemoryLogger::Line& line) {
                                    return line.text.find("service-lb-controller") !=
                                           std::string::npos;
                                  }),
            1);
}

TEST_F(ManagerIsolationTest, queues_start_in_one_order_with_the_pause_between) {
  ManagerOptions options;
  options.start_interval = seconds(10);
  OneManager one(world, api, "a", std::move(options));
  start(one);
  const auto runs = [&one](const std::string& name) {
    return one.metrics.text().find(",name=\"" + name + "\"} 1") != std::string::npos;
  };
  pass(seconds(5));
  EXPECT_TRUE(runs("cloud-node"));
  EXPECT_FALSE(runs("service"));
  pass(seconds(20));
  EXPECT_TRUE(runs("service")) << "after ten to twenty seconds";
}

TEST_F(ManagerIsolationTest, a_manager_with_nothing_to_do_says_so_and_ends) {
  const auto empty = [](providers::fake::FakeProvider& provider) {
    provider.has_instances = false;
    provider.has_load_balancers = false;
    provider.has_route_tables = false;
  };
  OneManager one(world, api, "a", {}, empty);
  start(one);
  pass(seconds(5));
  ASSERT_TRUE(one.answer.has_value());
  EXPECT_EQ(one.answer->outcome(), Outcome::unsupported);
  EXPECT_EQ(holder(), "");
}

}  // namespace
}  // namespace isthmus::app
