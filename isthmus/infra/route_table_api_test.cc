#include "isthmus/infra/route_table_api.h"

#include <gtest/gtest.h>

#include "isthmus/infra/object_api_testing.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

class route_table_api : public ObjectApiFixture {
 protected:
  route_table_api() {
    Config config = with_two_owners();
    config.owners[0].destinations = {{prefix("10.244.0.0/16")}};
    owners.replace(config);
  }
  net::HttpHandler& served() override { return announcing ? *announcing : api; }

  static std::string table_path(std::string_view name, std::string_view owner = "prod") {
    return fmt::format("/v1/owners/{}/routetables/{}", owner, name);
  }
  static std::string table_body(std::string_view instance = "vm-1",
                                std::string_view cidr = "10.244.0.0/16") {
    return fmt::format(R"({{"spec":{{"clusterCIDRs":["{}"],"routes":[)"
                       R"({{"destination":"10.244.1.0/24","instance":"{}"}}]}}}})",
                       cidr, instance);
  }
  net::Response put_table(std::string_view name, std::string_view instance = "vm-1",
                          net::Headers headers = {}) {
    return ask("PUT", table_path(name), table_body(instance), std::move(headers), "owner-token");
  }
  static api::RouteTable table_in(const net::Response& response) {
    Result<api::RouteTable> read = api::decode_route_table(response.body);
    EXPECT_TRUE(read) << response.body;
    return read.value_or(api::RouteTable{});
  }
  // As the host would, for the generation that stands.
  void report(std::vector<api::RouteStatus> not_applied,
              std::vector<api::OrphanRoute> orphans = {}) {
    const ObjectName name{"prod", "pods"};
    auto snapshot = world.run(ledger.latest()).value();
    api::RouteTableStatus status;
    status.observed_generation = status.applied_generation =
        snapshot->route_table(name)->metadata.generation;
    status.routes = std::move(not_applied);
    status.orphans = std::move(orphans);
    ASSERT_TRUE(world.run(ledger.report(name, status)));
  }

  std::optional<HttpApi> announcing;  // The one that is asked, where there is one.
};

TEST_F(route_table_api, a_table_is_created_changed_and_put_again_without_effect) {
  net::Response created = put_table("pods");
  EXPECT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(put_table("pods").body, created.body);
  net::Response changed = put_table("pods", "vm-2");
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(table_in(changed).metadata.generation, 2u);
  EXPECT_EQ(ask("GET", table_path("pods")).body, changed.body);
  EXPECT_TRUE(log.mentions("kind=\"RouteTable\" owner=\"prod\" name=\"pods\" generationBefore=1"));
  auto list = api::decode_route_table_list(ask("GET", "/v1/owners/prod/routetables").body);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->items.size(), 1);
  EXPECT_EQ(list->items[0], table_in(changed));
}

TEST_F(route_table_api, every_route_is_told_with_its_state) {
  const api::RouteTable first = table_in(put_table("pods"));
  ASSERT_EQ(first.status.routes.size(), 1);
  EXPECT_EQ(first.status.routes[0].state, api::RouteState::pending);
  EXPECT_EQ(first.status.routes[0].reason, "Pending");
  report({});
  const api::RouteTable applied = table_in(ask("GET", table_path("pods")));
  EXPECT_EQ(applied.status.routes[0].state, api::RouteState::applied);
  EXPECT_GT(applied.metadata.revision, first.metadata.revision);
  report({{prefix("10.244.1.0/24"), api::RouteState::conflict, "ForeignRoute", "static"}});
  EXPECT_EQ(table_in(ask("GET", table_path("pods"))).status.routes[0].reason, "ForeignRoute");
  EXPECT_EQ(table_in(put_table("pods", "vm-2")).status.routes[0].reason, "Pending")
      << "the host has not looked at this generation";
}

TEST_F(route_table_api, routes_that_the_host_holds_and_nobody_knows_are_told) {
  put_table("pods");
  const std::vector<api::OrphanRoute> orphans = {{prefix("10.244.9.0/24"), ip("10.0.0.9")}};
  report({}, orphans);
  EXPECT_EQ(table_in(ask("GET", table_path("pods"))).status.orphans, orphans);
  EXPECT_EQ(table_in(put_table("pods", "vm-2")).status.orphans, orphans);
}

