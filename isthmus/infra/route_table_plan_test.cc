#include "isthmus/infra/route_table_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "isthmus/infra/ledger_testing.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

const ObjectName kPods{"prod", "pods"};

IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

api::RouteTable a_table(const ObjectName& name = kPods, std::string_view cidr = "10.244.0.0/16",
                        std::string_view destination = "10.244.1.0/24") {
  api::RouteTable table;
  table.metadata.owner = name.owner;
  table.metadata.name = name.name;
  table.spec.cluster_cidrs = {prefix(cidr)};
  table.spec.routes = {{prefix(destination), "vm-1", std::nullopt}};
  return table;
}

// What is planned is what stands from then on.
class route_table_plan : public testing::Test {
 protected:
  RouteTablePlan put(const api::RouteTable& said, Preconditions preconditions = {}) {
    const RouteCircumstances now{at_second(0), destinations ? &*destinations : nullptr, forwards};
    RouteTablePlan plan =
        plan_put(snapshot, said, preconditions, now, "uid-" + std::to_string(++uids));
    commit(plan);
    return plan;
  }
  RouteTablePlan remove(const ObjectName& name, Preconditions preconditions = {}) {
    RouteTablePlan plan = plan_delete_route_table(snapshot, name, preconditions, at_second(5));
    commit(plan);
    return plan;
  }
  void commit(const RouteTablePlan& plan) {
    if (plan.problem || !plan.write) return;
    RouteTableRecord record = plan.record;
    record.metadata.revision = ++snapshot.revision;
    ObjectName name{record.metadata.owner, record.metadata.name};
    snapshot.route_tables[name] = std::make_shared<const RouteTableRecord>(std::move(record));
  }
  // The host has done all it can for the generation.
  void apply(std::uint64_t generation) {
    RouteStatusRecord status;
    status.status.applied_generation = generation;
    snapshot.route_statuses[kPods] = std::make_shared<const RouteStatusRecord>(status);
  }
  static std::string problem_of(const RouteTablePlan& plan) {
    if (!plan.problem) return "";
    std::string text(plan.problem->suffix());
    for (const api::FieldError& error : plan.problem->errors) {
      text += " " + error.pointer + ": " + error.detail;
    }
    return text;
  }

  LedgerSnapshot snapshot;
  std::optional<std::vector<IpPrefix>> destinations{{prefix("10.0.0.0/8"), prefix("fd00::/16")}};
  bool forwards = true;
  int uids = 0;
};

TEST_F(route_table_plan, a_new_one_has_a_uid_and_generation_1) {
  RouteTablePlan plan = put(a_table());
  EXPECT_TRUE(plan.created);
  EXPECT_TRUE(plan.write);
  EXPECT_EQ(plan.record.metadata.uid, "uid-1");
  EXPECT_EQ(plan.record.metadata.generation, 1u);
}

TEST_F(route_table_plan, the_order_of_routes_and_cidrs_means_nothing) {
  api::RouteTable said = a_table();
  said.spec.cluster_cidrs.push_back(prefix("fd00:10::/32"));
  said.spec.routes.push_back({prefix("10.244.2.0/24"), "vm-2", std::nullopt});
  put(said);
  std::ranges::reverse(said.spec.routes);
  std::ranges::reverse(said.spec.cluster_cidrs);
  RouteTablePlan again = put(said);
  EXPECT_FALSE(again.write);
  EXPECT_EQ(again.record.metadata.generation, 1u);
  said.spec.routes[0].next_hop = ip("10.0.0.9");
  EXPECT_EQ(put(said).record.metadata.generation, 2u);
}

TEST_F(route_table_plan, an_owner_routes_what_the_configuration_gives_it) {
  destinations = {prefix("10.244.0.0/17")};
  EXPECT_EQ(problem_of(put(a_table())),
            "routes-not-allowed /spec/clusterCIDRs/0: 10.244.0.0/16 lies in none of the "
            "routes.destinations of prod: 10.244.0.0/17");
  destinations.reset();
  RouteTablePlan none = put(a_table());
  EXPECT_EQ(problem_of(none), "routes-not-allowed");
  EXPECT_EQ(none.problem->detail,
            "prod may hold no route tables: its entry under owners in this server's configuration "
            "has no routes.destinations");
}

TEST_F(route_table_plan, two_tables_have_no_common_cluster_cidr) {
  put(a_table());
  EXPECT_EQ(problem_of(put(a_table({"test", "pods"}, "10.244.128.0/17", "10.244.129.0/24"))),
            "cluster-cidr-in-use /spec/clusterCIDRs/0: 10.244.128.0/17 overlaps 10.244.0.0/16 of "
            "the route table prod/pods");
  EXPECT_EQ(problem_of(put(a_table({"test", "pods"}, "10.0.0.0/8", "10.9.0.0/24"))),
            "cluster-cidr-in-use /spec/clusterCIDRs/0: 10.0.0.0/8 overlaps 10.244.0.0/16 of the "
            "route table prod/pods");
  EXPECT_EQ(problem_of(put(a_table({"test", "pods"}, "10.245.0.0/16", "10.245.1.0/24"))), "");
}

TEST_F(route_table_plan, where_others_forward_none_is_put_and_those_that_stand_can_go) {
  put(a_table());
  forwards = false;
  EXPECT_EQ(problem_of(put(a_table())), "") << "it stands as it should";
  EXPECT_EQ(problem_of(put(a_table({"prod", "other"}, "10.245.0.0/16", "10.245.1.0/24"))),
            "not-offered");
  EXPECT_EQ(problem_of(remove(kPods)), "");
}

