// What is special to each kind of cloud: one PUT and its news, or a call for each route.
#include <functional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/route_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;
using ::testing::HasSubstr;

struct route_table : testing::RouteStory {};

using Answer = Result<cloud::RouteTableState>;

// A cloud on whose road something happens to what is asked for.
class WayToCloud final : public cloud::Provider, private cloud::RouteTables {
 public:
  using Ensure = std::function<Task<Answer>(cloud::RouteTables& tables, cloud::RouteTableSpec)>;
  using Get = std::function<Task<Answer>(cloud::RouteTables& tables, std::string)>;

  WayToCloud(providers::fake::FakeProvider& cloud, Ensure ensure, Get get = get_straight)
      : cloud_(cloud), ensure_(std::move(ensure)), get_(std::move(get)) {}

  static Task<Answer> ensure_straight(cloud::RouteTables& tables, cloud::RouteTableSpec spec) {
    return tables.ensure(std::move(spec));
  }
  static Task<Answer> get_straight(cloud::RouteTables& tables, std::string name) {
    return tables.get(std::move(name));
  }

  const std::string& name() const override { return cloud_.name(); }
  const std::string& scheme() const override { return cloud_.scheme(); }
  cloud::Capabilities capabilities() override {
    cloud::Capabilities can = cloud_.capabilities();
    can.route_tables = this;
    return can;
  }
  Task<Result<>> check() override { return cloud_.check(); }

 private:
  Task<Answer> ensure(cloud::RouteTableSpec spec) override {
    return ensure_(cloud_.route_tables, std::move(spec));
  }
  Task<Answer> get(std::string name) override { return get_(cloud_.route_tables, std::move(name)); }
  Task<Result<>> release(std::string name) override {
    return cloud_.route_tables.release(std::move(name));
  }
  Task<Result<>> follow(std::string name, Tell tell) override {
    return cloud_.route_tables.follow(std::move(name), std::move(tell));
  }

  providers::fake::FakeProvider& cloud_;
  const Ensure ensure_;
  const Get get_;
};

// News is faster than the answer.
Task<Answer> answer_late(cloud::RouteTables& tables, cloud::RouteTableSpec spec) {
  Answer answer = co_await tables.ensure(std::move(spec));
  CO_TRY(co_await sleep_for(3s));
  co_return answer;
}

Task<Answer> answer_of(Answer answer) { co_return answer; }

// What was true when it was asked for.
Task<Answer> read_late(Task<Answer> asking, unsigned& under_way) {
  Answer answer = co_await std::move(asking);
  ++under_way;
  CO_TRY(co_await sleep_for(3s));
  co_return answer;
}

// A cloud whose host holds that route besides, which the table does not name.
Task<Answer> answer_with(Task<Answer> asking, cloud::RouteState orphan) {
  Answer answer = co_await std::move(asking);
  if (answer) answer->routes.push_back(std::move(orphan));
  co_return answer;
}

TEST_F(route_table, of_two_hundred_nodes_is_one_put) {
  for (int i = 0; i < 200; ++i) add_node(i);
  start();
  pass(10s);
  EXPECT_EQ(cloud.route_tables.ensures, 1U);
  EXPECT_EQ(cloud.router.standing.size(), 200U);
  EXPECT_EQ(condition(199), "False RouteCreated");
  EXPECT_EQ(patches(), 200U);
}

TEST_F(route_table, follows_a_burst_of_nodes_with_few_puts) {
  start();
  pass(1s);
  for (int i = 0; i < 200; ++i) {
    add_node(i);
    pass(50ms);
  }
  pass(15s);
  EXPECT_EQ(cloud.router.standing.size(), 200U);
  EXPECT_LE(cloud.route_tables.ensures, 3U);
}

TEST_F(route_table, is_not_asked_for_again_and_again_while_the_cloud_tells) {
  add_node(1);
  start();
  pass(10s);
  const std::size_t calls = cloud.route_tables.ensures + cloud.route_tables.gets;
  pass(2h);
  EXPECT_EQ(cloud.route_tables.ensures + cloud.route_tables.gets, calls);
}

