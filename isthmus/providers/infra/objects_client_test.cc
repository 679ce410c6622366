#include "isthmus/providers/infra/objects_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/infra/server_testing.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using ::testing::ElementsAre;
using testing::json_answer;
using testing::problem_answer;
using testing::ready_balancer;

const std::string kPath = "/v1/owners/prod/loadbalancers/web";

struct objects_client : ::testing::Test {
  ObjectsClient::Wish wish(std::vector<IpAddress> preferred = {}) {
    return {.id = {"prod", "web"},
            .body = encode_input(ready_balancer()),
            .preferred = std::move(preferred)};
  }
  Outcome put() { return world.run(client.put(wish())).outcome(); }
  Outcome get() { return world.run(client.balancer({"prod", "web"})).outcome(); }
  Outcome remove() { return world.run(client.remove_balancer({"prod", "web"})).outcome(); }

  VirtualWorld world;
  testing::ScriptedServer server;
  ObjectsClient client{server, world.loop};
};

TEST_F(objects_client, writes_a_load_balancer_with_one_put) {
  server.answer("PUT " + kPath, json_answer(encode(ready_balancer()), 201));
  const auto put = world.run(client.put(wish()));
  ASSERT_TRUE(put) << put.error().message;
  EXPECT_EQ(*put, ready_balancer());
  EXPECT_EQ(server.last.body, encode_input(ready_balancer()));
  EXPECT_EQ(server.last.headers.find("Content-Type"), "application/json");
  EXPECT_THAT(server.seen, ElementsAre("PUT " + kPath));
}

net::Response versioned(net::Response response, std::string tag) {
  response.headers.set("ETag", std::move(tag));
  return response;
}

TEST_F(objects_client, writes_over_what_it_has_seen_only_as_it_was_seen) {
  server.answer("PUT " + kPath, versioned(json_answer(encode(ready_balancer()), 201), "\"7\""));
  EXPECT_EQ(put(), Outcome::ok);
  EXPECT_EQ(server.last.headers.find("If-Match"), std::nullopt) << "nothing was seen yet";
  server.answer("PUT " + kPath, versioned(json_answer(encode(ready_balancer())), "\"8\""));
  EXPECT_EQ(put(), Outcome::ok);
  EXPECT_EQ(server.last.headers.find("If-Match"), "\"7\"");
  server.answer("DELETE " + kPath, problem_answer(api::problem::unavailable));
  EXPECT_NE(remove(), Outcome::ok);
  EXPECT_EQ(server.last.headers.find("If-Match"), "\"8\"");
}

TEST_F(objects_client, looks_before_it_writes_over_what_somebody_else_has_written) {
  server.answer("GET " + kPath, versioned(json_answer(encode(ready_balancer())), "\"7\""));
  EXPECT_EQ(get(), Outcome::ok);
  server.answer("GET " + kPath, versioned(json_answer(encode(ready_balancer())), "\"9\""));
  server.answer("PUT " + kPath, problem_answer(api::problem::revision_conflict));
  server.seen.clear();
  EXPECT_EQ(put(), Outcome::conflict);
  EXPECT_THAT(server.seen, ElementsAre("PUT " + kPath, "GET " + kPath, "PUT " + kPath));
  EXPECT_EQ(server.last.headers.find("If-Match"), "\"9\"");
}

TEST_F(objects_client, makes_anew_what_somebody_else_has_removed) {
  server.answer("GET " + kPath, versioned(json_answer(encode(ready_balancer())), "\"7\""));
  EXPECT_EQ(get(), Outcome::ok);
  server.answer("GET " + kPath, problem_answer(api::problem::load_balancer_not_found, kPath));
  server.answer("PUT " + kPath, problem_answer(api::problem::revision_conflict));
  EXPECT_EQ(put(), Outcome::conflict);
  EXPECT_EQ(server.last.headers.find("If-Match"), std::nullopt);
}

TEST_F(objects_client, expects_nothing_of_what_it_has_removed_itself) {
  server.answer("PUT " + kPath, versioned(json_answer(encode(ready_balancer())), "\"7\""));
  EXPECT_EQ(put(), Outcome::ok);
  server.answer("DELETE " + kPath, versioned(json_answer(encode(ready_balancer())), "\"8\""));
  EXPECT_EQ(remove(), Outcome::busy);
  EXPECT_EQ(put(), Outcome::ok);
  EXPECT_EQ(server.last.headers.find("If-Match"), std::nullopt);
}

TEST_F(objects_client, names_what_it_asks_for_so_that_it_is_no_other_path) {
  EXPECT_EQ(world.run(client.balancer({"a/b", "../x?y"})).outcome(), Outcome::unsupported);
  EXPECT_THAT(server.seen, ElementsAre("GET /v1/owners/a%2Fb/loadbalancers/..%2Fx%3Fy"));
}

