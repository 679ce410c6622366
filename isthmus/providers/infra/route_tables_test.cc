#include "isthmus/providers/infra/route_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/infra/api/watch_event.h"
#include "isthmus/providers/infra/server_testing.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::json_answer;
using ::testing::Not;
using testing::problem_answer;
using Standing = cloud::RouteState::Standing;

const std::string kPath = "/v1/owners/prod/routetables/pods";
const std::string kListPath = "/v1/owners/prod/routetables?limit=4";

IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

// One of the owner "prod" whose two routes are applied.
api::RouteTable a_table() {
  api::RouteTable table;
  table.metadata = {.owner = "prod", .name = "pods", .uid = "u1", .generation = 1, .revision = 7};
  table.spec.cluster_cidrs = {prefix("10.244.0.0/16")};
  table.spec.routes = {{.destination = prefix("10.244.1.0/24"), .instance = "m1"},
                       {.destination = prefix("10.244.2.0/24"), .instance = "m2"}};
  table.status.observed_generation = 1;
  table.status.applied_generation = 1;
  for (const api::RouteEntry& route : table.spec.routes) {
    table.status.routes.push_back(
        {.destination = route.destination, .state = api::RouteState::applied});
  }
  return table;
}

struct route_tables : testing::ScriptedProvider {
  route_tables() {
    api::ServerInfo info = testing::whole_server();
    info.capabilities.emplace_back("routeTables");
    server.greet(info);
  }
  Result<cloud::RouteTableState> ensure() { return world.run(tables.ensure(spec)); }

  InfraRouteTables tables{objects, handshake, "isthmus"};
  cloud::RouteTableSpec spec{
      .name = "pods",
      .ranges = {prefix("10.244.0.0/16")},
      .routes = {{.destination = prefix("10.244.1.0/24"), .instance = {{"isthmus", "m1"}}},
                 {.destination = prefix("10.244.2.0/24"), .instance = {{"isthmus", "m2"}}}}};
};

TEST_F(route_tables, are_ensured_by_one_put) {
  server.answer("PUT " + kPath, json_answer(encode(a_table()), 201));
  const auto state = ensure();
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_TRUE(state->settled);
  EXPECT_EQ(state->routes[1].standing, Standing::applied);
  EXPECT_EQ(state->routes[1].instance, (cloud::ProviderId{"isthmus", "m2"}));
  EXPECT_THAT(server.seen, ElementsAre("GET /v1", "PUT " + kPath));
  EXPECT_THAT(server.last.body, HasSubstr(R"("destination":"10.244.1.0/24","instance":"m1")"));
}

// A server that refuses the second route as long as it is asked for.
struct RefusesOne final : net::Transport {
  RefusesOne(net::Transport& next_, std::string pointer_)
      : next(next_), pointer(std::move(pointer_)) {}
  Task<Result<net::Response>> call(net::Request request) override {
    if (request.method == "PUT" && request.body.find("10.244.2.0/24") != std::string::npos) {
      ++refusals;
      api::Problem problem = api::make_problem(api::problem::invalid_spec, "wrong");
      problem.errors = {{.pointer = pointer, .detail = "no machine has this address"}};
      co_return problem_answer(problem);
    }
    Result<net::Response> answer = co_await next.call(std::move(request));
    co_return answer;
  }
  Task<Result<net::StreamedResponse>> open(net::Request request) override {
    return next.open(std::move(request));
  }
  net::Transport& next;
  const std::string pointer;
  int refusals = 0;
};

TEST_F(route_tables, stand_without_the_route_that_is_refused) {
  api::RouteTable without = a_table();
  without.spec.routes.pop_back();
  without.status.routes.pop_back();
  server.answer("PUT " + kPath, json_answer(encode(without)));
  RefusesOne wire(server, "/spec/routes/1/nextHop");
  ObjectsClient client(wire, world.loop);
  InfraRouteTables refusing(client, handshake, "isthmus");
  const auto state = world.run(refusing.ensure(spec));
  ASSERT_TRUE(state) << state.error().message;
  ASSERT_EQ(state->routes.size(), 2U);
  EXPECT_EQ(state->routes[0].standing, Standing::applied);
  EXPECT_EQ(state->routes[1].standing, Standing::refused);
  EXPECT_EQ(state->routes[1].message, "no machine has this address");
  EXPECT_EQ(wire.refusals, 1);
}

