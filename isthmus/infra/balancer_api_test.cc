#include "isthmus/infra/balancer_api.h"

#include <gtest/gtest.h>

#include "isthmus/infra/object_api_testing.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;
using api::ConditionStatus;
namespace problem = api::problem;

class balancer_api : public ObjectApiFixture {};

TEST_F(balancer_api, a_load_balancer_is_created_changed_and_put_again_without_effect) {
  net::Response created = put_balancer("web");
  net::Response same = put_balancer("web");
  net::Response changed = put_balancer("web", 81);
  EXPECT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(same.status, 200);
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(same.headers.find("ETag"), created.headers.find("ETag"));
  EXPECT_NE(changed.headers.find("ETag"), created.headers.find("ETag"));
  EXPECT_EQ(balancer_in(created).metadata.generation, 1u);
  EXPECT_EQ(balancer_in(same).metadata.generation, 1u);
  EXPECT_EQ(balancer_in(changed).metadata.generation, 2u);
  EXPECT_EQ(balancer_in(changed).status.addresses, balancer_in(created).status.addresses);
  EXPECT_EQ(balancer_in(created).status.addresses.size(), 1u);
}

TEST_F(balancer_api, what_get_answers_can_be_put_again) {
  net::Response created = put_balancer("web");
  net::Response got = ask("GET", path("web"));
  EXPECT_EQ(ask("PUT", path("web"), got.body).body, created.body);
}

TEST_F(balancer_api, before_the_host_has_looked_it_is_accepted_and_not_ready) {
  api::LoadBalancer created = balancer_in(put_balancer("web"));
  EXPECT_EQ(find(created.status.conditions, "Accepted")->status, ConditionStatus::is_true);
  EXPECT_EQ(find(created.status.conditions, "AddressAllocated")->status, ConditionStatus::is_true);
  EXPECT_EQ(find(created.status.conditions, "Ready")->status, ConditionStatus::unknown);
}

TEST_F(balancer_api, preconditions_speak_of_what_the_writer_said_and_not_of_the_status) {
  EXPECT_EQ(suffix(put_balancer("web", 80, {{"If-Match", "*"}})), problem::revision_conflict);
  std::string tag(*put_balancer("web", 80, {{"If-None-Match", "*"}}).headers.find("ETag"));
  EXPECT_EQ(put_balancer("web", 80, {{"If-None-Match", "*"}}).status, 412);
  report("web", "Ready", ConditionStatus::is_true);
  net::Response got = ask("GET", path("web"));
  EXPECT_EQ(got.headers.find("ETag"), tag);
  EXPECT_EQ(fmt::format("\"{}\"", balancer_in(got).metadata.revision - 1), tag);
  EXPECT_EQ(put_balancer("web", 81, {{"If-Match", tag}}).status, 200);
  EXPECT_EQ(put_balancer("web", 82, {{"If-Match", tag}}).status, 412);
}

TEST_F(balancer_api, a_get_carries_the_health_of_each_target_and_a_list_does_not) {
  put_balancer("web");
  api::TargetStatus target;
  target.group = "g";
  target.address = ip("10.0.0.1");
  target.port = 8080;
  target.health = api::Health::healthy;
  view.told[{"prod", "web"}] = {target};
  EXPECT_EQ(balancer_in(ask("GET", path("web"))).status.target_health,
            (std::vector<api::TargetStatus>{target}));
  auto list = api::decode_load_balancer_list(ask("GET", "/v1/owners/prod/loadbalancers").body);
  EXPECT_TRUE(list->items.at(0).status.target_health.empty());
}