TEST_F(route_table, is_asked_for_where_the_cloud_does_not_tell) {
  cloud.route_tables.tells = false;
  cloud.route_tables.apply_after = 3s;
  add_node(1);
  start();
  pass(20s);
  EXPECT_EQ(condition(1), "False RouteCreated");
  cloud.router.standing.clear();
  cloud.route_tables.standing.clear();
  pass(2min);
  EXPECT_EQ(routed(1), "1");
}

TEST_F(route_table, that_somebody_else_changed_is_put_right_at_once) {
  add_node(1);
  add_node(2);
  start();
  pass(10s);
  cloud.route_tables.standing.at(table_name()).spec.routes.pop_back();
  cloud.route_tables.touched(table_name(), true);
  EXPECT_EQ(routed(2), "");
  pass(1s);
  EXPECT_EQ(routed(2), "2");
}

TEST_F(route_table, that_somebody_else_changed_before_our_answer_came_is_put_right) {
  add_node(1);
  add_node(2);
  WayToCloud late(cloud, answer_late);
  manager = std::make_unique<testing::RouteManager>(world, api, late, events, random, log, brakes,
                                                    options);
  pass(1s);
  ASSERT_EQ(routed(2), "2");
  cloud.route_tables.standing.at(table_name()).spec.routes.pop_back();
  cloud.route_tables.touched(table_name(), true);
  EXPECT_EQ(routed(2), "");
  pass(10s);
  EXPECT_EQ(routed(2), "2");
  kill();
}

TEST_F(route_table, that_somebody_else_changed_while_it_was_read_is_read_again_and_put_right) {
  add_node(1);
  add_node(2);
  unsigned read = 0;
  WayToCloud slow(cloud, WayToCloud::ensure_straight,
                  [&read](cloud::RouteTables& tables, std::string name) {
                    return read_late(tables.get(std::move(name)), read);
                  });
  manager = std::make_unique<testing::RouteManager>(world, api, slow, events, random, log, brakes,
                                                    options);
  pass(20s);
  ASSERT_EQ(routed(2), "2");
  cloud.route_tables.cut_follows();
  const unsigned before = read;
  while (read == before) pass(100ms);
  cloud.route_tables.standing.at(table_name()).spec.routes.pop_back();
  cloud.route_tables.touched(table_name(), true);
  EXPECT_EQ(routed(2), "");
  pass(20s);
  EXPECT_EQ(routed(2), "2");
  kill();
}

TEST_F(route_table, that_cannot_be_read_is_read_again_before_it_is_written) {
  add_node(1);
  bool is_broken = false;
  WayToCloud broken(cloud, WayToCloud::ensure_straight,
                    [&](cloud::RouteTables& tables, std::string name) {
                      if (!is_broken) return tables.get(std::move(name));
                      return answer_of(fail(Outcome::lost, "no connection"));
                    });
  manager = std::make_unique<testing::RouteManager>(world, api, broken, events, random, log, brakes,
                                                    options);
  pass(10s);
  is_broken = true;
  cloud.route_tables.cut_follows();
  pass(10s);
  add_node(2);
  pass(1min);
  EXPECT_EQ(routed(2), "");
  is_broken = false;
  pass(2min);
  EXPECT_EQ(routed(2), "2");
  kill();
}

TEST_F(route_table, that_somebody_else_wrote_meanwhile_is_read_and_planned_anew) {
  const IpPrefix theirs = parse_prefix("10.244.9.0/24").value();
  add_machine("9");
  add_node(1);
  bool is_overtaken = false;
  WayToCloud contested(cloud, [&](cloud::RouteTables& tables, cloud::RouteTableSpec spec) {
    if (!std::exchange(is_overtaken, false)) return tables.ensure(std::move(spec));
    providers::fake::FakeRouteTable& table = cloud.route_tables.standing.at(table_name());
    table.spec.routes.push_back({.destination = theirs, .instance = {{"isthmus", "9"}}});
    ++table.generation;
    cloud.router.put(theirs, {.instance = {{"isthmus", "9"}}});
    return answer_of(fail(Outcome::conflict, "it is not as you saw it"));
  });
  manager = std::make_unique<testing::RouteManager>(world, api, contested, events, random, log,
                                                    brakes, options);
  pass(10s);
  is_overtaken = true;
  add_node(2);
  pass(10s);
  EXPECT_FALSE(is_overtaken);
  EXPECT_EQ(routed(2), "2");
  EXPECT_EQ(routed(9), "9") << "it goes as every route without a Node does: not at once";
  pass(3min);
  EXPECT_EQ(routed(9), "");
  kill();
}

