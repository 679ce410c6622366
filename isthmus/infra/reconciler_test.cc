#include "isthmus/infra/reconciler.h"

#include "isthmus/infra/reconciler_testing.h"

namespace isthmus::infra {
namespace {

using namespace testing;

const drivers::ListenerKey kListener{kVip, drivers::Protocol::tcp, 80};

class Reconciling : public ReconcilerTest {
 protected:
  std::set<Endpoint> serving() {
    std::set<Endpoint> owners(kernel.held.listeners[kListener].slots.begin(),
                              kernel.held.listeners[kListener].slots.end());
    owners.erase(Endpoint{});
    return owners;
  }
};

TEST_F(Reconciling, a_load_balancer_that_is_put_gets_rules_address_and_announcement) {
  process->serve();
  EXPECT_EQ(kernel.held.listeners.at(kListener).note, "prod/web 1");
  EXPECT_EQ(serving().size(), 2);
  EXPECT_EQ(kernel.is_ours(kVip), "eth0");
  EXPECT_GE(kernel.announced[kVip], 1);
  EXPECT_EQ(kernel.held.links, std::set<IpPrefix>{parse_prefix("10.0.0.0/24").value()});
  EXPECT_EQ(process->said("Programmed"), "True Programmed");
  EXPECT_EQ(process->said("Ready"), "True Ready");
  EXPECT_EQ(process->said("TargetsHealthy"), "Unknown Unchecked");
  EXPECT_EQ(process->status().applied_generation, 1);
  EXPECT_EQ(process->status().targets, 2);
  EXPECT_EQ(process->status().targets_serving, 2);
}

TEST_F(Reconciling, a_new_address_is_asked_for_on_the_link_before_it_is_bound) {
  ASSERT_TRUE(process->put(a_balancer()));
  world.settle();
  EXPECT_EQ(process->said("Programmed"), "False ProbingAddress");
  EXPECT_EQ(process->said("Ready"), "False ProbingAddress");
  EXPECT_FALSE(kernel.has(kVip));
  world.advance(299ms);
  EXPECT_FALSE(kernel.has(kVip));
  EXPECT_EQ(kernel.asked.size(), 3);
  world.advance(2ms);
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Reconciling, a_load_balancer_that_is_deleted_leaves_nothing_and_its_address_cools_down) {
  process->serve();
  ASSERT_TRUE(process->remove());
  world.settle();
  EXPECT_FALSE(kernel.has(kVip));
  EXPECT_TRUE(kernel.held.listeners.empty());
  EXPECT_TRUE(kernel.held.guarded.empty());
  EXPECT_TRUE(process->ledger_now()->balancers.look_up(kWeb)->is_tombstone());
  EXPECT_TRUE(process->ledger_now()->address(kVip)->is_cooling(world.loop.wall_now()));
  const int told = kernel.announced[kVip];
  world.advance(1min);
  EXPECT_EQ(kernel.announced[kVip], told);
}

TEST_F(Reconciling, what_does_not_change_is_not_written_again) {
  process->serve();
  const std::size_t writes = kernel.writes;
  const Revision revision = process->ledger_now()->revision;
  world.advance(5min);
  EXPECT_EQ(kernel.writes, writes);
  EXPECT_EQ(process->ledger_now()->revision, revision);
}

TEST_F(Reconciling, a_changed_target_is_one_change_of_one_listener) {
  process->serve();
  const std::size_t writes = kernel.writes;
  api::LoadBalancer changed = a_balancer();
  changed.spec.target_groups[0].targets[1].address = ip("10.1.0.3");
  ASSERT_TRUE(process->put(changed));
  world.settle();
  EXPECT_EQ(kernel.writes, writes + 1);
  EXPECT_EQ(serving(), (std::set<Endpoint>{{ip("10.1.0.1"), 30080}, {ip("10.1.0.3"), 30080}}));
  EXPECT_EQ(process->status().applied_generation, 2);
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Reconciling, a_changed_target_set_reaches_everybody_who_uses_it) {
  api::TargetSet set;
  set.metadata.owner = "prod";
  set.metadata.name = "nodes";
  set.targets = {{.name = "n1", .addresses = {ip("10.1.0.1"), ip("fd00::1")}}};
  ASSERT_TRUE(world.run(process->ledger.put(set, {}, false)));
  api::LoadBalancer balancer = a_balancer();
  balancer.spec.target_groups = {{.name = "machines", .target_set = "nodes", .port = 30080}};
  process->serve(balancer);
  EXPECT_EQ(serving(), (std::set<Endpoint>{{ip("10.1.0.1"), 30080}}));
  set.targets.push_back({.name = "n2", .addresses = {ip("10.1.0.2")}});
  ASSERT_TRUE(world.run(process->ledger.put(set, {}, false)));
  world.settle();
  EXPECT_EQ(serving().size(), 2);
  std::vector<api::TargetStatus> targets = process->reconciler.target_health(kWeb);
  ASSERT_EQ(targets.size(), 2);
  EXPECT_EQ(targets[1].name, "n2");
  EXPECT_TRUE(targets[1].serving);
}

TEST_F(Reconciling, an_unhealthy_target_gets_no_new_flows_and_all_are_kept_when_all_are) {
  api::LoadBalancer balancer = a_balancer();
  balancer.spec.target_groups[0].health_check = api::HealthCheck{};
  process->serve(balancer);
  world.advance(30s);
  EXPECT_EQ(process->said("TargetsHealthy"), "True AllHealthy");
  process->prober.down = {{ip("10.1.0.1"), 30080}};
  world.advance(30s);
  EXPECT_EQ(serving(), (std::set<Endpoint>{{ip("10.1.0.2"), 30080}}));
  EXPECT_EQ(process->said("TargetsHealthy"), "False SomeUnhealthy");
  EXPECT_EQ(process->reconciler.target_health(kWeb)[0].reason, "connection refused");
  process->prober.down.insert({ip("10.1.0.2"), 30080});
  world.advance(30s);
  EXPECT_EQ(serving().size(), 2);
  EXPECT_EQ(process->said("TargetsHealthy"), "False NoneHealthy");
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Reconciling, an_address_that_another_machine_has_is_not_bound_until_it_lets_go) {
  kernel.neighbours[kVip] = {2, 0, 0, 0, 0, 9};
  process->serve();
  EXPECT_EQ(process->said("Programmed"), "False AddressConflict");
  EXPECT_NE(process->message("Programmed").find("02:00:00:00:00:09"), std::string::npos);
  EXPECT_FALSE(kernel.has(kVip));
  const std::size_t asked = kernel.asked.size();
  world.advance(5s);
  EXPECT_EQ(kernel.asked.size(), asked);  // The link is not bothered all the time.
  kernel.neighbours.clear();
  world.advance(15s);
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Reconciling, who_writes_it_again_has_the_address_asked_for_at_once) {
  kernel.neighbours[kVip] = {2, 0, 0, 0, 0, 9};
  process->serve();
  EXPECT_EQ(process->said("Programmed"), "False AddressConflict");
  kernel.neighbours.clear();
  api::LoadBalancer again = a_balancer();
  again.metadata.labels = {{"again", "yes"}};
  process->serve(again);
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Reconciling, what_the_host_has_for_itself_is_given_to_nobody) {
  kernel.addresses.push_back({kVip, 24, "eth1", false});
  kernel.changes.addresses = true;
  world.advance(1s);
  process->serve();
  EXPECT_EQ(process->status().addresses, std::vector{ip("10.0.0.101")});
}

TEST_F(Reconciling, an_address_of_this_host_that_is_not_ours_is_left_alone) {
  ASSERT_TRUE(process->put(a_balancer()));
  world.settle();
  kernel.addresses.push_back({kVip, 32, "eth1", false});
  kernel.changes.addresses = true;
  world.advance(1s);
  EXPECT_EQ(process->said("Programmed"), "False AddressForeign");
  EXPECT_EQ(kernel.ours(), 0);
  std::erase_if(kernel.addresses, [](const auto& one) { return one.address == kVip; });
  kernel.changes.addresses = true;
  world.advance(1s);
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Reconciling, a_foreign_table_stops_everything_and_says_so_until_it_is_gone) {
  process->serve();
  kernel.held = {};  // Somebody removed ours and made another.
  kernel.foreign_table = true;
  kernel.changes.rules = true;
  world.advance(1s);
  EXPECT_EQ(process->said("Programmed"), "False ForeignTable");
  EXPECT_FALSE(kernel.has(kVip));
  kernel.foreign_table = false;
  kernel.changes.rules = true;
  world.advance(2s);
  EXPECT_EQ(process->said("Programmed"), "True Programmed");
  EXPECT_TRUE(kernel.has(kVip));
}

TEST_F(Reconciling, one_that_the_driver_refuses_stops_nobody_else) {
  api::LoadBalancer bad = a_balancer({"prod", "bad"});
  bad.spec.listeners[0].port = 81;
  kernel.cannot_hold.insert({kVip, drivers::Protocol::tcp, 81});
  ASSERT_TRUE(process->put(bad));
  process->serve();
  EXPECT_EQ(process->said("Ready"), "True Ready");
  EXPECT_EQ(process->said("Accepted", {"prod", "bad"}), "False DriverRefused");
  EXPECT_EQ(process->said("Programmed", {"prod", "bad"}), "False DriverRefused");
  EXPECT_EQ(kernel.ours(), 1);
  EXPECT_TRUE(kernel.has(process->status().addresses.front()));
}

TEST_F(Reconciling, what_fails_is_tried_again_and_says_when) {
  process->host.refuse_to_apply = Error{Outcome::busy, "out of memory"};
  process->serve();
  EXPECT_EQ(process->said("Programmed"), "False RulesNotLoaded");
  EXPECT_NE(process->message("Programmed").find("again in"), std::string::npos);
  process->host.refuse_to_apply.reset();
  world.advance(1min);
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Reconciling, two_that_share_an_address_leave_it_one_after_the_other) {
  api::LoadBalancer first = a_balancer();
  first.spec.sharing_key = "shared";
  api::LoadBalancer second = a_balancer({"prod", "mail"});
  second.spec.sharing_key = "shared";
  second.spec.addresses = {kVip};
  second.spec.listeners = {{"tcp-25", api::Protocol::tcp, 25, "machines"}};
  process->serve(first);
  process->serve(second);
  EXPECT_EQ(process->said("Ready", {"prod", "mail"}), "True Ready");
  ASSERT_TRUE(process->remove());
  world.settle();
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_EQ(kernel.notes(kVip), std::vector<std::string>{"prod/mail 1"});
  ASSERT_TRUE(process->remove({"prod", "mail"}));
  world.settle();
  EXPECT_FALSE(kernel.has(kVip));
}

TEST_F(Reconciling, an_address_that_cannot_be_unbound_keeps_its_rules_until_it_can) {
  process->serve();
  kernel.cannot_unbind.insert(kVip);
  ASSERT_TRUE(process->remove());
  world.advance(10s);
  EXPECT_EQ(kernel.notes(kVip).size(), 1);
  EXPECT_FALSE(process->ledger_now()->balancers.look_up(kWeb)->is_tombstone());
  kernel.cannot_unbind.clear();
  world.advance(2min);
  EXPECT_TRUE(kernel.notes(kVip).empty());
  EXPECT_TRUE(process->ledger_now()->balancers.look_up(kWeb)->is_tombstone());
}

TEST_F(Reconciling, while_the_store_is_away_the_host_is_kept_as_it_was) {
  process->serve();
  process->store.is_down = true;
  kernel.held.listeners.clear();
  kernel.changes.rules = true;
  world.advance(5s);
  EXPECT_EQ(kernel.notes(kVip).size(), 1);
  process->store.is_down = false;
  world.advance(5s);
  EXPECT_EQ(process->status().repairs, 1);
}

TEST_F(Reconciling, keep_without_a_way_back_is_noticed) {
  api::LoadBalancer balancer = a_balancer();
  balancer.spec.source_address = api::SourceAddress::keep;
  process->serve(balancer);
  EXPECT_EQ(process->said("ReturnPathMissing"), "False RepliesPass");
  kernel.flows = {{.listener = kListener, .unreplied = 50, .replied = 0}};
  world.advance(30s);
  EXPECT_EQ(process->said("ReturnPathMissing"), "True NoReplies");
  EXPECT_EQ(process->said("Ready"), "True Ready");
  kernel.flows.clear();
  world.advance(30s);
  EXPECT_EQ(process->said("ReturnPathMissing"), "False RepliesPass");
}

TEST_F(Reconciling, a_host_that_only_announces_lets_its_listeners_ports_through) {
  begin(true);
  process->serve();
  EXPECT_TRUE(kernel.held.listeners.at(kListener).passed);
  EXPECT_EQ(kernel.held.listeners.at(kListener).choice, drivers::Choice::none);
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Reconciling, an_announcer_says_while_its_own_host_has_no_target) {
  begin(true);
  process->ledger.leave_targets_to_others();
  const IpAddress own = kernel.addresses.front().address;
  api::LoadBalancer balancer = a_balancer();
  balancer.spec.target_groups[0].targets[0].address = own;
  balancer.spec.target_groups[0].health_check = api::HealthCheck{};
  process->prober.down = {{own, 30080}, {ip("10.1.0.2"), 30080}};
  ASSERT_FALSE(process->put(balancer)->problem);
  world.advance(30s);
  EXPECT_EQ(process->said("NoLocalTarget"), "True NoLocalTarget");
  EXPECT_EQ(process->said("Ready"), "True Ready");
  process->prober.down.erase({own, 30080});
  world.advance(30s);
  EXPECT_EQ(process->said("NoLocalTarget"), "False LocalTarget");
  EXPECT_EQ(process->said("TargetsHealthy"), "True AllHealthy") << "the other is nobody's to judge";
  kernel.addresses.front().address = ip("10.0.0.77");
  kernel.changes.addresses = true;
  world.advance(2s);
  EXPECT_EQ(process->said("NoLocalTarget"), "Unknown Unchecked");
}

}  // namespace
}  // namespace isthmus::infra
