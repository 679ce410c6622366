#include "isthmus/providers/infra/load_balancers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/infra/server_testing.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ip;
using testing::json_answer;
using testing::problem_answer;
using testing::ready_balancer;
using ::testing::SizeIs;

const std::string kPath = "/v1/owners/prod/loadbalancers/web";

struct load_balancers : testing::ScriptedProvider {
  load_balancers() { server.greet(testing::whole_server()); }
  static cloud::LoadBalancerSpec spec() {
    return {.name = "web",
            .listeners = {{"http", cloud::Protocol::tcp, 80, 30080}},
            .target_set = "nodes"};
  }
  Result<cloud::LoadBalancerState> ensure(cloud::LoadBalancerSpec wanted = spec()) {
    return world.run(balancers.ensure(std::move(wanted)));
  }
  // To whatever is put.
  void refuse_preferences() {
    api::Problem unknown = api::make_problem(api::problem::invalid_request, "the query is wrong");
    unknown.errors = {{"preferAddresses", "is not offered by this version"}};
    server.answer("PUT " + kPath + "?preferAddresses=192.0.2.1", problem_answer(unknown));
    server.answer("PUT " + kPath + "?dryRun=true&preferAddresses=192.0.2.1",
                  problem_answer(unknown));
  }
  static cloud::LoadBalancerSpec with_preference() {
    cloud::LoadBalancerSpec wanted = spec();
    wanted.preferred_addresses = {ip("192.0.2.1")};
    return wanted;
  }
  static net::Response a_plan() {
    return json_answer(R"({"kind":"Plan","effect":"created","object":)" + encode(ready_balancer()) +
                       R"(,"addresses":["192.0.2.1"]})");
  }

  InfraLoadBalancers balancers{objects, handshake, sets};
};

TEST_F(load_balancers, are_ensured_by_one_put_for_the_owner_the_server_takes_us_for) {
  server.answer("PUT " + kPath, json_answer(encode(ready_balancer()), 201));
  const auto state = ensure();
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->name, "web");
  EXPECT_TRUE(state->settled);
  EXPECT_TRUE(ensure());
  EXPECT_THAT(server.seen, ElementsAre("GET /v1", "PUT " + kPath, "PUT " + kPath));
}

TEST_F(load_balancers, of_a_server_without_a_host_are_unsupported_and_nothing_is_sent) {
  api::ServerInfo info = testing::whole_server();
  info.capabilities = {"instances"};
  server.greet(info);
  const auto refused = ensure();
  EXPECT_EQ(refused.outcome(), Outcome::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("its configuration has no host"));
  EXPECT_EQ(world.run(balancers.release("web")).outcome(), Outcome::unsupported);
  EXPECT_EQ(world.run(balancers.get("web")).outcome(), Outcome::unsupported);
  EXPECT_EQ(world.run(balancers.list()).outcome(), Outcome::unsupported);
  EXPECT_EQ(world.run(balancers.preview(spec())).outcome(), Outcome::unsupported);
  EXPECT_EQ(world.run(balancers.follow([](const auto&) {})).outcome(), Outcome::unsupported);
  EXPECT_THAT(server.seen, ::testing::Each("GET /v1"));
}

TEST_F(load_balancers, of_a_server_that_does_not_tell_are_not_followed) {
  api::ServerInfo info = testing::whole_server();
  info.capabilities = {"loadBalancers"};
  server.greet(info);
  EXPECT_EQ(world.run(balancers.follow([](const auto&) {})).outcome(), Outcome::unsupported);
}

TEST_F(load_balancers, say_their_preference_only_to_a_server_that_may_know_of_it) {
  refuse_preferences();
  server.answer("PUT " + kPath, json_answer(encode(ready_balancer())));
  EXPECT_TRUE(ensure(with_preference()));
  EXPECT_TRUE(ensure(with_preference()));
  EXPECT_THAT(server.seen, ElementsAre("GET /v1", "PUT " + kPath + "?preferAddresses=192.0.2.1",
                                       "PUT " + kPath, "PUT " + kPath));
  EXPECT_TRUE(world.run(handshake.shake()));
  EXPECT_TRUE(ensure(with_preference()));
  EXPECT_THAT(server.seen, SizeIs(7));
}

TEST_F(load_balancers, are_previewed_without_being_written) {
  refuse_preferences();
  server.answer("PUT " + kPath + "?dryRun=true", a_plan());
  const auto preview = world.run(balancers.preview(with_preference()));
  ASSERT_TRUE(preview) << preview.error().message;
  EXPECT_EQ(preview->effect, cloud::LoadBalancerPreview::Effect::created);
  EXPECT_THAT(preview->addresses, ElementsAre(ip("192.0.2.1")));
}

TEST_F(load_balancers, tell_what_is_wrong_in_the_words_of_the_server) {
  struct Row {
    std::string_view problem;
    Outcome outcome;
  };
  for (const Row& row : {Row{api::problem::pool_exhausted, Outcome::conflict},
                         Row{api::problem::address_in_use, Outcome::conflict},
                         Row{api::problem::address_not_in_pool, Outcome::conflict},
                         Row{api::problem::quota_exceeded, Outcome::denied},
                         Row{api::problem::not_offered, Outcome::invalid},
                         Row{api::problem::invalid_spec, Outcome::invalid},
                         Row{api::problem::unavailable, Outcome::busy},
                         Row{api::problem::load_balancer_not_found, Outcome::lost}}) {
    server.answer("PUT " + kPath, problem_answer(row.problem, kPath));
    const auto refused = ensure();
    EXPECT_EQ(refused.outcome(), row.outcome) << row.problem;
    EXPECT_THAT(refused.error().message, HasSubstr("so it is")) << row.problem;
  }
}

TEST_F(load_balancers, that_we_may_not_touch_make_us_ask_who_we_are) {
  server.answer("GET " + kPath, problem_answer(api::problem::not_owner, kPath));
  server.answer("DELETE " + kPath, problem_answer(api::problem::not_owner, kPath));
  EXPECT_EQ(world.run(balancers.get("web")).outcome(), Outcome::denied);
  EXPECT_EQ(world.run(balancers.release("web")).outcome(), Outcome::denied);
  EXPECT_THAT(server.seen, ElementsAre("GET /v1", "GET " + kPath, "GET /v1", "DELETE " + kPath));
}

TEST_F(load_balancers, that_are_protected_are_not_released) {
  server.answer("DELETE " + kPath, problem_answer(api::problem::deletion_protected, kPath));
  const Result<> refused = world.run(balancers.release("web"));
  EXPECT_EQ(refused.outcome(), Outcome::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("DeletionProtected"));
}

TEST_F(load_balancers, are_absent_and_released_when_the_server_says_so) {
  const auto none = problem_answer(api::problem::load_balancer_not_found, kPath + "#1");
  server.answer("GET " + kPath, none);
  server.answer("DELETE " + kPath, none);
  EXPECT_EQ(world.run(balancers.get("web")).outcome(), Outcome::absent);
  EXPECT_TRUE(world.run(balancers.release("web")));
}

TEST_F(load_balancers, are_listed_as_those_of_the_owner) {
  server.answer("GET /v1/owners/prod/loadbalancers?limit=250",
                json_answer(encode(api::LoadBalancerList{{ready_balancer()}, 5, "", 0})));
  const auto list = world.run(balancers.list());
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_THAT(list->items, SizeIs(1));
  EXPECT_EQ(list->completeness, cloud::Completeness::complete);
}

}  // namespace
}  // namespace isthmus::providers::infra