TEST_F(route_tables, that_are_wrong_as_a_whole_are_invalid_and_not_asked_for_again) {
  RefusesOne wire(server, "/spec/clusterCIDRs/0");
  ObjectsClient client(wire, world.loop);
  InfraRouteTables refusing(client, handshake, "isthmus");
  EXPECT_EQ(world.run(refusing.ensure(spec)).outcome(), Outcome::invalid);
  EXPECT_EQ(wire.refusals, 1);
}

TEST_F(route_tables, of_which_a_route_is_refused_that_was_not_asked_for_are_a_lost_answer) {
  RefusesOne wire(server, "/spec/routes/7");
  ObjectsClient client(wire, world.loop);
  InfraRouteTables refusing(client, handshake, "isthmus");
  EXPECT_EQ(world.run(refusing.ensure(spec)).outcome(), Outcome::lost);
}

TEST_F(route_tables, that_we_may_not_have_are_denied_and_of_others_a_conflict) {
  server.answer("PUT " + kPath, problem_answer(api::problem::routes_not_allowed));
  EXPECT_EQ(ensure().outcome(), Outcome::denied);
  server.answer("PUT " + kPath, problem_answer(api::problem::cluster_cidr_in_use));
  EXPECT_EQ(ensure().outcome(), Outcome::conflict);
}

net::Response versioned(api::RouteTable table) {
  net::Response response = json_answer(encode(table));
  response.headers.set("ETag", std::to_string(table.metadata.revision));
  return response;
}

// What is asked for was decided by what stood.
TEST_F(route_tables, that_somebody_else_has_written_are_read_before_they_are_asked_for_again) {
  server.answer("GET " + kPath, versioned(a_table()));
  ASSERT_TRUE(world.run(tables.get("pods")));
  server.answer("PUT " + kPath, problem_answer(api::problem::revision_conflict));
  server.seen.clear();
  EXPECT_EQ(ensure().outcome(), Outcome::conflict);
  EXPECT_EQ(server.last.headers.find("If-Match"), "7");
  EXPECT_EQ(ensure().outcome(), Outcome::conflict);
  EXPECT_EQ(server.last.headers.find("If-Match"), "7") << "nobody has read it meanwhile";
  EXPECT_THAT(server.seen, Not(Contains("GET " + kPath)));

  api::RouteTable theirs = a_table();
  theirs.metadata.revision = 9;
  server.answer("GET " + kPath, versioned(theirs));
  ASSERT_TRUE(world.run(tables.get("pods")));
  server.answer("PUT " + kPath, versioned(theirs));
  EXPECT_TRUE(ensure());
  EXPECT_EQ(server.last.headers.find("If-Match"), "9");
}

TEST_F(route_tables, that_were_not_there_are_made_only_if_nobody_else_has_made_them_meanwhile) {
  server.answer("PUT " + kPath, problem_answer(api::problem::unavailable));
  EXPECT_FALSE(ensure());
  EXPECT_EQ(server.last.headers.find("If-None-Match"), std::nullopt) << "nobody has looked";

  server.answer("GET " + kPath, problem_answer(api::problem::route_table_not_found, kPath));
  EXPECT_EQ(world.run(tables.get("pods")).outcome(), Outcome::absent);
  server.answer("PUT " + kPath, problem_answer(api::problem::revision_conflict));
  EXPECT_EQ(ensure().outcome(), Outcome::conflict);
  EXPECT_EQ(server.last.headers.find("If-None-Match"), "*");
  EXPECT_EQ(server.last.headers.find("If-Match"), std::nullopt);

  server.answer("GET " + kPath, versioned(a_table()));
  ASSERT_TRUE(world.run(tables.get("pods")));
  server.answer("PUT " + kPath, versioned(a_table()));
  ASSERT_TRUE(ensure());
  EXPECT_EQ(server.last.headers.find("If-None-Match"), std::nullopt);
  EXPECT_EQ(server.last.headers.find("If-Match"), "7");
}