// What a backend finds in its kernel after it lost its store.
TEST_F(route_table, of_which_a_route_has_no_node_and_no_machine_names_it_until_its_time_has_come) {
  const cloud::Route found{.destination = parse_prefix("10.244.9.0/24").value(),
                           .next_hop = parse_ip("10.0.0.9").value()};
  cloud.router.put(found.destination, {.next_hop = found.next_hop});
  cloud.route_tables.standing[table_name()] = {
      .spec = {.name = table_name(), .ranges = options.plan.cluster_cidrs, .routes = {found}},
      .generation = 1,
      .applied = {found.destination}};
  add_node(1);
  start();
  pass(50s);
  const std::vector<cloud::Route>& asked = cloud.route_tables.standing.at(table_name()).spec.routes;
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[1], found);
  EXPECT_EQ(routed(9), "?");
  pass(3min);
  EXPECT_EQ(routed(9), "");
  EXPECT_EQ(routed(1), "1");
}

// Its next hop lies inside of another destination, say.
TEST_F(route_table,
       that_may_not_name_what_the_host_holds_asks_for_it_seldom_and_takes_nothing_away) {
  const cloud::RouteState orphan{.destination = parse_prefix("10.244.9.0/24").value(),
                                 .next_hop = parse_ip("10.244.1.9").value(),
                                 .standing = cloud::RouteState::Standing::applied};
  cloud.route_tables.tells = false;
  cloud.route_tables.refused = {orphan.destination};
  add_node(1);
  WayToCloud holding(
      cloud,
      [&](cloud::RouteTables& tables, cloud::RouteTableSpec spec) {
        return answer_with(tables.ensure(std::move(spec)), orphan);
      },
      [&](cloud::RouteTables& tables, std::string name) {
        return answer_with(tables.get(std::move(name)), orphan);
      });
  manager = std::make_unique<testing::RouteManager>(world, api, holding, events, random, log,
                                                    brakes, options);
  pass(1min);
  const std::size_t ensures = cloud.route_tables.ensures;
  pass(1h);
  EXPECT_LE(cloud.route_tables.ensures, ensures + 7) << "as everything that is refused";
  EXPECT_FALSE(log.mentions("route taken away"));
  EXPECT_TRUE(measures("isthmus_routes_removed_total 0"));
  cloud.route_tables.refused.clear();
  pass(20min);
  EXPECT_TRUE(log.mentions("route taken away")) << "it was named, and goes as every other";
  kill();
}

TEST_F(route_table, that_is_taken_away_is_made_anew_at_once) {
  add_node(1);
  start();
  pass(10s);
  cloud.route_tables.standing.clear();
  cloud.router.standing.clear();
  cloud.route_tables.touched(table_name());
  pass(1s);
  EXPECT_EQ(routed(1), "1");
}

TEST_F(route_table, tells_of_a_link_that_fails_and_the_condition_follows_both_ways) {
  add_node(1);
  add_node(2);
  start();
  pass(10s);
  cloud.router.down.insert(parse_prefix("10.244.1.0/24").value());
  cloud.route_tables.touched(table_name());
  pass(1s);
  EXPECT_EQ(condition(1), "False RouteCreated");  // It may be back in a moment.
  pass(10s);
  EXPECT_EQ(condition(1), "True NoRouteCreated");
  EXPECT_EQ(condition(2), "False RouteCreated");
  EXPECT_EQ(text("node1", "/status/conditions/0/message"),
            "Could not create route 10.244.1.0/24 for node node1: LinkDown: the link to the next "
            "hop is down");
  EXPECT_EQ(events.count("Warning FailedToCreateRoute node1"), 1U);
  cloud.router.down.clear();
  cloud.route_tables.touched(table_name());
  pass(1s);
  EXPECT_EQ(condition(1), "False RouteCreated");
}

TEST_F(route_table, that_takes_its_time_makes_no_node_unavailable_meanwhile) {
  cloud.route_tables.apply_after = 3s;
  add_node(1);
  start();
  pass(10s);
  EXPECT_EQ(patches(), 1U);
  add_node(2);
  pass(10s);
  EXPECT_EQ(patches(), 2U);
  EXPECT_EQ(events.lines.size(), 0U);
  EXPECT_EQ(condition(2), "False RouteCreated");
}

