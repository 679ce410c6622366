#include "isthmus/providers/infra/provider.h"

#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/infra/answers.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using testing::ElementsAre;
using testing::HasSubstr;

net::Response json(std::string body) {
  return {
      .status = 200, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}

net::Response problem(std::string_view suffix, std::string instance = "") {
  api::Problem details = api::make_problem(suffix, "so it is");
  details.instance = std::move(instance);
  return {.status = details.status,
          .headers = {{"Content-Type", "application/problem+json"}},
          .body = encode(details)};
}

api::Instance machine(std::string uid) {
  api::Instance instance;
  instance.uid = uid;
  instance.name = "node-" + uid;
  instance.addresses = {{api::AddressType::internal_ip, "10.0.0.1"}};
  instance.revision = 5;
  instance.generation = 1;
  return instance;
}

// A server that answers by target; what it is asked is kept.
struct Server final : net::Transport {
  Task<Result<net::Response>> call(net::Request request) override {
    seen.push_back(request.target);
    authorization = request.headers.find("Authorization").value_or("none");
    const auto found = answers.find(request.target);
    if (found == answers.end()) co_return problem(api::problem::path_not_found);
    co_return found->second;
  }
  Task<Result<net::StreamedResponse>> open(net::Request) override {
    co_return fail(Outcome::unsupported, "not here");
  }

  std::map<std::string, Result<net::Response>> answers;
  std::vector<std::string> seen;
  std::string authorization;
};

struct infra_provider : testing::Test {
  infra_provider() {
    EXPECT_TRUE(files.write("/token", "s3cret\n", FileMode::owner_only));
    info.protocol_version = "v1";
    info.provider_name = "isthmus";
    info.provider_id_scheme = "isthmus";
    info.capabilities = {"instances"};
    greet();
  }
  void greet() { server.answers.insert_or_assign("/v1", json(encode(info))); }
  cloud::Instances& instances() { return *provider.capabilities().instances; }
  Result<cloud::Instance> get(std::string uid) {
    return world.run(instances().get({"isthmus", std::move(uid)}));
  }
  void page(std::string target, std::vector<api::Instance> items, std::uint64_t revision,
            std::string next) {
    server.answers.insert_or_assign(
        target, json(encode(api::InstanceList{std::move(items), revision, std::move(next)})));
  }

  VirtualWorld world;
  MemoryFiles files;
  api::ServerInfo info;
  std::unique_ptr<Server> owned = std::make_unique<Server>();
  Server& server = *owned;
  InfraProvider provider{std::move(owned), world.loop, files, Identity{.token_file = "/token"}};
};

TEST_F(infra_provider, shakes_hands_once_and_then_asks) {
  server.answers.insert_or_assign("/v1/instances/a", json(encode(machine("a"))));
  const Result<cloud::Instance> found = get("a");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->names, std::vector<std::string>{"node-a"});
  ASSERT_TRUE(get("a"));
  EXPECT_THAT(server.seen, ElementsAre("/v1", "/v1/instances/a", "/v1/instances/a"));
  EXPECT_EQ(server.authorization, "Bearer s3cret");
}

TEST_F(infra_provider, asks_nothing_of_a_server_with_another_scheme) {
  info.provider_id_scheme = "other";
  greet();
  const Result<cloud::Instance> found = get("a");
  EXPECT_EQ(found.outcome(), Outcome::invalid);
  EXPECT_THAT(found.error().message, HasSubstr("other://"));
  EXPECT_THAT(server.seen, ElementsAre("/v1"));
}

TEST_F(infra_provider, asks_nothing_of_a_server_of_another_version) {
  info.protocol_version = "v2";
  greet();
  EXPECT_EQ(get("a").outcome(), Outcome::unsupported);
  EXPECT_EQ(world.run(provider.check()).outcome(), Outcome::unsupported);
}

TEST_F(infra_provider, needs_a_server_that_knows_machines_only_when_it_asks_for_them) {
  info.capabilities.clear();
  greet();
  EXPECT_TRUE(world.run(provider.check()));
  EXPECT_EQ(get("a").outcome(), Outcome::unsupported);
  EXPECT_EQ(world.run(instances().list({})).outcome(), Outcome::unsupported);
}

TEST_F(infra_provider, asks_again_whether_a_server_without_machines_has_learned_of_them) {
  info.capabilities.clear();
  greet();
  EXPECT_EQ(get("a").outcome(), Outcome::unsupported);
  info.capabilities = {"instances"};
  greet();
  server.answers.insert_or_assign("/v1/instances/a", json(encode(machine("a"))));
  EXPECT_TRUE(get("a"));
}

