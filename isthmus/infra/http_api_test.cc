#include "isthmus/infra/http_api.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/api/openapi.h"
#include "isthmus/infra/api/server_info.h"
#include "isthmus/infra/http_testing.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

Config with_tokens() {
  Config config;
  config.admin_token_file = "/admin";
  config.owners = {{"prod", "/prod"}};
  return config;
}

// A store whose disk can be full: it answers and takes nothing more.
class FullDisk final : public Store {
 public:
  Task<Result<Snapshot>> read(Range range) override { return store_->read(std::move(range)); }
  Task<Result<Revision>> commit(std::vector<Condition> conditions,
                                std::vector<Write> writes) override {
    if (is_full) co_return fail(Outcome::lost, "database or disk is full");
    Result<Revision> written = co_await store_->commit(std::move(conditions), std::move(writes));
    co_return written;
  }
  Task<Result<Changes>> watch(std::string prefix, Revision after, std::size_t limit) override {
    return store_->watch(std::move(prefix), after, limit);
  }
  Task<Result<>> compact(Revision before) override { return store_->compact(before); }

  bool is_full = false;

 private:
  std::unique_ptr<Store> store_ = open_sqlite_store(":memory:").value();
};

class http_api : public testing::Test {
 protected:
  http_api() {
    Mistakes mistakes;
    EXPECT_TRUE(files.write("/admin", "admin-token", FileMode::owner_only));
    EXPECT_TRUE(files.write("/prod", "owner-token", FileMode::owner_only));
    access.load(mistakes);
  }

  net::Response ask(std::string method, std::string target, std::string body = "",
                    net::Headers headers = {}, std::string token = "admin-token") {
    if (!token.empty()) headers.set("Authorization", "Bearer " + token);
    RecordingWriter writer;
    net::Request request{std::move(method), std::move(target), std::move(headers), std::move(body)};
    EXPECT_TRUE(world.run(handler.serve(std::move(request), peer, writer)));
    return writer.response;
  }
  net::Response put(std::string uid, std::string name, net::Headers headers = {}) {
    return ask("PUT", "/v1/instances/" + uid, R"({"metadata":{"name":")" + name + "\"}}",
               std::move(headers));
  }
  std::vector<std::string> names(const net::Response& list) {
    std::vector<std::string> names;
    for (const api::Instance& item : api::decode_instance_list(list.body).value().items) {
      names.push_back(item.name);
    }
    return names;
  }
  static std::string suffix(const net::Response& response) {
    EXPECT_EQ(response.headers.find("Content-Type"), api::kProblemMediaType) << response.body;
    auto problem = api::decode_problem(response.body, response.status);
    return problem ? std::string(problem->suffix()) : problem.error().message;
  }

  VirtualWorld world;
  MemoryFiles files;
  MemoryLogger log;
  Metrics metrics;
  SeededRandom random{1};
  Access access{files, log, with_tokens()};
  std::unique_ptr<FullDisk> store = std::make_unique<FullDisk>();
  Instances instances{*store, world.loop};
  InventoryFile inventory{files, "/inventory", instances, world.loop, metrics, log};
  HttpApi handler{{*store, instances, access, &inventory, random, metrics, log, "1.2"}};
  net::Peer peer{.address = "unix", .is_local = true};
};

TEST_F(http_api, says_what_it_is) {
  net::Response response = ask("GET", "/v1");
  EXPECT_EQ(response.status, 200);
  api::ServerInfo info = api::decode_server_info(response.body).value();
  EXPECT_EQ(info.protocol_version, "v1");
  EXPECT_EQ(info.provider_id_scheme, "isthmus");
  EXPECT_TRUE(info.has(api::capability::instance_watch));
  EXPECT_EQ(info.server_version, "1.2");
}

TEST_F(http_api, serves_its_own_description) {
  EXPECT_EQ(ask("GET", "/openapi.json", "", {}, "").body, api::openapi_json());
}