TEST_F(route_table_plan, an_owner_has_so_many_and_no_more) {
  for (std::size_t i = 0; i <= kRouteTablesPerOwnerMax; ++i) {
    const std::string cidr = "10." + std::to_string(i) + ".0.0/16";
    RouteTablePlan plan = put(a_table({"prod", "t" + std::to_string(i)}, cidr, cidr));
    EXPECT_EQ(problem_of(plan), i < kRouteTablesPerOwnerMax ? "" : "quota-exceeded");
  }
}

TEST_F(route_table_plan, what_is_dropped_is_remembered_until_the_host_has_followed) {
  const auto dropped_for = [this](std::string_view cidr, std::string_view destination) {
    return put(a_table(kPods, cidr, destination)).record.dropped;
  };
  EXPECT_EQ(dropped_for("10.244.0.0/16", "10.244.1.0/24"), std::vector<IpPrefix>{});
  apply(1);
  EXPECT_EQ(dropped_for("10.244.0.0/16", "10.244.2.0/24"), std::vector{prefix("10.244.1.0/24")});
  EXPECT_EQ(dropped_for("10.245.0.0/16", "10.245.1.0/24"),
            (std::vector{prefix("10.244.1.0/24"), prefix("10.244.2.0/24")}));
  EXPECT_EQ(dropped_for("10.244.0.0/15", "10.244.1.0/24"),
            (std::vector{prefix("10.244.2.0/24"), prefix("10.245.1.0/24")}))
      << "it is named again";
  apply(4);
  EXPECT_EQ(dropped_for("10.244.0.0/16", "10.244.3.0/24"), std::vector{prefix("10.244.1.0/24")});
}

TEST_F(route_table_plan, of_what_is_dropped_a_whole_table_is_remembered_and_no_more) {
  api::RouteTable said = a_table(kPods, "fd00:10::/32");
  for (const std::string_view half : {"1:", "2:"}) {
    said.spec.routes.clear();
    for (std::size_t i = 0; i < api::kRoutesMax; ++i) {
      said.spec.routes.push_back({prefix(fmt::format("fd00:10:{}{:x}::/64", half, i)), "vm-1", {}});
    }
    ASSERT_EQ(problem_of(put(said)), "");
  }
  said.spec.routes.clear();
  EXPECT_EQ(put(said).record.dropped.size(), kDroppedRoutesMax);
}

TEST_F(route_table_plan, one_that_leaves_stands_until_it_is_gone_and_its_generations_go_on) {
  put(a_table());
  RouteTablePlan leaving = remove(kPods);
  EXPECT_TRUE(leaving.write);
  EXPECT_TRUE(leaving.record.is_leaving());
  EXPECT_FALSE(remove(kPods).write) << "it was asked for before";

  std::vector<Write> writes =
      plan_finalize_route_tables(snapshot, std::vector{kPods}, at_second(9));
  ASSERT_EQ(writes.size(), 1);
  EXPECT_EQ(writes[0].key, "routetables/prod/pods");
  RouteTableRecord tombstone = leaving.record;
  tombstone.deleted_at = at_second(9);
  snapshot.route_tables[kPods] = std::make_shared<const RouteTableRecord>(tombstone);
  EXPECT_EQ(problem_of(remove(kPods)), "route-table-not-found");

  RouteTablePlan revived = put(a_table());
  EXPECT_TRUE(revived.created);
  EXPECT_EQ(revived.record.metadata.generation, 2u);
  EXPECT_NE(revived.record.metadata.uid, leaving.record.metadata.uid);
}

TEST_F(route_table_plan, one_that_is_put_while_it_leaves_stays) {
  put(a_table());
  remove(kPods);
  RouteTablePlan back = put(a_table());
  EXPECT_FALSE(back.created);
  EXPECT_FALSE(back.record.is_leaving());
  EXPECT_EQ(back.record.metadata.generation, 2u);
  EXPECT_TRUE(plan_finalize_route_tables(snapshot, std::vector{kPods}, at_second(9)).empty());
}

TEST_F(route_table_plan, what_does_not_stand_as_expected_or_is_protected_is_left_alone) {
  EXPECT_EQ(problem_of(put(a_table(), {.exists = true})), "revision-conflict");
  api::RouteTable said = a_table();
  said.metadata.deletion_protection = true;
  put(said);
  EXPECT_EQ(problem_of(put(a_table(), {.revision = 77})), "revision-conflict");
  EXPECT_EQ(problem_of(remove(kPods, {.revision = 77})), "revision-conflict");
  EXPECT_EQ(problem_of(remove(kPods)), "deletion-protected");
}

TEST_F(route_table_plan, a_dry_run_names_each_difference) {
  put(a_table());
  RouteTableRecord after = *snapshot.route_table(kPods);
  after.spec.routes[0].instance = "vm-2";
  after.metadata.deletion_requested_at = at_second(1);
  const std::vector<api::PlannedChange> changes = changes_of(snapshot.route_table(kPods), after);
  ASSERT_EQ(changes.size(), 2);
  EXPECT_EQ(changes[0].pointer, "/metadata/deletionRequestedAt");
  EXPECT_EQ(changes[1].pointer, "/spec/routes/0/instance");
}

}  // namespace
}  // namespace isthmus::infra