TEST_F(infra_provider, calls_a_machine_absent_only_when_the_server_says_retired) {
  for (const char* said :
       {"/v1/instances/a#id", "/v1/instances/%61?x", "https://h/v1/instances/a"}) {
    server.answers.insert_or_assign("/v1/instances/a",
                                    problem(api::problem::instance_retired, said));
    EXPECT_EQ(get("a").outcome(), Outcome::absent) << said;
  }
}

TEST_F(infra_provider, takes_a_retirement_of_another_or_no_machine_for_a_lost_answer) {
  for (const char* said : {"/v1/instances/b#id", "/v1/instances/aa", "/v1/instances/", "/", ""}) {
    server.answers.insert_or_assign("/v1/instances/a",
                                    problem(api::problem::instance_retired, said));
    EXPECT_EQ(get("a").outcome(), Outcome::lost) << said;
  }
  server.answers.insert_or_assign("/v1/instances/a",
                                  problem(api::problem::instance_not_found, "/v1/instances/b#id"));
  EXPECT_EQ(get("a").outcome(), Outcome::lost);
}

TEST_F(infra_provider, knows_nothing_of_a_machine_that_the_server_never_heard_of) {
  server.answers.insert_or_assign("/v1/instances/a", problem(api::problem::instance_not_found));
  const Result<cloud::Instance> found = get("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (cloud::Instance{.provider_id = {"isthmus", "a"}}));
  EXPECT_EQ(found->presence, cloud::Presence::unknown);
}

TEST_F(infra_provider, takes_an_answer_about_another_machine_for_a_lost_one) {
  server.answers.insert_or_assign("/v1/instances/a", json(encode(machine("b"))));
  EXPECT_EQ(get("a").outcome(), Outcome::lost);
}

TEST_F(infra_provider, takes_a_truncated_answer_and_html_for_lost_ones) {
  std::string body = encode(machine("a"));
  body.resize(body.size() - 2);
  server.answers.insert_or_assign("/v1/instances/a", json(body));
  EXPECT_EQ(get("a").outcome(), Outcome::lost);
  server.answers.insert_or_assign("/v1/instances/a", json("<html>hello</html>"));
  EXPECT_EQ(get("a").outcome(), Outcome::lost);
  server.answers.insert_or_assign(
      "/v1/instances/a", net::Response{.status = 404, .headers = {}, .body = "404 page not found"});
  EXPECT_EQ(get("a").outcome(), Outcome::lost);
}

TEST_F(infra_provider, refuses_an_id_of_another_scheme_without_asking) {
  EXPECT_EQ(world.run(instances().get({"aws", "a"})).outcome(), Outcome::invalid);
  EXPECT_TRUE(server.seen.empty());
}

TEST_F(infra_provider, reads_all_pages_of_a_list) {
  page("/v1/instances?limit=1000", {machine("a"), machine("b")}, 5, "next");
  page("/v1/instances?limit=1000&continue=next", {machine("c")}, 5, "");
  const auto list = world.run(instances().list({}));
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->items.size(), 3U);
  EXPECT_EQ(list->completeness, cloud::Completeness::complete);
}

TEST_F(infra_provider, calls_a_list_partial_whose_pages_do_not_fit_together) {
  page("/v1/instances?limit=1000", {machine("a")}, 5, "next");
  page("/v1/instances?limit=1000&continue=next", {machine("b")}, 6, "");
  EXPECT_EQ(world.run(instances().list({}))->completeness, cloud::Completeness::partial);
  page("/v1/instances?limit=1000&continue=next", {machine("a")}, 5, "");
  EXPECT_EQ(world.run(instances().list({}))->completeness, cloud::Completeness::partial);
}

TEST_F(infra_provider, calls_a_list_partial_with_a_uid_that_no_provider_id_should_carry) {
  page("/v1/instances?limit=1000", {machine("a"), machine("../../x")}, 5, "");
  const auto list = world.run(instances().list({}));
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->items.size(), 1U);
  EXPECT_EQ(list->completeness, cloud::Completeness::partial);
}

TEST_F(infra_provider, answers_no_list_when_a_page_is_missing) {
  page("/v1/instances?limit=1000", {machine("a")}, 5, "next");
  server.answers.insert_or_assign("/v1/instances?limit=1000&continue=next",
                                  problem(api::problem::revision_gone));
  EXPECT_EQ(world.run(instances().list({})).outcome(), Outcome::conflict);
}

TEST_F(infra_provider, gives_up_on_a_list_without_end) {
  page("/v1/instances?limit=1000", {}, 5, "next");
  page("/v1/instances?limit=1000&continue=next", {}, 5, "next");
  EXPECT_EQ(world.run(instances().list({})).outcome(), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::providers::infra