TEST_F(route_tables, that_we_have_made_are_expected_to_stand) {
  server.answer("GET " + kPath, problem_answer(api::problem::route_table_not_found, kPath));
  EXPECT_EQ(world.run(tables.get("pods")).outcome(), Outcome::absent);
  server.answer("PUT " + kPath, versioned(a_table()));
  ASSERT_TRUE(ensure());
  EXPECT_EQ(server.last.headers.find("If-None-Match"), "*");
  ASSERT_TRUE(ensure());
  EXPECT_EQ(server.last.headers.find("If-None-Match"), std::nullopt);
  EXPECT_EQ(server.last.headers.find("If-Match"), "7");
}

TEST_F(route_tables, of_another_name_are_a_lost_answer) {
  api::RouteTable other = a_table();
  other.metadata.name = "other";
  server.answer("PUT " + kPath, json_answer(encode(other)));
  server.answer("GET " + kPath, json_answer(encode(other)));
  EXPECT_EQ(ensure().outcome(), Outcome::lost);
  EXPECT_EQ(world.run(tables.get("pods")).outcome(), Outcome::lost);
}

TEST_F(route_tables, are_absent_only_when_the_server_says_so_of_this_very_one) {
  server.answer("GET " + kPath, problem_answer(api::problem::route_table_not_found, kPath));
  EXPECT_EQ(world.run(tables.get("pods")).outcome(), Outcome::absent);
  server.answer("GET " + kPath, problem_answer(api::problem::path_not_found, kPath));
  EXPECT_NE(world.run(tables.get("pods")).outcome(), Outcome::absent);
  server.answer("GET " + kPath, testing::html_answer(404));
  EXPECT_EQ(world.run(tables.get("pods")).outcome(), Outcome::lost);
}

TEST_F(route_tables, are_gone_when_their_routes_are) {
  server.answer("DELETE " + kPath, json_answer(encode(a_table()), 202));
  EXPECT_EQ(world.run(tables.release("pods")).outcome(), Outcome::busy);
  server.answer("DELETE " + kPath, problem_answer(api::problem::route_table_not_found, kPath));
  EXPECT_TRUE(world.run(tables.release("pods")));
}

TEST_F(route_tables, are_unsupported_by_a_server_without) {
  server.greet(testing::whole_server());
  EXPECT_EQ(ensure().outcome(), Outcome::unsupported);
  EXPECT_THAT(ensure().error().message, HasSubstr("the server makes no routes"));
}

TEST_F(route_tables, are_followed_from_a_list_on_and_others_are_passed_over) {
  api::RouteTableList list;
  list.items = {a_table()};
  list.revision = 7;
  server.answer("GET " + kListPath, json_answer(encode(list)));
  api::RouteTable changed = a_table();
  changed.metadata.generation = 2;
  api::RouteTable other = a_table();
  other.metadata.name = "other";
  const auto line = [](api::WatchEvent::Type type, api::RouteTable table) {
    api::WatchEvent event{.type = type, .revision = 8};
    event.route_table = std::move(table);
    return encode(event) + "\n";
  };
  server.streams["GET /v1/owners/prod/watch?from=7"] = {
      line(api::WatchEvent::Type::changed, other), line(api::WatchEvent::Type::changed, changed),
      line(api::WatchEvent::Type::removed, changed), std::string()};
  std::vector<std::string> told;
  const Result<> ended =
      world.run(tables.follow("pods", [&told](std::optional<cloud::RouteTableState> table) {
        told.push_back(table ? std::to_string(table->generation) : "gone");
      }));
  EXPECT_EQ(ended.outcome(), Outcome::lost);
  EXPECT_THAT(told, ElementsAre("1", "2", "gone"));
}

TEST_F(route_tables, that_are_not_there_are_told_first) {
  server.answer("GET " + kListPath, json_answer(encode(api::RouteTableList{.revision = 3})));
  server.streams["GET /v1/owners/prod/watch?from=3"] = {std::string()};
  std::vector<bool> told;
  (void)world.run(tables.follow("pods", [&told](std::optional<cloud::RouteTableState> table) {
    told.push_back(table.has_value());
  }));
  EXPECT_THAT(told, ElementsAre(false));
}

}  // namespace
}  // namespace isthmus::providers::infra
