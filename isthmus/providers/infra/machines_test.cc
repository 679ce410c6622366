#include "isthmus/providers/infra/machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/infra/server_testing.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;

api::Instance machine(std::string uid) {
  api::Instance instance;
  instance.uid = uid;
  instance.name = "node-" + uid;
  instance.addresses = {{api::AddressType::internal_ip, "10.0.0.1"}};
  instance.revision = 5;
  instance.generation = 1;
  return instance;
}

struct machines : ::testing::Test {
  machines() { greet(); }
  void greet() { server.greet(info); }
  void answer(const std::string& path, net::Response response) {
    server.answer("GET " + path, std::move(response));
  }
  void page(const std::string& target, std::vector<api::Instance> items, std::uint64_t revision,
            std::string next) {
    answer(target, testing::json_answer(
                       encode(api::InstanceList{std::move(items), revision, std::move(next)})));
  }
  Result<cloud::Instance> get(std::string uid) {
    return world.run(instances.get({"isthmus", std::move(uid)}));
  }

  VirtualWorld world;
  api::ServerInfo info = testing::whole_server();
  testing::ScriptedServer server;
  Client client{server, world.loop};
  Handshake handshake{client, "isthmus", ""};
  InfraInstances instances{client, handshake, "isthmus"};
};

TEST_F(machines, are_asked_for_by_their_uid) {
  answer("/v1/instances/a", testing::json_answer(encode(machine("a"))));
  const Result<cloud::Instance> found = get("a");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->names, std::vector<std::string>{"node-a"});
}

TEST_F(machines, are_not_asked_for_by_what_can_be_no_uid) {
  for (const char* uid : {"a/", "a%61", "", "ä", "a b", "../a"}) {
    EXPECT_EQ(get(uid).outcome(), Outcome::invalid) << uid;
  }
  EXPECT_THAT(server.seen, ::testing::IsEmpty());
}

TEST_F(machines, of_a_server_that_knows_none_are_unsupported) {
  info.capabilities.clear();
  greet();
  EXPECT_EQ(get("a").outcome(), Outcome::unsupported);
  EXPECT_EQ(world.run(instances.list({})).outcome(), Outcome::unsupported);
}

TEST_F(machines, are_absent_only_when_the_server_says_retired) {
  for (const char* said :
       {"/v1/instances/a#id", "/v1/instances/%61?x", "https://h/v1/instances/a"}) {
    answer("/v1/instances/a", testing::problem_answer(api::problem::instance_retired, said));
    EXPECT_EQ(get("a").outcome(), Outcome::absent) << said;
  }
}

TEST_F(machines, take_a_retirement_of_another_or_no_machine_for_a_lost_answer) {
  for (const char* said : {"/v1/instances/b#id", "/v1/instances/aa", "/v1/instances/", "/", ""}) {
    answer("/v1/instances/a", testing::problem_answer(api::problem::instance_retired, said));
    EXPECT_EQ(get("a").outcome(), Outcome::lost) << said;
  }
  answer("/v1/instances/a",
         testing::problem_answer(api::problem::instance_not_found, "/v1/instances/b#id"));
  EXPECT_EQ(get("a").outcome(), Outcome::lost);
}

TEST_F(machines, know_nothing_of_one_that_the_server_never_heard_of) {
  answer("/v1/instances/a", testing::problem_answer(api::problem::instance_not_found));
  const Result<cloud::Instance> found = get("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (cloud::Instance{.provider_id = {"isthmus", "a"}}));
  EXPECT_EQ(found->presence, cloud::Presence::unknown);
}

TEST_F(machines, take_an_answer_about_another_machine_for_a_lost_one) {
  answer("/v1/instances/a", testing::json_answer(encode(machine("b"))));
  EXPECT_EQ(get("a").outcome(), Outcome::lost);
}

TEST_F(machines, take_a_truncated_answer_and_html_for_lost_ones) {
  std::string body = encode(machine("a"));
  body.resize(body.size() - 2);
  answer("/v1/instances/a", testing::json_answer(body));
  EXPECT_EQ(get("a").outcome(), Outcome::lost);
  answer("/v1/instances/a", testing::json_answer("<html>hello</html>"));
  EXPECT_EQ(get("a").outcome(), Outcome::lost);
  answer("/v1/instances/a",
         net::Response{.status = 404, .headers = {}, .body = "404 page not found"});
  EXPECT_EQ(get("a").outcome(), Outcome::lost);
}

TEST_F(machines, refuse_an_id_of_another_scheme_without_asking) {
  EXPECT_EQ(world.run(instances.get({"aws", "a"})).outcome(), Outcome::invalid);
  EXPECT_TRUE(server.seen.empty());
}

TEST_F(machines, are_read_from_all_pages_of_a_list) {
  page("/v1/instances?limit=1000", {machine("a"), machine("b")}, 5, "next");
  page("/v1/instances?limit=1000&continue=next", {machine("c")}, 5, "");
  const auto list = world.run(instances.list({}));
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->items.size(), 3U);
  EXPECT_EQ(list->completeness, cloud::Completeness::complete);
}

TEST_F(machines, are_a_partial_list_whose_pages_do_not_fit_together) {
  page("/v1/instances?limit=1000", {machine("a")}, 5, "next");
  page("/v1/instances?limit=1000&continue=next", {machine("b")}, 6, "");
  EXPECT_EQ(world.run(instances.list({}))->completeness, cloud::Completeness::partial);
  page("/v1/instances?limit=1000&continue=next", {machine("a")}, 5, "");
  EXPECT_EQ(world.run(instances.list({}))->completeness, cloud::Completeness::partial);
}

TEST_F(machines, are_a_partial_list_with_a_uid_that_no_provider_id_should_carry) {
  page("/v1/instances?limit=1000", {machine("a"), machine("../../x")}, 5, "");
  const auto list = world.run(instances.list({}));
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->items.size(), 1U);
  EXPECT_EQ(list->completeness, cloud::Completeness::partial);
}

TEST_F(machines, are_no_list_when_a_page_is_missing) {
  page("/v1/instances?limit=1000", {machine("a")}, 5, "next");
  answer("/v1/instances?limit=1000&continue=next",
         testing::problem_answer(api::problem::revision_gone));
  EXPECT_EQ(world.run(instances.list({})).outcome(), Outcome::conflict);
}

TEST_F(machines, are_given_up_in_a_list_without_end) {
  page("/v1/instances?limit=1000", {}, 5, "next");
  page("/v1/instances?limit=1000&continue=next", {}, 5, "next");
  EXPECT_EQ(world.run(instances.list({})).outcome(), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::providers::infra