TEST_F(objects_client, takes_answers_about_others_and_nonsense_for_lost_ones) {
  api::LoadBalancer foreign = ready_balancer();
  foreign.metadata.owner = "test";
  std::string cut = encode(ready_balancer());
  cut.resize(cut.size() - 2);
  for (const net::Response& odd :
       {json_answer(encode(ready_balancer("other"))), json_answer(encode(foreign)),
        json_answer(cut), json_answer("{}"), json_answer("null"), json_answer(""),
        json_answer(encode(testing::a_target_set("web"))), testing::html_answer(200),
        testing::html_answer(404), testing::html_answer(500), testing::html_answer(302),
        problem_answer(api::problem::load_balancer_not_found, "/v1/owners/prod/loadbalancers/x"),
        problem_answer(api::problem::load_balancer_not_found, ""),
        problem_answer(api::problem::target_set_not_found, kPath),
        problem_answer(api::problem::instance_retired, kPath)}) {
    for (const char* method : {"GET ", "PUT ", "DELETE "}) server.answer(method + kPath, odd);
    EXPECT_EQ(get(), Outcome::lost) << odd.status << odd.body;
    EXPECT_EQ(put(), Outcome::lost) << odd.status << odd.body;
    EXPECT_EQ(remove(), Outcome::lost) << odd.status << odd.body;
  }
}

TEST_F(objects_client, believes_that_there_is_none_only_of_the_very_path_it_asked) {
  for (const std::string& said : {kPath, kPath + "#17", kPath + "?x=1", "/proxy" + kPath}) {
    const auto none = problem_answer(api::problem::load_balancer_not_found, said);
    server.answer("GET " + kPath, none);
    server.answer("DELETE " + kPath, none);
    EXPECT_EQ(get(), Outcome::absent) << said;
    EXPECT_EQ(remove(), Outcome::ok) << said;
  }
}

TEST_F(objects_client, comes_back_for_a_load_balancer_that_is_being_taken_down) {
  for (const int status : {200, 202}) {
    server.answer("DELETE " + kPath, json_answer(encode(ready_balancer()), status));
    const Result<> removed = world.run(client.remove_balancer({"prod", "web"}));
    EXPECT_EQ(removed.outcome(), Outcome::busy);
    EXPECT_EQ(removed.error().retry_after, std::chrono::seconds(1));
  }
}

TEST_F(objects_client, asks_for_preferred_addresses_beside_the_spec) {
  const std::string target = kPath + "?preferAddresses=192.0.2.1%2C2001%3Adb8%3A%3A1";
  server.answer("PUT " + target, json_answer(encode(ready_balancer())));
  const std::vector<IpAddress> both = {testing::ip("192.0.2.1"), testing::ip("2001:db8::1")};
  EXPECT_TRUE(world.run(client.put(wish(both))));
  server.answer("PUT " + kPath + "?dryRun=true&preferAddresses=192.0.2.1",
                json_answer(R"({"kind":"Plan","effect":"created","object":)" +
                            encode(ready_balancer()) + "}"));
  const auto plan = world.run(client.plan(wish({both[0]})));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ((*plan)->effect, api::DryRun::Effect::created);
}

TEST_F(objects_client, notices_a_server_that_has_never_heard_of_preferences) {
  const std::string target = kPath + "?preferAddresses=192.0.2.1";
  api::Problem unknown = api::make_problem(api::problem::invalid_request, "the query is wrong");
  unknown.errors = {{"preferAddresses", "is not offered by this version"}};
  server.answer("PUT " + target, problem_answer(unknown));
  const auto put = world.run(client.put(wish({testing::ip("192.0.2.1")})));
  ASSERT_TRUE(put) << put.error().message;
  EXPECT_EQ(*put, std::nullopt);

  unknown.errors = {{"If-Match", "is wrong"}};
  server.answer("PUT " + target, problem_answer(unknown));
  EXPECT_EQ(world.run(client.put(wish({testing::ip("192.0.2.1")}))).outcome(), Outcome::invalid);
}

TEST_F(objects_client, waits_for_a_target_set_that_is_not_there) {
  api::Problem wrong = api::make_problem(api::problem::invalid_spec, "a set is not there");
  wrong.errors = {{"/spec/targetGroups/0/targetSet", "prod has no target set nodes"}};
  server.answer("PUT " + kPath, problem_answer(wrong));
  EXPECT_EQ(put(), Outcome::conflict);
  wrong.errors.push_back({"/spec/pool", "expected a name"});
  server.answer("PUT " + kPath, problem_answer(wrong));
  EXPECT_EQ(put(), Outcome::invalid);
}

TEST_F(objects_client, takes_a_plan_of_another_load_balancer_for_a_lost_answer) {
  const std::string target = "PUT " + kPath + "?dryRun=true";
  for (const std::string& object :
       {encode(ready_balancer("other")), std::string("{}"), std::string("7")}) {
    server.answer(target,
                  json_answer(R"({"kind":"Plan","effect":"created","object":)" + object + "}"));
    EXPECT_EQ(world.run(client.plan(wish())).outcome(), Outcome::lost) << object;
  }
  server.answer(target, json_answer(encode(ready_balancer())));
  EXPECT_EQ(world.run(client.plan(wish())).outcome(), Outcome::lost);
}

TEST_F(objects_client, says_why_a_watch_was_refused) {
  const std::string asked = "GET /v1/owners/prod/watch?from=5";
  server.answer(asked, problem_answer(api::problem::revision_gone));
  EXPECT_EQ(world.run(client.watch("prod", 5)).outcome(), Outcome::conflict);
  server.answer(asked, testing::html_answer(403));
  EXPECT_EQ(world.run(client.watch("prod", 5)).outcome(), Outcome::denied);
  server.answer(asked, fail(Outcome::lost, "no connection"));
  EXPECT_EQ(world.run(client.watch("prod", 5)).outcome(), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::providers::infra
