// The routes of a host, as the reconciler keeps them: the whole of it, on an imagined kernel.
#include "isthmus/infra/route_keeper.h"

#include <fmt/format.h>

#include "isthmus/infra/reconciler_testing.h"

namespace isthmus::infra {
namespace {

using namespace testing;
using drivers::HostRoute;
using Lines = std::vector<std::string>;

const ObjectName kPods{"prod", "pods"};

IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

class route_keeper : public ReconcilerTest {
 protected:
  // So many routes, each by its next hop.
  static api::RouteTable a_table(std::size_t routes = 2) {
    api::RouteTable table;
    table.metadata.owner = kPods.owner;
    table.metadata.name = kPods.name;
    table.spec.cluster_cidrs = {prefix("10.244.0.0/16")};
    for (std::size_t i = 0; i < routes; ++i) {
      const IpPrefix destination{ip(fmt::format("10.244.{}.{}", i / 16, i % 16 * 16)), 28};
      table.spec.routes.push_back({destination, "", ip(fmt::format("10.0.0.{}", 2 + i % 90))});
    }
    return table;
  }
  // To other cluster CIDRs.
  static api::RouteTable a_moved_table() {
    api::RouteTable moved = a_table(0);
    moved.spec.cluster_cidrs = {prefix("10.245.0.0/16")};
    moved.spec.routes = {{prefix("10.245.1.0/24"), "", ip("10.0.0.5")}};
    return moved;
  }
  RouteTablePlan put(const api::RouteTable& table) {
    Result<RouteTablePlan> plan = world.run(process->ledger.put(table, {}, &destinations, false));
    EXPECT_TRUE(plan) << plan.error().message;
    EXPECT_FALSE(plan && plan->problem) << plan->problem->detail;
    world.advance(1s);
    return plan.value_or(RouteTablePlan{});
  }
  void remove() {
    Result<RouteTablePlan> plan = world.run(process->ledger.remove_route_table(kPods, {}, false));
    ASSERT_TRUE(plan && !plan->problem);
    world.advance(1s);
  }

  // "10.244.0.0/28 10.0.0.2"
  Lines held() const {
    Lines lines;
    for (const HostRoute& route : kernel.routes) {
      lines.push_back(to_string(route.destination) + " " + to_string(route.next_hop));
    }
    return lines;
  }
  api::RouteTableStatus status() {
    const RouteStatusRecord* found = process->ledger_now()->route_status(kPods);
    return found == nullptr ? api::RouteTableStatus{} : found->status;
  }
  // "True Programmed"
  std::string said(std::string_view type) {
    const api::RouteTableStatus now = status();
    const api::Condition* condition = api::find(now.conditions, type);
    if (condition == nullptr) return "";
    return std::string(api::to_string(condition->status)) + " " + condition->reason;
  }
  // Of those that are not applied: "10.244.0.0/28 conflict ForeignRoute".
  Lines not_applied() {
    Lines lines;
    for (const api::RouteStatus& route : status().routes) {
      lines.push_back(fmt::format("{} {} {}", to_string(route.destination),
                                  api::to_string(route.state), route.reason));
    }
    return lines;
  }
  // That the status tells of: "10.244.9.0/28 10.0.0.9".
  Lines orphans() {
    Lines lines;
    for (const api::OrphanRoute& orphan : status().orphans) {
      lines.push_back(to_string(orphan.destination) + " " + to_string(orphan.next_hop.value()));
    }
    return lines;
  }
  static HostRoute route(std::string_view destination, std::string_view next_hop) {
    return {prefix(destination), ip(next_hop), "eth0"};
  }
  void hold(const HostRoute& route) {
    kernel.routes.push_back(route);
    std::ranges::sort(kernel.routes);
  }
  double metric(std::string_view line) {
    const std::string text = process->metrics.text();
    const std::size_t at = text.find("\n" + std::string(line) + " ");
    return at == text.npos ? -1 : std::stod(text.substr(at + line.size() + 2));
  }