TEST_F(route_table_api, a_table_that_is_deleted_stands_until_the_host_has_nothing_of_it) {
  put_table("pods");
  EXPECT_EQ(ask("DELETE", table_path("pods") + "?dryRun=true").status, 200);
  net::Response leaving = ask("DELETE", table_path("pods"));
  EXPECT_EQ(leaving.status, 202);
  EXPECT_TRUE(table_in(leaving).metadata.deletion_requested_at);
  EXPECT_EQ(ask("GET", table_path("pods")).status, 200);
  ASSERT_TRUE(world.run(ledger.finalize_route_tables({{"prod", "pods"}})));
  EXPECT_EQ(suffix(ask("GET", table_path("pods"))), problem::route_table_not_found);
  EXPECT_EQ(suffix(ask("DELETE", table_path("pods"))), problem::route_table_not_found);
  EXPECT_EQ(
      api::decode_route_table_list(ask("GET", "/v1/owners/prod/routetables").body)->items.size(),
      0);
}

TEST_F(route_table_api, a_dry_run_says_what_would_change_and_changes_nothing) {
  net::Response planned = ask("PUT", table_path("pods") + "?dryRun=true", table_body());
  EXPECT_EQ(planned.status, 200);
  EXPECT_TRUE(planned.body.contains(R"("effect":"created")")) << planned.body;
  EXPECT_EQ(ask("GET", table_path("pods")).status, 404);
}

TEST_F(route_table_api, a_request_that_cannot_be_carried_out_says_why) {
  EXPECT_EQ(suffix(ask("PUT", table_path("pods"), "{")), problem::invalid_request);
  EXPECT_EQ(suffix(ask("PUT", table_path("pods"), "{}")), problem::invalid_spec);
  EXPECT_EQ(suffix(put_table("pods", "vm-1", {{"If-Match", "\"7\""}})), problem::revision_conflict);
  EXPECT_EQ(suffix(ask("PUT", table_path("pods"), table_body("vm-1", "10.0.0.0/8"))),
            problem::routes_not_allowed);
  EXPECT_EQ(suffix(ask("PUT", table_path("pods", "test"), table_body(), {}, "test-token")),
            problem::routes_not_allowed);
  EXPECT_EQ(suffix(ask("PUT", table_path("pods"), table_body(), {}, "test-token")),
            problem::not_owner);
  EXPECT_EQ(suffix(ask("PUT", table_path("pods"), std::string(api::kRouteTableBodyMax + 1, ' '))),
            problem::body_too_large);
}

TEST_F(route_table_api, whoever_watches_is_told_of_tables_and_their_states) {
  put_table("pods");
  report({});
  ask("DELETE", table_path("pods"));
  ASSERT_TRUE(world.run(ledger.finalize_route_tables({{"prod", "pods"}})));
  OwnerEvents events(ledger, owners, world.loop, "prod", false);
  Changes changes = world.run(store->watch("", 0, 1000)).value();
  std::vector<api::WatchEvent> told = world.run(events.events_of(std::move(changes), 0)).value();
  auto is_table = [](const api::WatchEvent& event) { return event.route_table.has_value(); };
  ASSERT_EQ(std::ranges::count_if(told, is_table), 1) << "once, as it stands now";
  auto last = std::ranges::find_if(told, is_table);
  EXPECT_EQ(last->type, api::WatchEvent::Type::removed);
  EXPECT_EQ(last->route_table->metadata.name, "pods");
  EXPECT_TRUE(last->route_table->spec.routes.empty());
}

TEST_F(route_table_api, is_offered_where_this_host_forwards) {
  EXPECT_TRUE(ask("GET", "/v1").body.contains(R"("routeTables")"));
  HttpApi::Parts parts_of_it = parts();
  parts_of_it.driver = "announce";
  announcing.emplace(std::move(parts_of_it));
  ledger.leave_targets_to_others();
  EXPECT_FALSE(ask("GET", "/v1").body.contains(R"("routeTables")"));
  EXPECT_EQ(suffix(put_table("pods")), problem::not_offered);
}

}  // namespace
}  // namespace isthmus::infra