TEST_F(route_table, that_takes_too_long_and_does_not_say_why_is_told_of_in_words) {
  cloud.route_tables.apply_after = 1h;
  add_node(1);
  start();
  pass(1min);
  EXPECT_EQ(events.count("Warning FailedToCreateRoute node1: Could not create route 10.244.1.0/24 "
                         "for node node1: the cloud has not put it in force yet"),
            1U);
}

TEST_F(route_table, that_is_denied_says_nothing_about_anybodys_network) {
  cloud.faults.error = Error{Outcome::denied, "infra.yaml gives this owner no routes"};
  add_node(1);
  start();
  pass(30min);
  EXPECT_EQ(patches(), 0U);
  EXPECT_EQ(events.count("Warning FailedToCreateRoute node1"), 1U);
  EXPECT_THAT(events.lines[0], HasSubstr("gives this owner no routes"));
  cloud.faults = {};
  pass(2min);
  EXPECT_EQ(condition(1), "False RouteCreated");
}

TEST_F(route_table, of_a_cloud_that_has_none_after_all_is_asked_for_seldom) {
  cloud.route_tables.supported = false;
  add_node(1);
  start();
  pass(30min);
  EXPECT_EQ(patches(), 0U);
  EXPECT_LE(cloud.route_tables.gets + cloud.route_tables.ensures, 10U);
  cloud.route_tables.supported = true;
  pass(15min);
  EXPECT_EQ(routed(1), "1");
}

TEST_F(route_table, keeps_what_stands_outside_of_cidrs_that_were_given_wrongly) {
  add_node(1);
  start();
  pass(10s);
  kill();
  options.plan.cluster_cidrs = parse_cluster_cidrs("10.9.0.0/16").value();
  start();
  pass(30min);
  EXPECT_EQ(routed(1), "1");
  EXPECT_EQ(condition(1), "False RouteCreated");
  EXPECT_EQ(events.count("Warning PodCIDROutsideClusterCIDR node1"), 1U);
}

TEST_F(route_table, whose_answer_was_lost_is_written_again_and_stands_once) {
  add_node(1);
  cloud.faults.answers_lost = 2;
  start();
  pass(1min);
  EXPECT_EQ(condition(1), "False RouteCreated");
  EXPECT_EQ(cloud.router.standing.size(), 1U);
}

struct route_single : testing::RouteStory {
  route_single() { by_single_routes(); }
};

TEST_F(route_single, calls_are_as_many_at_once_as_there_are_workers) {
  cloud.faults.delay = 1s;
  for (int i = 0; i < 50; ++i) add_node(i);
  start();
  pass(1min);
  EXPECT_EQ(cloud.router.standing.size(), 50U);
  EXPECT_LE(cloud.most_in_flight, 10U);
}

TEST_F(route_single, that_fails_backs_off_alone) {
  cloud.router.standing[parse_prefix("10.244.1.0/24").value()] = {.is_foreign = true};
  add_node(1);
  add_node(2);
  start();
  pass(1h);
  EXPECT_EQ(routed(2), "2");
  // One for node2; node1 at 1, 2, 4 … 120 s, and with each comparison.
  EXPECT_LE(cloud.routes.ensures, 120U);
  EXPECT_EQ(events.count("FailedToCreateRoute"), 1U);
}

TEST_F(route_single, list_that_is_partial_takes_nothing_away) {
  for (int i = 1; i <= 4; ++i) add_node(i);
  start();
  pass(10s);
  cloud.faults.list_only = 2;
  remove_node(1);
  pass(30min);
  EXPECT_EQ(routed(1), "1");
  EXPECT_EQ(events.count("RouteRemovalWithheld"), 1U);
  cloud.faults.list_only.reset();
  pass(3min);
  EXPECT_EQ(routed(1), "");
}

TEST_F(route_single, that_went_away_by_other_hands_is_made_again_within_a_period) {
  add_node(1);
  start();
  pass(10s);
  cloud.router.standing.clear();
  pass(70s);
  EXPECT_EQ(routed(1), "1");
}

}  // namespace
}  // namespace isthmus::controllers
