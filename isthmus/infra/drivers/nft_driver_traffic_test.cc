// What the rules do to packets: real flows through real namespaces.

#include <gtest/gtest.h>

#include "isthmus/infra/drivers/balanced_testing.h"

namespace isthmus::infra::drivers {
namespace {

using namespace testing;

class NftTrafficTest : public BalancedTest {};

// Of so many flows to two machines, that one of them gets fewer than 5 happens once in 10^6 runs.
constexpr int kFlows = 40;

void expect_both(std::map<std::string, int> seen, const std::string& client) {
  EXPECT_GE(seen["machine 0 saw " + client], 5);
  EXPECT_GE(seen["machine 1 saw " + client], 5);
  EXPECT_EQ(seen.size(), 2u) << ::testing::PrintToString(seen);
}

TEST_F(NftTrafficTest, flows_reach_all_machines_and_are_masqueraded) {
  make_so({a_balancer()});
  Traffic v4 = machines4();
  expect_both(answers(v4, kWeb4, kFlows), "10.88.0.1");
  Traffic v6 = machines6();
  expect_both(answers(v6, kWeb6, kFlows), "fd88::1");
}

TEST_F(NftTrafficTest, udp_flows_do_too) {
  make_so({a_balancer(Protocol::udp)});
  Traffic v4 = machines4(Protocol::udp);
  expect_both(answers(v4, kWeb4, kFlows), "10.88.0.1");
  Traffic v6 = machines6(Protocol::udp);
  expect_both(answers(v6, kWeb6, kFlows), "fd88::1");
}

TEST_F(NftTrafficTest, with_kept_sources_machines_see_the_client) {
  Balancer tcp = a_balancer();
  Balancer udp = a_balancer(Protocol::udp);
  tcp.source_address = udp.source_address = SourceAddress::keep;
  make_so({tcp, udp});
  for (Protocol protocol : {Protocol::tcp, Protocol::udp}) {
    Traffic v4 = machines4(protocol);
    expect_both(answers(v4, kWeb4, kFlows), "10.77.0.10");
    Traffic v6 = machines6(protocol);
    expect_both(answers(v6, kWeb6, kFlows), "fd77::10");
  }
}

TEST_F(NftTrafficTest, a_removed_target_gets_no_new_flow_and_its_connections_stay) {
  make_so({a_balancer()});
  Traffic machines = machines4();
  bool first = machines.ask(lab->client, kWeb4).starts_with("machine 0");
  Balancer changed = a_balancer();
  changed.groups[0][first ? 0 : 1].drain = true;
  make_so({changed});
  EXPECT_EQ(machines.ask_again(), "alive");

  std::string other = first ? "machine 1 saw 10.88.0.1" : "machine 0 saw 10.88.0.1";
  EXPECT_EQ(answers(machines, kWeb4, 10), (std::map<std::string, int>{{other, 10}}));
}

TEST_F(NftTrafficTest, connections_outlive_the_repair_of_the_rules) {
  make_so({a_balancer()});
  Traffic machines = machines4();
  machines.ask(lab->client, kWeb4);
  lab->host.run("nft flush chain inet isthmus random4_9; nft flush map inet isthmus listeners4");
  make_so({a_balancer()});
  EXPECT_EQ(machines.ask_again(), "alive");
}

TEST_F(NftTrafficTest, a_udp_flow_leaves_a_removed_target_at_once) {
  for (bool v4 : {true, false}) {
    make_so({a_balancer(Protocol::udp)});
    Traffic machines = v4 ? machines4(Protocol::udp) : machines6(Protocol::udp);
    std::string before = machines.ask(lab->client, v4 ? kWeb4 : kWeb6);
    ASSERT_TRUE(before.starts_with("machine")) << before;
    EXPECT_EQ(machines.ask_again(), before) << "a flow has one target";

    Balancer changed = a_balancer(Protocol::udp);
    bool first = before.starts_with("machine 0");
    for (std::size_t i : {0u, 2u}) changed.groups[0][i + (first ? 0 : 1)].usable = false;
    make_so({changed});
    std::string after = machines.ask_again();
    EXPECT_TRUE(after.starts_with(first ? "machine 1" : "machine 0")) << after;
  }
}

TEST_F(NftTrafficTest, with_affinity_a_client_stays_with_its_machine) {
  Balancer balancer = a_balancer();
  balancer.client_affinity = true;
  make_so({balancer});
  Traffic v4 = machines4();
  EXPECT_EQ(answers(v4, kWeb4, 10).size(), 1u);
  Traffic v6 = machines6();
  EXPECT_EQ(answers(v6, kWeb6, 10).size(), 1u);
}

TEST_F(NftTrafficTest, clients_outside_the_allowed_sources_hear_nothing) {
  Balancer balancer = a_balancer();
  balancer.allowed_sources = {prefix("10.77.1.0/24"), prefix("fd77:0:0:1::/64")};
  make_so({balancer});
  Traffic v4 = machines4();
  Traffic v6 = machines6();
  EXPECT_EQ(v4.ask(lab->client, kWeb4, kSilenceMs), "silence");
  EXPECT_EQ(v6.ask(lab->client, kWeb6, kSilenceMs), "silence");

  balancer.allowed_sources = {prefix("10.77.0.0/24"), prefix("fd77::/64")};
  for (bool affinity : {false, true}) {
    balancer.client_affinity = affinity;
    make_so({balancer});
    EXPECT_TRUE(v4.ask(lab->client, kWeb4).starts_with("machine"));
    EXPECT_TRUE(v6.ask(lab->client, kWeb6).starts_with("machine"));
  }
}

TEST_F(NftTrafficTest, without_targets_new_flows_are_refused) {
  Balancer tcp = a_balancer();
  Balancer udp = a_balancer(Protocol::udp);
  tcp.groups = udp.groups = {{}};
  make_so({tcp, udp});
  for (Protocol protocol : {Protocol::tcp, Protocol::udp}) {
    Traffic none(*lab, {}, protocol);
    EXPECT_EQ(none.ask(lab->client, kWeb4), "refused");
    EXPECT_EQ(none.ask(lab->client, kWeb6), "refused");
  }
}

TEST_F(NftTrafficTest, the_hosts_own_services_are_not_exposed_on_a_guarded_address) {
  Descriptor v4 = respond(lab->host, {ip("0.0.0.0"), 22}, Protocol::tcp);
  Traffic nobody(*lab, {}, Protocol::tcp);
  Endpoint ssh{kWeb4.address, 22};
  // Accepted by the kernel; that nobody answers then is right here.
  EXPECT_EQ(nobody.ask(lab->client, ssh, kSilenceMs), "silence");
  EXPECT_TRUE(wait_for(v4, POLLIN, kAnswerMs)) << "before it is guarded, it is reached";
  Descriptor accepted(::accept4(*v4, nullptr, nullptr, SOCK_CLOEXEC));

  make_so({a_balancer()});
  EXPECT_EQ(nobody.ask(lab->client, ssh, kSilenceMs), "silence");
  EXPECT_FALSE(wait_for(v4, POLLIN, 0));
  EXPECT_EQ(nobody.ask(lab->client, {ip("10.77.0.2"), 22}, kSilenceMs), "silence");
  EXPECT_TRUE(wait_for(v4, POLLIN, kAnswerMs)) << "by its own address it stays reachable";
  EXPECT_TRUE(echoes(lab->client, kWeb4.address));
}

TEST_F(NftTrafficTest, where_others_balance_only_the_listeners_ports_are_let_through) {
  Balancer balancer = a_balancer();
  balancer.announce_only = true;
  make_so({balancer});
  Traffic nobody(*lab, {}, Protocol::tcp);
  for (const Endpoint& web : {kWeb4, kWeb6}) {
    Endpoint ssh{web.address, 22};
    Descriptor served = respond(lab->host, web, Protocol::tcp);
    Descriptor hidden = respond(lab->host, ssh, Protocol::tcp);
    nobody.ask(lab->client, web, kSilenceMs);
    nobody.ask(lab->client, ssh, kSilenceMs);
    EXPECT_TRUE(wait_for(served, POLLIN, kAnswerMs));
    EXPECT_FALSE(wait_for(hidden, POLLIN, 0));
  }
}

TEST_F(NftTrafficTest, a_target_that_is_its_own_client_is_answered_under_keep) {
  Balancer balancer = a_balancer();
  balancer.source_address = SourceAddress::keep;
  balancer.groups = {{target("10.88.0.11"), target("fd88::11")}};
  make_so({balancer});
  Traffic v4 = machines4();
  EXPECT_EQ(v4.ask(lab->machines[0], kWeb4), "machine 0 saw 10.88.0.1");
  Traffic v6 = machines6();
  EXPECT_EQ(v6.ask(lab->machines[0], kWeb6), "machine 0 saw fd88::1");
}

TEST_F(NftTrafficTest, a_neighbour_of_the_targets_is_answered_under_keep_where_links_are_known) {
  Balancer balancer = a_balancer();
  balancer.source_address = SourceAddress::keep;
  balancer.groups = {{target("10.88.0.11"), target("fd88::11")}};
  make_so({balancer});
  Traffic v4 = machines4();
  Traffic v6 = machines6();
  EXPECT_EQ(v4.ask(lab->machines[1], kWeb4, kSilenceMs), "silence") << "the reply goes by";

  make_so({balancer}, {prefix("10.88.0.0/24"), prefix("fd88::/64")});
  EXPECT_EQ(v4.ask(lab->machines[1], kWeb4), "machine 0 saw 10.88.0.1");
  EXPECT_EQ(v6.ask(lab->machines[1], kWeb6), "machine 0 saw fd88::1");
  EXPECT_EQ(v4.ask(lab->client, kWeb4), "machine 0 saw 10.77.0.10") << "others keep theirs";
}

TEST_F(NftTrafficTest, the_host_itself_is_served_as_well) {
  make_so({a_balancer()});
  Traffic v4 = machines4();
  EXPECT_TRUE(v4.ask(lab->host, kWeb4).starts_with("machine"));
  Traffic v6 = machines6();
  EXPECT_TRUE(v6.ask(lab->host, kWeb6).starts_with("machine"));
}

}  // namespace
}  // namespace isthmus::infra::drivers
