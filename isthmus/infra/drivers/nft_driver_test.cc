#include "isthmus/infra/drivers/nft_driver.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>

#include "isthmus/infra/drivers/balanced_testing.h"

namespace isthmus::infra::drivers {
namespace {

using namespace testing;

class NftDriverTest : public BalancedTest {};

TEST_F(NftDriverTest, an_empty_kernel_holds_nothing) {
  Result<Held> held = driver->observe();
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_EQ(held->structure, Structure::absent);
  EXPECT_TRUE(held->listeners.empty());
}

TEST_F(NftDriverTest, what_was_applied_is_observed_by_the_next_process_which_writes_nothing) {
  make_so({a_balancer()}, {prefix("10.88.0.0/24")});
  lab->host.enter();
  NftDriver next(NetlinkSocket::open(NETLINK_NETFILTER).value());
  std::uint32_t generation = next.generation().value();

  Held held = next.observe().value();
  Wish wish{.balancers = {a_balancer()}, .links = {prefix("10.88.0.0/24")}};
  Plan plan = make_plan(held, wish).value();
  EXPECT_EQ(plan.text(), "");
  EXPECT_TRUE(next.apply(plan, held));
  EXPECT_EQ(next.generation(), generation);
  EXPECT_EQ(held.listeners.at({kWeb4.address, Protocol::tcp, 80}).note, "prod/web 7");
}

TEST_F(NftDriverTest, people_see_whose_an_element_is) {
  make_so({a_balancer()});
  std::string listed = lab->host.run("nft list ruleset");
  EXPECT_TRUE(listed.contains("192.0.2.1 . tcp . 80 comment \"prod/web 7\"")) << listed;
  EXPECT_TRUE(listed.contains("192.0.2.1 . tcp . 80 : goto random4_9")) << listed;
  EXPECT_TRUE(listed.contains("10.88.0.12 . 30080")) << listed;
}

TEST_F(NftDriverTest, what_is_no_longer_wanted_leaves_nothing_behind) {
  Balancer full = a_balancer();
  full.client_affinity = true;
  full.allowed_sources = {prefix("10.0.0.0/8"), prefix("fd00::/8")};
  full.source_address = SourceAddress::keep;
  make_so({full}, {prefix("10.88.0.0/24"), prefix("fd88::/64")});
  make_so({});
  EXPECT_FALSE(lab->host.run("nft list ruleset").contains("elements"));
}

TEST_F(NftDriverTest, others_tables_stay_as_they_are) {
  lab->host.run(
      "nft add table ip theirs; nft add set ip theirs slots4 { type ipv4_addr \\; };"
      "nft add element ip theirs slots4 { 192.0.2.1 }");
  std::string before = lab->host.run("nft list table ip theirs");
  make_so({a_balancer()});
  make_so({});
  EXPECT_EQ(lab->host.run("nft list table ip theirs"), before);
}

TEST_F(NftDriverTest, a_table_of_our_name_that_we_did_not_make_is_refused_and_left_alone) {
  lab->host.run("nft add table inet isthmus; nft add chain inet isthmus theirs");
  std::string before = lab->host.run("nft list ruleset");
  Result<Held> held = driver->observe();
  EXPECT_EQ(held.outcome(), Outcome::conflict);
  EXPECT_EQ(held.error().message,
            "there is a table inet isthmus that we did not make; remove or rename it");

  Held believed;
  Plan plan = make_plan(believed, {.balancers = {a_balancer()}}).value();
  EXPECT_EQ(driver->apply(plan, believed).outcome(), Outcome::conflict);
  EXPECT_EQ(lab->host.run("nft list ruleset"), before);
}

TEST_F(NftDriverTest, drift_moves_the_generation_and_is_repaired) {
  make_so({a_balancer()});
  Held held = driver->observe().value();
  for (const char* damage : {
           "nft delete element inet isthmus masquerade4 { 192.0.2.1 . tcp . 80 }",
           "nft delete element inet isthmus listeners6 { 2001:db8::1 . tcp . 80 }",
           "nft add element inet isthmus guarded4 { 10.88.0.1 }",
           "nft add element inet isthmus masquerade4 { 10.88.0.1 . udp . 53 }",
           "nft flush map inet isthmus slots4_9",
           "nft add element inet isthmus listeners4 { 10.88.0.1 . sctp . 80 : drop }",
           "nft add element inet isthmus slots6_13 { fd88::1 . tcp . 80 . 500 : fd88::2 . 80 }",
           "nft add element inet isthmus listeners4 { * : drop }",
           "nft add table inet isthmus { flags dormant \\; }",
           "nft flush ruleset",
       }) {
    lab->host.run(damage);
    EXPECT_NE(driver->generation(), held.generation) << damage;
    held = driver->observe().value();
    EXPECT_NE(make_plan(held, {.balancers = {a_balancer()}})->text(), "") << damage;
    make_so({a_balancer()});
    held = driver->observe().value();
  }
}

TEST_F(NftDriverTest, a_plan_made_from_an_old_picture_is_a_conflict_and_changes_nothing) {
  make_so({a_balancer()});
  Held held = driver->observe().value();
  Plan plan = make_plan(held, {}).value();
  lab->host.run("nft delete element inet isthmus masquerade4 { 192.0.2.1 . tcp . 80 }");
  std::string before = lab->host.run("nft list ruleset");
  EXPECT_EQ(driver->apply(plan, held).outcome(), Outcome::conflict);
  EXPECT_EQ(lab->host.run("nft list ruleset"), before);
  EXPECT_EQ(held.listeners.size(), 2u);
  EXPECT_NE(driver->generation(), held.generation);
}

TEST_F(NftDriverTest, a_large_plan_goes_out_in_transactions_that_fit) {
  lab->host.enter();
  driver = std::make_unique<NftDriver>(NetlinkSocket::open(NETLINK_NETFILTER).value(), 64 * 1024);
  std::vector<Balancer> balancers;
  for (int i = 1; i <= 60; ++i) {
    balancers.push_back(a_balancer());
    balancers.back().listeners[0].port = static_cast<std::uint16_t>(i);
  }
  Held held = driver->observe().value();
  make_so(balancers);
  EXPECT_GT(driver->generation().value(), held.generation + 10);
  EXPECT_EQ(driver->observe()->listeners.size(), 120u);
}

TEST_F(NftDriverTest, what_is_read_right_behind_a_large_change_is_right_or_busy) {
  Balancer balancer = a_balancer();
  balancer.listeners.clear();
  for (int i = 1; i <= 160; ++i) {
    balancer.listeners.push_back({Protocol::tcp, static_cast<std::uint16_t>(i), 0});
  }
  Held held = driver->observe().value();
  for (int i = 0; i < 4; ++i) {
    bool whole = i % 2 == 0;
    // The kernel resizes its sets behind each change.
    Wish wish{.balancers = {whole ? balancer : a_balancer()}};
    ASSERT_TRUE(driver->apply(make_plan(held, wish).value(), held));
    Result<Held> read = driver->observe();
    if (read) {
      EXPECT_EQ(make_plan(*read, wish)->text(), "");
    } else {
      EXPECT_EQ(read.outcome(), Outcome::busy) << read.error().message;
    }
  }
}

TEST_F(NftDriverTest, a_change_that_fits_no_transaction_is_refused_before_any_of_it) {
  lab->host.enter();
  driver = std::make_unique<NftDriver>(NetlinkSocket::open(NETLINK_NETFILTER).value(), 4 * 1024);
  Held held;
  Plan plan = make_plan(held, {.balancers = {a_balancer()}}).value();
  EXPECT_EQ(driver->apply(plan, held).outcome(), Outcome::invalid);
  EXPECT_TRUE(held.listeners.empty());
}

TEST_F(NftDriverTest, the_most_sources_and_the_longest_note_are_one_transaction) {
  Balancer balancer = a_balancer();
  balancer.note = std::string(kNoteBytesMax, 'x');
  for (unsigned i = 0; i < kSourcesMax; ++i) {
    IpPrefix range = prefix("fd00::/48");
    range.address.bytes[4] = static_cast<std::uint8_t>(i >> 8);
    range.address.bytes[5] = static_cast<std::uint8_t>(i);
    balancer.allowed_sources.push_back(range);
  }
  lab->host.enter();
  // As much as an ordinary user's socket takes.
  driver = std::make_unique<NftDriver>(NetlinkSocket::open(NETLINK_NETFILTER).value(), 212'000);
  make_so({balancer});
  EXPECT_EQ(driver->observe()->listeners.begin()->second.note, balancer.note);
  for (IpPrefix& range : balancer.allowed_sources) range.address.bytes[1] = 1;
  make_so({balancer});
}

}  // namespace
}  // namespace isthmus::infra::drivers
