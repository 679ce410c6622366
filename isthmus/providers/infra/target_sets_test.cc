#include "isthmus/providers/infra/target_sets.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/infra/server_testing.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using testing::a_target_set;
using testing::json_answer;
using testing::problem_answer;

const std::string kPath = "/v1/owners/prod/targetsets/nodes";

struct target_sets : testing::ScriptedProvider {
  target_sets() { server.greet(testing::whole_server()); }
  Result<> ensure() {
    return world.run(sets.ensure(
        {.name = "nodes", .targets = {{.name = "n1", .addresses = {testing::ip("10.0.0.1")}}}}));
  }
  Result<> release() { return world.run(sets.release("nodes")); }
};

TEST_F(target_sets, are_ensured_by_one_put) {
  server.answer("PUT " + kPath, json_answer(encode(a_target_set()), 201));
  const Result<> ensured = ensure();
  EXPECT_TRUE(ensured) << ensured.error().message;
  EXPECT_EQ(server.seen, (std::vector<std::string>{"GET /v1", "PUT " + kPath}));
  EXPECT_EQ(server.last.headers.find("Content-Type"), "application/json");
  EXPECT_EQ(sets.ensured("nodes"), 1U);
  EXPECT_EQ(sets.ensured("others"), std::nullopt);
}

TEST_F(target_sets, of_another_name_or_owner_are_a_lost_answer) {
  server.answer("PUT " + kPath, json_answer(encode(a_target_set("other"))));
  EXPECT_EQ(ensure().outcome(), Outcome::lost);
  api::TargetSet foreign = a_target_set();
  foreign.metadata.owner = "test";
  server.answer("PUT " + kPath, json_answer(encode(foreign)));
  EXPECT_EQ(ensure().outcome(), Outcome::lost);
  EXPECT_EQ(sets.ensured("nodes"), std::nullopt);
}

TEST_F(target_sets, are_foretold_by_a_dry_run) {
  const cloud::TargetSetSpec wish{.name = "nodes"};
  const std::string asked = "PUT " + kPath + "?dryRun=true";
  server.answer(
      asked, json_answer(R"({"kind":"Plan","effect":"changed","object":)" + encode(a_target_set()) +
                         R"(,"changes":[{"pointer":"/spec/targets","from":[],"to":[1]}]})"));
  const auto preview = world.run(sets.preview(wish));
  ASSERT_TRUE(preview) << preview.error().message;
  EXPECT_EQ(preview->effect, cloud::LoadBalancerPreview::Effect::changed);
  EXPECT_EQ(preview->changes.at(0).part, "/spec/targets");
  EXPECT_EQ(sets.ensured("nodes"), std::nullopt) << "nothing was written";

  server.answer(asked, json_answer(R"({"kind":"Plan","effect":"created","object":)" +
                                   encode(a_target_set("other")) + "}"));
  EXPECT_EQ(world.run(sets.preview(wish)).outcome(), Outcome::lost);
  server.answer(asked, problem_answer(api::problem::forbidden));
  EXPECT_EQ(world.run(sets.preview(wish)).outcome(), Outcome::denied);
}

TEST_F(target_sets, are_gone_when_the_server_says_so_of_this_very_one) {
  server.answer("DELETE " + kPath, json_answer(encode(a_target_set())));
  EXPECT_TRUE(release());
  server.answer("DELETE " + kPath,
                problem_answer(api::problem::target_set_not_found, kPath + "#17"));
  EXPECT_TRUE(release());
  for (const char* other : {"", "/v1/owners/prod/targetsets/nodes-2", "/v1/owners/prod"}) {
    server.answer("DELETE " + kPath, problem_answer(api::problem::target_set_not_found, other));
    EXPECT_EQ(release().outcome(), Outcome::lost) << other;
  }
  server.answer("DELETE " + kPath, testing::html_answer(404));
  EXPECT_EQ(release().outcome(), Outcome::lost);
}

TEST_F(target_sets, that_are_in_use_stay) {
  server.answer("DELETE " + kPath, problem_answer(api::problem::target_set_in_use, kPath));
  EXPECT_EQ(release().outcome(), Outcome::conflict);
}

TEST_F(target_sets, of_a_server_without_any_are_unsupported) {
  api::ServerInfo info = testing::whole_server();
  info.capabilities = {"instances", "loadBalancers"};
  server.greet(info);
  EXPECT_EQ(ensure().outcome(), Outcome::unsupported);
  EXPECT_EQ(release().outcome(), Outcome::unsupported);
}

TEST_F(target_sets, that_we_may_not_write_make_us_ask_who_we_are) {
  server.answer("PUT " + kPath, problem_answer(api::problem::not_owner, kPath));
  EXPECT_EQ(ensure().outcome(), Outcome::denied);
  EXPECT_EQ(ensure().outcome(), Outcome::denied);
  EXPECT_EQ(server.seen,
            (std::vector<std::string>{"GET /v1", "PUT " + kPath, "GET /v1", "PUT " + kPath}));
}

}  // namespace
}  // namespace isthmus::providers::infra