TEST_F(http_api, a_machine_is_created_changed_and_put_again_without_effect) {
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

TEST_F(http_api, preconditions_are_kept) {
  EXPECT_EQ(suffix(put("m1", "n1", {{"If-Match", "*"}})), problem::revision_conflict);
  EXPECT_EQ(put("m1", "n1", {{"If-None-Match", "*"}}).status, 201);
  EXPECT_EQ(put("m1", "n1", {{"If-None-Match", "*"}}).status, 412);
  EXPECT_EQ(put("m1", "n2", {{"If-Match", "\"1\""}}).status, 200);
  EXPECT_EQ(put("m1", "n3", {{"If-Match", "\"1\""}}).status, 412);
  EXPECT_EQ(put("m1", "n3", {{"If-Match", "1"}}).status, 400);
}

TEST_F(http_api, gone_and_never_known_are_told_apart) {
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

TEST_F(http_api, a_machine_whose_line_vanished_is_still_answered_as_unknown) {
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

TEST_F(http_api, pages_of_a_list_are_read_at_one_revision) {
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

TEST_F(http_api, a_page_of_a_history_that_is_gone_is_410) {
  for (char c = 'a'; c <= 'c'; ++c) put(std::string("m") + c, std::string(1, c));
  auto first = api::decode_instance_list(ask("GET", "/v1/instances?limit=2").body).value();
  put("md", "d");
  ASSERT_TRUE(world.run(store->compact(4)));
  EXPECT_EQ(suffix(ask("GET", "/v1/instances?continue=" + first.continue_token)),
            problem::revision_gone);
}

TEST_F(http_api, a_selector_selects_across_pages) {
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

TEST_F(http_api, every_wrong_field_is_named_at_once) {
  net::Response response =
      ask("PUT", "/v1/instances/m1", R"({"metadata":{"name":"Bad_Name"},"spec":{"zone":7},"x":1})");
  EXPECT_EQ(suffix(response), problem::invalid_spec);
  api::Problem said = api::decode_problem(response.body, 422).value();
  EXPECT_EQ(said.errors.size(), 3u);
  EXPECT_EQ(suffix(ask("GET", "/v1/instances/m1")), problem::instance_not_found);
}

TEST_F(http_api, tokens_decide_who_may_do_what) {
  put("m1", "n1");
  net::Response nobody = ask("GET", "/v1/instances", "", {}, "");
  EXPECT_EQ(suffix(nobody), problem::unauthenticated);
  EXPECT_EQ(nobody.headers.find("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(suffix(ask("GET", "/v1", "", {}, "wrong")), problem::unauthenticated);
  EXPECT_EQ(ask("GET", "/v1/instances", "", {}, "owner-token").status, 200);
  EXPECT_EQ(suffix(ask("PUT", "/v1/instances/m1", "{", {}, "owner-token")), problem::forbidden);
  EXPECT_EQ(suffix(ask("DELETE", "/v1/instances/m1", "", {}, "owner-token")), problem::forbidden);
  for (std::string path : {"/livez", "/readyz", "/metrics", "/openapi.json"}) {
    EXPECT_EQ(ask("GET", path, "", {}, "").status, 200) << path;
  }
}

TEST_F(http_api, no_log_holds_a_token) {
  ask("GET", "/v1", "", {}, "wrong-token");
  put("m1", "n1");
  EXPECT_TRUE(log.mentions("uid=\"m1\""));
  EXPECT_TRUE(log.mentions("by=\"admin\""));
  EXPECT_FALSE(log.mentions("-token"));
}

TEST_F(http_api, requests_that_make_no_sense_get_a_problem) {
  EXPECT_EQ(suffix(ask("GET", "/nothing")), problem::path_not_found);
  EXPECT_EQ(suffix(ask("GET", "/v1/instances/%")), problem::invalid_request);
  EXPECT_EQ(suffix(ask("GET", "/v1/instances?a=%")), problem::invalid_request);
  net::Response patch = ask("PATCH", "/v1/instances/m1");
  EXPECT_EQ(suffix(patch), problem::method_not_allowed);
  EXPECT_EQ(patch.headers.find("Allow"), "GET, PUT, DELETE");
  EXPECT_EQ(suffix(ask("PUT", "/v1/instances/m1?dryRun=true")), problem::invalid_request);
  EXPECT_EQ(suffix(ask("GET", "/v1/watch")), problem::invalid_request);
  EXPECT_EQ(suffix(ask("PUT", "/v1/instances/m1", R"({"metadata":{"name":"a","name":"b"}})")),
            problem::invalid_spec);
}

TEST_F(http_api, a_request_speaks_for_one_caller_only) {
  net::Headers headers{{"Authorization", "Bearer owner-token"},
                       {"authorization", "Bearer admin-token"}};
  EXPECT_EQ(suffix(ask("GET", "/v1", "", headers, "")), problem::invalid_request);
}

TEST_F(http_api, a_request_keeps_its_own_sane_id_or_gets_one) {
  net::Response own = ask("GET", "/nothing", "", {{"X-Request-Id", "abc-1"}});
  EXPECT_EQ(own.headers.find("X-Request-Id"), "abc-1");
  EXPECT_EQ(api::decode_problem(own.body, 404)->instance, "/nothing#abc-1");
  net::Response made = ask("GET", "/v1", "", {{"X-Request-Id", "a b\r\nc"}});
  EXPECT_EQ(made.headers.find("X-Request-Id")->size(), 36u);
}

TEST_F(http_api, readiness_names_what_somebody_should_look_at) {
  ASSERT_TRUE(files.write("/inventory", "instances: [{uid: m1, name: n1}]", FileMode::owner_only));
  ASSERT_TRUE(world.run(inventory.load()));
  EXPECT_EQ(ask("GET", "/readyz").body, "[+] store\n[+] inventory\n");
  ASSERT_TRUE(files.write("/inventory", "instances: [{uid: m1}]", FileMode::owner_only));
  ASSERT_FALSE(world.run(inventory.load()));
  net::Response local = ask("GET", "/readyz");
  EXPECT_EQ(local.status, 200);
  EXPECT_NE(local.body.find("[!] inventory"), std::string::npos);
  EXPECT_NE(local.body.find("line 1"), std::string::npos);
  peer.is_local = false;
  EXPECT_EQ(ask("GET", "/readyz").body.find("line 1"), std::string::npos);
}

TEST_F(http_api, readiness_shows_a_store_that_answers_and_takes_nothing) {
  put("m1", "n1");
  store->is_full = true;
  EXPECT_EQ(suffix(put("m2", "n2")), problem::unavailable);
  net::Response local = ask("GET", "/readyz");
  EXPECT_EQ(local.status, 200);
  EXPECT_TRUE(local.body.starts_with(
      "[!] store: answers, but the last write failed: database or disk is full\n"));
  peer.is_local = false;
  EXPECT_EQ(ask("GET", "/readyz").body.find("disk is full"), std::string::npos);
  store->is_full = false;
  EXPECT_EQ(put("m2", "n2").status, 201);
  EXPECT_TRUE(ask("GET", "/readyz").body.starts_with("[+] store\n"));
}

TEST_F(http_api, a_damaged_store_is_unavailable_and_never_not_found) {
  ASSERT_TRUE(world.run(store->commit({}, {{"instances/m1", "rubbish"}, {"instances-lock", ""}})));
  EXPECT_EQ(suffix(ask("GET", "/v1/instances/m1")), problem::unavailable);
  EXPECT_EQ(suffix(ask("GET", "/v1/instances")), problem::unavailable);
  EXPECT_EQ(ask("GET", "/readyz").status, 503);
  EXPECT_EQ(ask("GET", "/livez").status, 200);
  EXPECT_TRUE(log.mentions("damaged record"));
}

TEST_F(http_api, requests_and_machines_are_counted) {
  put("m1", "n1");
  ask("DELETE", "/v1/instances/m1");
  put("m2", "n2");
  std::string text = ask("GET", "/metrics").body;
  for (std::string_view line :
       {"infra_http_requests_total{code=\"201\",operation=\"putInstance\"} 2",
        "infra_instances{presence=\"absent\"} 1", "infra_instances{presence=\"present\"} "}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

}  // namespace
}  // namespace isthmus::infra
