#include "isthmus/infra/http_api.h"

#include <gtest/gtest.h>

#include "isthmus/infra/api/openapi.h"
#include "isthmus/infra/api/server_info.h"
#include "isthmus/infra/http_api_testing.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

class http_api : public HttpApiFixture {};

TEST_F(http_api, says_what_it_is) {
  net::Response response = ask("GET", "/v1");
  EXPECT_EQ(response.status, 200);
  api::ServerInfo info = api::decode_server_info(response.body).value();
  EXPECT_EQ(info.protocol_version, "v1");
  EXPECT_EQ(info.provider_id_scheme, "isthmus");
  EXPECT_TRUE(info.has(api::capability::instance_watch));
  EXPECT_EQ(info.server_version, "1.2");
}

TEST_F(http_api, says_who_the_caller_is_where_it_is_an_owner) {
  auto owner = [this](std::string token) {
    return api::decode_server_info(ask("GET", "/v1", "", {}, std::move(token)).body).value().owner;
  };
  EXPECT_EQ(owner("owner-token"), "prod");
  EXPECT_EQ(owner("admin-token"), "");
}

TEST_F(http_api, serves_its_own_description) {
  EXPECT_EQ(ask("GET", "/openapi.json", "", {}, "").body, api::openapi_json());
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

TEST_F(http_api, a_server_without_a_host_offers_no_load_balancers) {
  for (std::string path : {"/v1/owners/prod/loadbalancers", "/v1/owners/prod/watch?from=0",
                           "/v1/pools", "/v1/orphans"}) {
    EXPECT_EQ(suffix(ask("GET", path)), problem::not_offered) << path;
  }
}

TEST_F(http_api, what_belongs_to_another_owner_is_out_of_reach) {
  net::Response response = ask("GET", "/v1/owners/test/loadbalancers", "", {}, "owner-token");
  EXPECT_EQ(response.status, 403);
  EXPECT_EQ(suffix(response), problem::not_owner);
  EXPECT_EQ(suffix(ask("GET", "/v1/owners/prod/loadbalancers", "", {}, "owner-token")),
            problem::not_offered);
  EXPECT_EQ(suffix(ask("GET", "/v1/orphans", "", {}, "owner-token")), problem::forbidden);
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
  store->commit_failure = {Outcome::lost, "database or disk is full"};
  EXPECT_EQ(suffix(put("m2", "n2")), problem::unavailable);
  net::Response local = ask("GET", "/readyz");
  EXPECT_EQ(local.status, 200);
  EXPECT_TRUE(local.body.starts_with(
      "[!] store: answers, but the last write failed: database or disk is full\n"));
  peer.is_local = false;
  EXPECT_EQ(ask("GET", "/readyz").body.find("disk is full"), std::string::npos);
  store->commit_failure.reset();
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