  std::vector<IpPrefix> destinations{prefix("10.0.0.0/8")};
};

TEST_F(route_keeper, a_table_is_made_changed_and_taken_away) {
  put(a_table());
  EXPECT_EQ(held(), (Lines{"10.244.0.0/28 10.0.0.2", "10.244.0.16/28 10.0.0.3"}));
  EXPECT_EQ(said("Ready"), "True Ready");
  EXPECT_EQ(status().applied_generation, 1u);
  EXPECT_EQ(not_applied(), Lines{});

  api::RouteTable changed = a_table(3);
  changed.spec.routes.erase(changed.spec.routes.begin());
  changed.spec.routes[0].next_hop = ip("10.0.0.99");
  put(changed);
  EXPECT_EQ(held(), (Lines{"10.244.0.16/28 10.0.0.99", "10.244.0.32/28 10.0.0.4"}));
  EXPECT_EQ(status().applied_generation, 2u);

  remove();
  EXPECT_EQ(held(), Lines{});
  EXPECT_EQ(process->ledger_now()->route_table(kPods), nullptr);
  EXPECT_EQ(process->ledger_now()->route_status(kPods), nullptr);
}

TEST_F(route_keeper, a_restart_writes_nothing_where_all_is_right_and_else_what_differs) {
  put(a_table());
  const std::size_t writes = kernel.route_writes;
  const Revision revision = process->ledger_now()->revision;
  begin();
  world.advance(1s);
  EXPECT_EQ(kernel.route_writes, writes);
  EXPECT_EQ(process->ledger_now()->revision, revision) << "nor to the store";
  process.reset();
  kernel.routes.erase(kernel.routes.begin());
  begin();
  world.advance(1s);
  EXPECT_EQ(kernel.route_writes, writes + 1);
}

TEST_F(route_keeper, what_others_take_away_is_put_back_and_counted) {
  put(a_table());
  kernel.routes.clear();
  kernel.changes.routes = true;
  world.advance(1s);
  EXPECT_EQ(held().size(), 2);
  EXPECT_EQ(metric(R"(infra_drift_repairs_total{kind="route"})"), 2);
  kernel.routes.clear();  // In silence, as by a link that goes down.
  world.advance(kHostDumpPeriod + 1s);
  EXPECT_EQ(held().size(), 2);
}

TEST_F(route_keeper, a_link_that_is_down_keeps_its_routes_waiting_and_gets_them_back) {
  put(a_table());
  kernel.down = {"eth0"};
  kernel.routes.clear();
  kernel.changes.links = true;
  world.advance(1s);
  EXPECT_EQ(held(), Lines{});
  EXPECT_EQ(not_applied(),
            (Lines{"10.244.0.0/28 pending LinkDown", "10.244.0.16/28 pending LinkDown"}));
  EXPECT_EQ(said("Programmed"), "False RoutesPending");
  kernel.down.clear();
  kernel.changes.links = true;
  world.advance(1s);
  EXPECT_EQ(held().size(), 2);
  EXPECT_EQ(said("Programmed"), "True Programmed");
}

TEST_F(route_keeper, a_foreign_route_in_the_place_is_told_and_not_touched) {
  const IpPrefix taken = prefix("10.244.0.0/28");
  kernel.foreign_routes[taken] = {taken, 4, drivers::kRouteMetric, ip("10.0.0.9"), "eth0"};
  put(a_table());
  EXPECT_EQ(held(), Lines{"10.244.0.16/28 10.0.0.3"}) << "the others are made";
  EXPECT_EQ(not_applied(), Lines{"10.244.0.0/28 conflict ForeignRoute"});
  EXPECT_EQ(status().routes[0].message,
            "10.244.0.0/28 via 10.0.0.9 dev eth0 proto static metric 66 is not from us");
  EXPECT_EQ(said("Ready"), "False RouteConflict");
  EXPECT_EQ(status().applied_generation, 1u) << "all that could be done was done";

  kernel.foreign_routes.clear();
  world.advance(kHostDumpPeriod + 1s);
  EXPECT_EQ(held().size(), 2);
  EXPECT_EQ(said("Ready"), "True Ready");
}

TEST_F(route_keeper, a_route_that_no_packet_takes_is_in_conflict) {
  put(a_table());
  const IpPrefix taken = prefix("10.244.0.0/28");
  kernel.foreign_routes[taken] = {taken, 4, 0, ip("10.0.0.9"), "eth0"};
  world.advance(kHostDumpPeriod + 1s);
  EXPECT_EQ(held().size(), 2) << "it takes over when the other goes";
  EXPECT_EQ(not_applied(), Lines{"10.244.0.0/28 conflict Shadowed"});

  api::RouteTable changed = a_table();
  changed.spec.routes[0].next_hop = ip("10.0.0.50");
  put(changed);
  EXPECT_EQ(held()[0], "10.244.0.0/28 10.0.0.2") << "the kernel could replace the foreign one";
  EXPECT_EQ(not_applied(), Lines{"10.244.0.0/28 conflict Shadowed"});

  kernel.foreign_routes.clear();
  world.advance(kHostDumpPeriod + 1s);
  EXPECT_EQ(held()[0], "10.244.0.0/28 10.0.0.50");
  EXPECT_EQ(said("Ready"), "True Ready");
}

TEST_F(route_keeper, a_route_behind_a_blackhole_of_others_is_in_conflict_and_can_still_be_changed) {
  put(a_table());
  kernel.blackholes = {prefix("10.244.0.0/28")};
  world.advance(kHostDumpPeriod + 1s);
  ASSERT_EQ(not_applied(), Lines{"10.244.0.0/28 conflict Shadowed"});
  EXPECT_TRUE(status().routes[0].message.starts_with("packets have no way there"));
  EXPECT_EQ(said("Ready"), "False RouteConflict");

  api::RouteTable changed = a_table();
  changed.spec.routes[0].next_hop = ip("10.0.0.50");
  put(changed);
  EXPECT_EQ(held()[0], "10.244.0.0/28 10.0.0.50");
  EXPECT_EQ(not_applied(), Lines{"10.244.0.0/28 conflict Shadowed"});

  kernel.blackholes.clear();
  world.advance(kHostDumpPeriod + 1s);
  EXPECT_EQ(said("Ready"), "True Ready");
}

// As after the store was lost, or an old copy of it restored: it may be what pods talk by, and only
// who has named it can say that it is not.
TEST_F(route_keeper, what_no_table_knows_stays_until_one_has_named_it_and_no_longer_does) {
  put(a_table());
  hold(route("10.244.9.0/28", "10.0.0.9"));  // In the table's own CIDR.
  hold(route("10.99.0.0/28", "10.0.0.9"));   // In nobody's.
  begin();
  world.advance(2 * kHostDumpPeriod);
  EXPECT_EQ(held().size(), 4);
  EXPECT_EQ(metric("infra_orphan_routes"), 2);
  EXPECT_EQ(orphans(), Lines{"10.244.9.0/28 10.0.0.9"});

  put(a_table(3));
  EXPECT_EQ(held().size(), 5) << "whoever wrote that does not know of it";
  EXPECT_EQ(orphans(), Lines{"10.244.9.0/28 10.0.0.9"});
  EXPECT_EQ(said("Ready"), "True Ready");

  api::RouteTable adopting = a_table(3);
  adopting.spec.routes.push_back({prefix("10.244.9.0/28"), "", ip("10.0.0.9")});
  put(adopting);
  EXPECT_EQ(held().size(), 5);
  EXPECT_EQ(orphans(), Lines{});
  put(a_table(2));
  EXPECT_EQ(held(),
            (Lines{"10.99.0.0/28 10.0.0.9", "10.244.0.0/28 10.0.0.2", "10.244.0.16/28 10.0.0.3"}));
  EXPECT_EQ(metric("infra_orphan_routes"), 1);
}

TEST_F(route_keeper, a_table_that_is_new_takes_nothing_away_and_one_that_leaves_everything) {
  hold(route("10.244.9.0/28", "10.0.0.9"));
  begin();
  put(a_table());
  EXPECT_EQ(held().size(), 3);
  EXPECT_EQ(orphans(), Lines{"10.244.9.0/28 10.0.0.9"});
  remove();
  EXPECT_EQ(held(), Lines{});
}

// Its record still has it: that is long done, and what lies there now is not this table's.
TEST_F(route_keeper, a_table_that_leaves_does_not_take_what_it_dropped_long_ago) {
  put(a_table());
  put(a_moved_table());
  api::RouteTable next = a_table(0);
  next.metadata.name = "next";
  put(next);
  hold(route("10.244.0.0/28",
             "10.0.0.2"));  // As an old copy of the store, without it, was restored.
  begin();
  remove();
  EXPECT_EQ(process->ledger_now()->route_table(kPods), nullptr);
  EXPECT_EQ(held(), Lines{"10.244.0.0/28 10.0.0.2"});
}

TEST_F(route_keeper, a_table_that_leaves_takes_what_it_dropped_and_the_host_still_has) {
  put(a_table());
  kernel.cannot_route = {prefix("10.244.0.0/28")};
  put(a_moved_table());
  ASSERT_EQ(held(), (Lines{"10.244.0.0/28 10.0.0.2", "10.245.1.0/24 10.0.0.5"}));
  remove();
  EXPECT_NE(process->ledger_now()->route_table(kPods), nullptr);
  kernel.cannot_route.clear();
  world.advance(kHostDumpPeriod + 1s);
  EXPECT_EQ(held(), Lines{});
  EXPECT_EQ(process->ledger_now()->route_table(kPods), nullptr);
}

TEST_F(route_keeper, each_that_no_table_knows_is_logged_when_it_is_found) {
  const auto warnings = [this] {
    Lines found;
    for (const MemoryLogger::Line& line : process->log.lines) {
      const std::size_t at = line.text.find("no route table names");
      if (at != line.text.npos) found.push_back(line.text.substr(line.text.find(" routes=", at)));
    }
    return found;
  };
  hold(route("10.244.1.0/28", "10.0.0.9"));
  begin();
  world.advance(2 * kHostDumpPeriod);
  ASSERT_EQ(warnings(), Lines{R"( routes=1 new=1 first="10.244.1.0/28")"});
  hold(route("10.244.2.0/28", "10.0.0.9"));
  world.advance(2 * kHostDumpPeriod);
  kernel.routes = {route("10.244.2.0/28", "10.0.0.9"), route("10.244.3.0/28", "10.0.0.9")};
  world.advance(2 * kHostDumpPeriod);
  EXPECT_EQ(warnings(), (Lines{R"( routes=1 new=1 first="10.244.1.0/28")",
                               R"( routes=2 new=1 first="10.244.2.0/28")",
                               R"( routes=2 new=1 first="10.244.3.0/28")"}));
}

TEST_F(route_keeper, what_no_table_knows_is_adopted_where_it_is_named) {
  hold(route("10.244.0.0/28", "10.0.0.2"));
  hold(route("10.244.0.16/28", "10.0.0.77"));
  begin();
  const std::size_t writes = kernel.route_writes;
  put(a_table());
  EXPECT_EQ(held(), (Lines{"10.244.0.0/28 10.0.0.2", "10.244.0.16/28 10.0.0.3"}));
  EXPECT_EQ(kernel.route_writes, writes + 1) << "one was right";
}

TEST_F(route_keeper, routes_in_cluster_cidrs_that_were_given_up_go) {
  put(a_table());
  put(a_moved_table());
  EXPECT_EQ(held(), Lines{"10.245.1.0/24 10.0.0.5"});
}

TEST_F(route_keeper, a_host_that_cannot_be_read_keeps_what_was_known_and_is_asked_again) {
  put(a_table());
  process->host.routes().refuse_to_observe = Error{Outcome::lost, "the kernel is silent"};
  put(a_table(3));
  EXPECT_EQ(said("Programmed"), "False RoutesFailed");
  EXPECT_EQ(not_applied(), Lines{"10.244.0.32/28 pending RoutesFailed"}) << "others are there";
  EXPECT_EQ(held().size(), 2);
  process->host.routes().refuse_to_observe.reset();
  world.advance(1s);
  EXPECT_EQ(said("Programmed"), "True Programmed");
  EXPECT_EQ(held().size(), 3);
}

TEST_F(route_keeper,
       a_host_whose_routes_change_while_they_are_read_is_read_again_and_nobody_is_told) {
  put(a_table());
  process->host.routes().refuse_to_observe = Error{Outcome::busy, "they changed meanwhile"};
  put(a_table(3));
  EXPECT_EQ(status().observed_generation, 1u) << "what was said stands";
  EXPECT_EQ(said("Programmed"), "True Programmed");
  process->host.routes().refuse_to_observe.reset();
  world.advance(1s);
  EXPECT_EQ(status().observed_generation, 2u);
  EXPECT_EQ(held().size(), 3);
}

TEST_F(route_keeper, a_route_that_the_kernel_refuses_stops_no_other_and_is_tried_again) {
  kernel.cannot_route = {prefix("10.244.0.0/28")};
  put(a_table(3));
  EXPECT_EQ(held().size(), 2);
  EXPECT_EQ(not_applied(), Lines{"10.244.0.0/28 pending RouteRefused"});
  EXPECT_EQ(status().routes[0].message, "no way there");
  kernel.cannot_route.clear();
  world.advance(kHostDumpPeriod + 1s);
  EXPECT_EQ(said("Ready"), "True Ready");
}

TEST_F(route_keeper,
       so_many_that_the_kernel_refuses_hold_up_no_other_and_are_not_tried_all_the_time) {
  const std::size_t refused = kRouteChangesPerPass + 100;
  const api::RouteTable table = a_table(refused + 50);
  for (std::size_t i = 0; i < refused; ++i) {
    kernel.cannot_route.insert(table.spec.routes[i].destination);
  }
  put(table);
  EXPECT_EQ(held().size(), 50);
  EXPECT_EQ(not_applied().size(), refused) << "those of earlier passes are told as well";
  EXPECT_EQ(said("Programmed"), "False RoutesPending");
  const double passes = metric("infra_reconcile_duration_seconds_count");
  world.advance(kHostDumpPeriod);
  EXPECT_LT(metric("infra_reconcile_duration_seconds_count"), passes + 50);

  const std::set<IpPrefix> in_place = std::exchange(kernel.cannot_route, {});
  world.advance(kHostDumpPeriod + 1s);
  EXPECT_EQ(said("Ready"), "True Ready");

  kernel.cannot_route = in_place;
  remove();
  EXPECT_EQ(held().size(), refused) << "all that can go is gone";
  EXPECT_NE(process->ledger_now()->route_table(kPods), nullptr);
  kernel.cannot_route.clear();
  world.advance(kHostDumpPeriod + 1s);
  EXPECT_EQ(held(), Lines{});
  EXPECT_EQ(process->ledger_now()->route_table(kPods), nullptr);
}

TEST_F(route_keeper, what_cannot_be_taken_away_keeps_its_table_standing) {
  put(a_table());
  kernel.cannot_route = {prefix("10.244.0.0/28")};
  remove();
  EXPECT_EQ(held().size(), 1);
  ASSERT_NE(process->ledger_now()->route_table(kPods), nullptr);
  kernel.cannot_route.clear();
  world.advance(kHostDumpPeriod + 1s);
  EXPECT_EQ(held(), Lines{});
  EXPECT_EQ(process->ledger_now()->route_table(kPods), nullptr);
}

TEST_F(route_keeper, many_routes_are_made_in_several_passes_and_told_once) {
  const std::size_t count = 2 * kRouteChangesPerPass + 5;
  put(a_table(count));
  EXPECT_EQ(held().size(), count);
  EXPECT_EQ(said("Ready"), "True Ready");
  EXPECT_EQ(metric(R"(infra_routes{state="applied"})"), static_cast<double>(count));
}

TEST_F(route_keeper, a_host_that_does_not_forward_says_so) {
  kernel.not_forwarded = {IpFamily::v4};
  put(a_table());
  world.advance(2s);
  EXPECT_EQ(said("Programmed"), "True Programmed");
  EXPECT_EQ(said("Ready"), "False ForwardingOff");
  kernel.not_forwarded.clear();
  world.advance(2s);
  EXPECT_EQ(said("Ready"), "True Ready");
}

// Wherever it is killed, the next one finishes the work, and nothing that should be there is ever
// taken away on the way.
TEST_F(route_keeper, a_process_that_is_killed_at_any_step_is_followed_by_one_that_finishes) {
  for (std::size_t steps = 0; steps < 12; ++steps) {
    kernel.routes.clear();
    store = open_sqlite_store(":memory:").value();
    begin();
    put(a_table(3));
    api::RouteTable changed = a_table(5);
    changed.spec.routes.erase(changed.spec.routes.begin());
    changed.spec.routes[0].next_hop = ip("10.0.0.99");
    process->host.die_after(steps);
    (void)world.run(process->ledger.put(changed, {}, &destinations, false));
    world.advance(1s);
    const Lines between = held();
    EXPECT_TRUE(std::ranges::any_of(between, [](const std::string& line) {
      return line.starts_with("10.244.0.16/28 ");
    })) << steps;
    begin();
    world.advance(1s);
    const bool was_taken = process->ledger_now()->route_table(kPods)->metadata.generation == 2;
    EXPECT_EQ(held().size(), was_taken ? 4 : 3) << steps;
    EXPECT_EQ(held()[0], was_taken ? "10.244.0.16/28 10.0.0.99" : "10.244.0.0/28 10.0.0.2")
        << steps;
    EXPECT_EQ(said("Ready"), "True Ready") << steps;
  }
}

class route_keeper_of_machines : public route_keeper {
 protected:
  void set_machine(std::string_view address) {
    InstanceRecord record;
    record.instance.uid = "vm-1";
    record.instance.addresses = {{api::AddressType::internal_ip, std::string(address)}};
    auto next = std::make_shared<InstanceSnapshot>();
    next->revision = machines == nullptr ? 1 : machines->revision + 1;
    next->records["vm-1"] = std::make_shared<const InstanceRecord>(std::move(record));
    machines = std::move(next);
  }
  std::shared_ptr<const InstanceSnapshot> machines;
};

TEST_F(route_keeper_of_machines, a_route_that_is_made_later_is_looked_at_as_well) {
  process->ledger.set_machines([this] { return machines.get(); });
  const IpPrefix taken = prefix("10.244.1.0/24");
  kernel.foreign_routes[taken] = {taken, 4, 0, ip("10.0.0.9"), "eth0"};
  api::RouteTable table = a_table(0);
  table.spec.routes = {{taken, "vm-1", std::nullopt}};
  put(table);
  set_machine("10.0.0.11");
  world.advance(1s);
  EXPECT_EQ(not_applied(), Lines{"10.244.1.0/24 conflict Shadowed"});
}

TEST_F(route_keeper_of_machines, a_route_follows_the_address_of_its_machine) {
  process->ledger.set_machines([this] { return machines.get(); });
  api::RouteTable table = a_table(0);
  table.spec.routes = {{prefix("10.244.1.0/24"), "vm-1", std::nullopt}};
  put(table);
  EXPECT_EQ(not_applied(), Lines{"10.244.1.0/24 pending InstanceUnknown"});
  set_machine("10.0.0.11");
  world.advance(1s);
  EXPECT_EQ(held(), Lines{"10.244.1.0/24 10.0.0.11"});
  EXPECT_EQ(said("Ready"), "True Ready");
  set_machine("10.0.0.12");
  world.advance(1s);
  EXPECT_EQ(held(), Lines{"10.244.1.0/24 10.0.0.12"});
  machines = std::make_shared<const InstanceSnapshot>(InstanceSnapshot{.revision = 9});
  world.advance(1s);
  EXPECT_EQ(held(), Lines{"10.244.1.0/24 10.0.0.12"}) << "unknown is not gone";
  EXPECT_EQ(not_applied(), Lines{"10.244.1.0/24 pending InstanceUnknown"});
}

}  // namespace
}  // namespace isthmus::infra