TEST_F(balancer_api, of_more_targets_than_can_be_shown_the_unhealthy_come_first) {
  put_balancer("web");
  std::vector<api::TargetStatus>& targets = view.told[{"prod", "web"}];
  targets.resize(10'001);
  targets.back().health = api::Health::unhealthy;
  for (api::TargetStatus& target : targets) {
    target.group = "g";
    target.port = 8080;
  }
  api::LoadBalancer got = balancer_in(ask("GET", path("web")));
  ASSERT_EQ(got.status.target_health.size(), 10'000u);
  EXPECT_EQ(got.status.target_health.front().health, api::Health::unhealthy);
}

TEST_F(balancer_api, a_deletion_is_requested_first_and_not_found_when_it_is_done) {
  put_balancer("web");
  net::Response deleted = ask("DELETE", path("web"), "", {}, "owner-token");
  EXPECT_EQ(deleted.status, 202);
  EXPECT_TRUE(balancer_in(deleted).metadata.deletion_requested_at);
  EXPECT_EQ(ask("DELETE", path("web")).status, 202);
  EXPECT_EQ(ask("GET", path("web")).status, 200);
  ASSERT_TRUE(world.run(ledger.finalize({{"prod", "web"}})));
  EXPECT_EQ(suffix(ask("GET", path("web"))), problem::load_balancer_not_found);
  EXPECT_EQ(suffix(ask("DELETE", path("web"))), problem::load_balancer_not_found);
}

TEST_F(balancer_api, an_orphan_that_its_owner_deletes_is_told_and_audited_once) {
  ledger.found_in_kernel({{{"prod", "lost"}, {7, {ip("192.0.2.6")}}}}, {});
  const auto remove = [this](std::string_view query, net::Headers headers = {}) {
    return ask("DELETE", path("lost") + std::string(query), "", std::move(headers), "owner-token");
  };
  EXPECT_EQ(suffix(remove("", {{"If-Match", "*"}})), problem::revision_conflict);
  const net::Response dry = remove("?dryRun=true");
  EXPECT_EQ(dry.status, 503);
  EXPECT_NE(dry.body.find("it would be taken away"), std::string::npos) << dry.body;
  EXPECT_TRUE(ledger.abandoned().empty());
  EXPECT_FALSE(log.mentions("\"audit\""));

  const net::Response removed = remove("");
  EXPECT_EQ(suffix(removed), problem::unavailable);
  EXPECT_EQ(removed.headers.find("Retry-After"), "1");
  EXPECT_NE(removed.body.find("it is taken away"), std::string::npos) << removed.body;
  EXPECT_TRUE(log.mentions("kind=\"Orphan\" owner=\"prod\" name=\"lost\" generationBefore=7"));
  remove("");
  EXPECT_NE(object_metrics.text().find("infra_writes_total{kind=\"Orphan\",verb=\"DELETE\"} 1"),
            std::string::npos);
  ledger.found_in_kernel({}, {});
  EXPECT_EQ(suffix(remove("")), problem::load_balancer_not_found);
}

TEST_F(balancer_api, an_address_is_preferred_and_no_part_of_what_is_said) {
  auto put = [this](std::string_view name, std::string_view query, int port = 80) {
    return ask("PUT", path(name) + std::string(query), body(port), {}, "owner-token");
  };
  json::value plan = parse_json(put("web", "?dryRun=true&preferAddresses=192.0.2.5").body).value();
  EXPECT_EQ(plan.at("addresses").at(0), "192.0.2.5");
  api::LoadBalancer created = balancer_in(put("web", "?preferAddresses=192.0.2.9,192.0.2.5"));
  EXPECT_EQ(created.status.addresses, std::vector{ip("192.0.2.5")});
  EXPECT_TRUE(created.spec.addresses.empty());
  EXPECT_EQ(balancer_in(put("web", "?preferAddresses=192.0.2.6")), created);
  api::LoadBalancer changed = balancer_in(put("web", "?preferAddresses=192.0.2.6", 81));
  EXPECT_EQ(changed.status.addresses, created.status.addresses);
  EXPECT_EQ(changed.metadata.generation, 2u);
  EXPECT_EQ(balancer_in(put("b", "?preferAddresses=192.0.2.5")).status.addresses,
            std::vector{ip("192.0.2.0")});
  EXPECT_EQ(suffix(put("c", "?preferAddresses=x")), problem::invalid_request);
}

TEST_F(balancer_api, a_dry_run_says_what_would_be_and_stores_nothing) {
  net::Response dry = ask("PUT", path("web") + "?dryRun=true", body());
  EXPECT_EQ(dry.status, 200);
  json::value plan = parse_json(dry.body).value();
  EXPECT_EQ(plan.at("effect"), "created");
  EXPECT_EQ(plan.at("addresses").as_array().size(), 1u);
  EXPECT_EQ(suffix(ask("GET", path("web"))), problem::load_balancer_not_found);
  EXPECT_FALSE(log.mentions("\"audit\""));

  put_balancer("web");
  json::value change = parse_json(ask("PUT", path("web") + "?dryRun=true", body(81)).body).value();
  EXPECT_EQ(change.at("effect"), "changed");
  EXPECT_FALSE(change.at("changes").as_array().empty());
  EXPECT_EQ(parse_json(ask("PUT", path("web") + "?dryRun=true", body()).body)->at("effect"),
            "unchanged");
  EXPECT_EQ(parse_json(ask("DELETE", path("web") + "?dryRun=true").body)->at("effect"), "deleted");
  EXPECT_FALSE(balancer_in(ask("GET", path("web"))).metadata.deletion_requested_at);
}

TEST_F(balancer_api, every_write_has_an_audit_line_and_a_repetition_has_none) {
  put_balancer("web", 80, {{"X-Request-Id", "r1"}});
  put_balancer("web", 80, {{"X-Request-Id", "r2"}});
  put_balancer("web", 81, {{"X-Request-Id", "r3"}});
  EXPECT_TRUE(log.mentions("generationBefore=0 generation=1"));
  EXPECT_TRUE(log.mentions("requestID=\"r1\""));
  EXPECT_FALSE(log.mentions("requestID=\"r2\""));
  EXPECT_TRUE(
      log.mentions("by=\"prod\" verb=\"PUT\" kind=\"LoadBalancer\" owner=\"prod\" "
                   "name=\"web\" generationBefore=1 generation=2"));
}

TEST_F(balancer_api, pools_that_are_not_the_owners_are_refused_and_an_exhausted_one_says_so) {
  net::Response other =
      ask("PUT", path("web", "test"), body(80, R"("pool":"private",)"), {}, "test-token");
  EXPECT_EQ(suffix(other), problem::invalid_spec);
  for (int i = 0; i < 8; ++i) put_balancer(fmt::format("web{}", i));
  net::Response full = put_balancer("web8");
  EXPECT_EQ(suffix(full), problem::pool_exhausted) << full.body;
  EXPECT_EQ(full.status, 409);
}

TEST_F(balancer_api, before_the_host_was_looked_at_nothing_is_allocated) {
  Ledger fresh(*store, world.loop, random, "lb1");
  HttpApi early{{.store = *store,
                 .instances = instances,
                 .access = owners,
                 .inventory = nullptr,
                 .random = random,
                 .metrics = metrics,
                 .log = log,
                 .version = "",
                 .ledger = &fresh,
                 .driver = "nft",
                 .clock = &world.loop}};
  RecordingWriter writer;
  net::Headers headers{{"Authorization", "Bearer owner-token"}};
  ASSERT_TRUE(world.run(early.serve({"PUT", path("web"), headers, body()}, peer, writer)));
  EXPECT_EQ(suffix(writer.response), problem::unavailable);
  EXPECT_TRUE(writer.response.headers.find("Retry-After"));
}

TEST_F(balancer_api, pages_of_a_list_are_read_at_one_revision_and_name_one_owner_only) {
  for (char c = 'a'; c <= 'e'; ++c) put_balancer(std::string(1, c));
  ask("PUT", path("x", "test"), body());
  auto page = [this](std::string query) {
    return api::decode_load_balancer_list(
               ask("GET", "/v1/owners/prod/loadbalancers?limit=2" + query).body)
        .value();
  };
  auto first = page("");
  put_balancer("bb");
  std::vector<std::string> names;
  for (auto list = first;; list = page("&continue=" + list.continue_token)) {
    for (const api::LoadBalancer& item : list.items) names.push_back(item.metadata.name);
    EXPECT_EQ(list.revision, first.revision);
    if (list.continue_token.empty()) break;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
}

Task<Result<>> report_later(Ledger& ledger, Duration delay, ConditionStatus status,
                            std::string type) {
  CO_TRY(co_await sleep_for(delay));
  api::LoadBalancerStatus found;
  found.conditions = {{.type = std::move(type),
                       .status = status,
                       .reason = "Said",
                       .message = "",
                       .last_transition = {},
                       .observed_generation = 1}};
  std::vector<Ledger::FoundStatus> statuses{{{"prod", "web"}, found}};
  Result<> reported = co_await ledger.report(std::move(statuses));
  co_return reported;
}

Task<Result<>> wait_beside(HttpApi& api, Ledger& ledger, std::string target,
                           RecordingWriter& writer, Duration delay, ConditionStatus status,
                           std::string type) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(report_later, std::ref(ledger), delay, status, std::move(type));
  net::Headers headers{{"Authorization", "Bearer owner-token"}};
  net::Request request{"GET", std::move(target), std::move(headers), ""};
  net::Peer peer{.address = "unix", .is_local = true};
  Result<> served = co_await api.serve(std::move(request), std::move(peer), writer);
  Result<> others = co_await scope.join();
  CO_TRY(std::move(others));
  co_return served;
}

TEST_F(balancer_api, a_wait_ends_when_the_condition_is_true) {
  put_balancer("web");
  RecordingWriter writer;
  ASSERT_TRUE(world.run(wait_beside(api, ledger, path("web") + "?waitFor=Ready&generation=1",
                                    writer, 3s, ConditionStatus::is_true, "Ready")));
  EXPECT_EQ(world.elapsed(), 3s);
  EXPECT_EQ(find(balancer_in(writer.response).status.conditions, "Ready")->status,
            ConditionStatus::is_true);
}

TEST_F(balancer_api, a_wait_ends_early_when_waiting_changes_nothing) {
  put_balancer("web");
  RecordingWriter writer;
  ASSERT_TRUE(world.run(wait_beside(api, ledger, path("web") + "?waitFor=Ready", writer, 2s,
                                    ConditionStatus::is_false, "Accepted")));
  EXPECT_EQ(world.elapsed(), 2s);
  EXPECT_EQ(writer.response.status, 200);
}

TEST_F(balancer_api, a_wait_is_answered_with_what_stands_when_its_time_is_over) {
  put_balancer("web");
  net::Response response = ask("GET", path("web") + "?waitFor=Ready&timeout=7s");
  EXPECT_EQ(world.elapsed(), 7s);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(ask("GET", path("web") + "?waitFor=Ready&generation=9&timeout=0s").status, 200);
  EXPECT_EQ(suffix(ask("GET", path("none") + "?waitFor=Ready")), problem::load_balancer_not_found);
  EXPECT_EQ(world.elapsed(), 7s);
}

}  // namespace
}  // namespace isthmus::infra
