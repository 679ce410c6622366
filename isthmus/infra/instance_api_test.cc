#include "isthmus/infra/instance_api.h"

#include <gtest/gtest.h>

#include "isthmus/infra/http_api_testing.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

class instance_api : public HttpApiFixture {};

TEST_F(instance_api, a_machine_is_created_changed_and_put_again_without_effect) {
  net::Response created = put("m1", "n1");
  net::Response same = put("m1", "n1");
  net::Response changed = put("m1", "n2");
  EXPECT_EQ(created.status, 201);
  EXPECT_EQ(same.status, 200);
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(same.body, created.body);
  EXPECT_EQ(created.headers.find("ETag"), "\"1\"");
  EXPECT_EQ(changed.headers.find("ETag"), "\"2\"");
  EXPECT_EQ(ask("GET", "/v1/instances/m1").body, changed.body);
  EXPECT_EQ(ask("PUT", "/v1/instances/m1", changed.body).body, changed.body);
}

TEST_F(instance_api, preconditions_are_kept) {
  EXPECT_EQ(suffix(put("m1", "n1", {{"If-Match", "*"}})), problem::revision_conflict);
  EXPECT_EQ(put("m1", "n1", {{"If-None-Match", "*"}}).status, 201);
  EXPECT_EQ(put("m1", "n1", {{"If-None-Match", "*"}}).status, 412);
  EXPECT_EQ(put("m1", "n2", {{"If-Match", "\"1\""}}).status, 200);
  EXPECT_EQ(put("m1", "n3", {{"If-Match", "\"1\""}}).status, 412);
  EXPECT_EQ(put("m1", "n3", {{"If-Match", "1"}}).status, 400);
}

TEST_F(instance_api, gone_and_never_known_are_told_apart) {
  put("m1", "n1");
  net::Response deleted = ask("DELETE", "/v1/instances/m1");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(api::decode_instance(deleted.body)->presence, api::Presence::absent);
  EXPECT_EQ(suffix(ask("GET", "/v1/instances/m1")), problem::instance_retired);
  EXPECT_EQ(suffix(ask("DELETE", "/v1/instances/m1")), problem::instance_retired);
  EXPECT_EQ(suffix(ask("GET", "/v1/instances/m2")), problem::instance_not_found);
  EXPECT_EQ(suffix(put("m1", "n1")), problem::uid_retired);
  EXPECT_EQ(names(ask("GET", "/v1/instances")), (std::vector<std::string>{}));
}

TEST_F(instance_api, a_machine_whose_line_vanished_is_still_answered_as_unknown) {
  ASSERT_TRUE(files.write("/inventory", "instances: [{uid: m1, name: n1}]", FileMode::owner_only));
  ASSERT_TRUE(world.run(inventory.load()));
  EXPECT_EQ(suffix(put("m1", "n1")), problem::managed_by_file);
  ASSERT_TRUE(files.write("/inventory", "instances: []", FileMode::owner_only));
  ASSERT_TRUE(world.run(inventory.load()));
  net::Response response = ask("GET", "/v1/instances/m1");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(api::decode_instance(response.body)->presence, api::Presence::unknown);
  EXPECT_EQ(names(ask("GET", "/v1/instances")), (std::vector<std::string>{"n1"}));
}

TEST_F(instance_api, pages_of_a_list_are_read_at_one_revision) {
  for (char c = 'a'; c <= 'e'; ++c) put(std::string("m") + c, std::string(1, c));
  auto first = api::decode_instance_list(ask("GET", "/v1/instances?limit=2").body).value();
  EXPECT_EQ(first.items.size(), 2u);
  put("mbb", "bb");
  put("mc", "changed");
  ask("DELETE", "/v1/instances/md");

  std::vector<std::string> rest;
  std::string token = first.continue_token;
  while (!token.empty()) {
    auto page =
        api::decode_instance_list(ask("GET", "/v1/instances?limit=2&continue=" + token).body)
            .value();
    EXPECT_EQ(page.revision, first.revision);
    for (const api::Instance& item : page.items) rest.push_back(item.name);
    token = page.continue_token;
  }
  EXPECT_EQ(rest, (std::vector<std::string>{"c", "d", "e"}));
  EXPECT_EQ(names(ask("GET", "/v1/instances")),
            (std::vector<std::string>{"a", "b", "bb", "changed", "e"}));
}

TEST_F(instance_api, a_page_of_a_history_that_is_gone_is_410) {
  for (char c = 'a'; c <= 'c'; ++c) put(std::string("m") + c, std::string(1, c));
  auto first = api::decode_instance_list(ask("GET", "/v1/instances?limit=2").body).value();
  put("md", "d");
  ASSERT_TRUE(world.run(store->compact(4)));
  EXPECT_EQ(suffix(ask("GET", "/v1/instances?continue=" + first.continue_token)),
            problem::revision_gone);
}

TEST_F(instance_api, a_selector_selects_across_pages) {
  for (char c = 'a'; c <= 'f'; ++c) {
    std::string rack = c % 2 == 0 ? "7" : "8";
    ask("PUT", std::string("/v1/instances/m") + c,
        R"({"metadata":{"name":")" + std::string(1, c) + R"(","labels":{"rack":")" + rack +
            "\"}}}");
  }
  auto first =
      api::decode_instance_list(ask("GET", "/v1/instances?limit=2&labelSelector=rack%3D7").body)
          .value();
  EXPECT_EQ(first.items[1].name, "d");
  net::Response second =
      ask("GET", "/v1/instances?limit=2&labelSelector=rack%3D7&continue=" + first.continue_token);
  EXPECT_EQ(names(second), (std::vector<std::string>{"f"}));
  EXPECT_TRUE(api::decode_instance_list(second.body)->continue_token.empty());
}

}  // namespace
}  // namespace isthmus::infra
