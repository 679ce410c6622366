#include "isthmus/infra/balancer_book.h"

#include <gtest/gtest.h>

#include "isthmus/infra/kernel_testing.h"

namespace isthmus::infra {
namespace {

using testing::ip;
using Names = BalancerBook::Names;

const ObjectName kWeb{"prod", "web"};
const ObjectName kMail{"prod", "mail"};
const IpAddress kAddress = ip("192.0.2.1");
const drivers::ListenerKey kHttp{kAddress, drivers::Protocol::tcp, 80};
const drivers::ListenerKey kHttps{kAddress, drivers::Protocol::tcp, 443};

std::shared_ptr<const BalancerRecord> record(std::uint64_t generation) {
  BalancerRecord made;
  made.metadata.generation = generation;
  return std::make_shared<const BalancerRecord>(made);
}

Ledger::Snapshot a_copy(const LedgerSnapshot& ledger) {
  return std::make_shared<const LedgerSnapshot>(ledger);
}

TEST(balancer_book, a_change_concerns_only_whom_it_is_about) {
  LedgerSnapshot ledger;
  ledger.balancers[kWeb] = record(1);
  ledger.balancers[kMail] = record(1);
  BalancerBook book;
  EXPECT_EQ(book.take_in(a_copy(ledger), Moment{}), (Names{kMail, kWeb}));
  EXPECT_TRUE(book.take_in(a_copy(ledger), Moment{}).empty());
  ledger.balancers[kWeb] = record(2);
  EXPECT_EQ(book.take_in(a_copy(ledger), Moment{}), Names{kWeb});
  EXPECT_EQ(book.find(kWeb)->record->metadata.generation, 2);
}

TEST(balancer_book, one_that_is_put_again_has_no_past) {
  LedgerSnapshot ledger;
  ledger.balancers[kWeb] = record(1);
  BalancerBook book;
  (void)book.take_in(a_copy(ledger), Moment{});
  book.find(kWeb)->repairs.count = 1;
  book.find(kWeb)->status.repairs = 1;
  ledger.balancers[kWeb] = record(2);
  (void)book.take_in(a_copy(ledger), Moment{});
  EXPECT_EQ(book.find(kWeb)->repairs.count, 1);
  BalancerRecord another;
  another.metadata.uid = "another";
  another.metadata.generation = 3;
  ledger.balancers[kWeb] = std::make_shared<const BalancerRecord>(another);
  (void)book.take_in(a_copy(ledger), Moment{});
  EXPECT_EQ(book.find(kWeb)->repairs.count, 0);
  EXPECT_EQ(book.find(kWeb)->status.repairs, 0);
}

TEST(balancer_book, a_target_set_concerns_its_users) {
  LedgerSnapshot ledger;
  BalancerRecord user;
  user.metadata.owner = "prod";
  user.metadata.name = "web";
  user.spec.target_groups.resize(1);
  user.spec.target_groups[0].target_set = "nodes";
  ledger.balancers[kWeb] = std::make_shared<const BalancerRecord>(user);
  ledger.balancers[kMail] = record(1);
  BalancerBook book;
  (void)book.take_in(a_copy(ledger), Moment{});
  ledger.target_sets[{"prod", "nodes"}] = std::make_shared<const TargetSetRecord>();
  EXPECT_EQ(book.take_in(a_copy(ledger), Moment{}), Names{kWeb});
}

TEST(balancer_book, a_tombstone_is_of_interest_only_to_whom_the_host_still_holds) {
  BalancerRecord gone;
  gone.deleted_at = WallTime{};
  LedgerSnapshot ledger;
  ledger.balancers[kWeb] = std::make_shared<const BalancerRecord>(gone);
  ledger.balancers[kMail] = std::make_shared<const BalancerRecord>(gone);
  BalancerBook book;
  (void)book.enter(kMail);
  EXPECT_EQ(book.take_in(a_copy(ledger), Moment{}), Names{kMail});
  EXPECT_EQ(book.find(kWeb), nullptr);
}

TEST(balancer_book, who_is_deleted_before_our_eyes_was_told_to_leave) {
  BalancerRecord leaving;
  leaving.metadata.deletion_requested_at = WallTime{};
  LedgerSnapshot ledger;
  ledger.balancers[kMail] = std::make_shared<const BalancerRecord>(leaving);
  ledger.balancers[kWeb] = record(1);
  BalancerBook book;
  (void)book.take_in(a_copy(ledger), Moment{});
  EXPECT_FALSE(book.find(kMail)->told_to_leave);
  ledger.balancers[kWeb] = std::make_shared<const BalancerRecord>(leaving);
  (void)book.take_in(a_copy(ledger), Moment{});
  EXPECT_TRUE(book.find(kWeb)->told_to_leave);
  ledger.balancers[kWeb] = record(2);
  (void)book.take_in(a_copy(ledger), Moment{});
  EXPECT_FALSE(book.find(kWeb)->told_to_leave);
}

TEST(balancer_book, an_address_is_abandoned_when_its_last_user_lets_go) {
  BalancerBook book;
  book.use(kWeb, {kAddress});
  book.use(kMail, {kAddress});
  book.use(kWeb, {});
  EXPECT_TRUE(book.abandoned().empty());
  EXPECT_EQ(book.users_of(kAddress), Names{kMail});
  book.forget(kMail);
  EXPECT_EQ(book.abandoned(), std::set<IpAddress>{kAddress});
  book.use(kWeb, {kAddress});
  EXPECT_TRUE(book.abandoned().empty());
}

TEST(balancer_book, a_listener_is_served_for_one_at_a_time) {
  BalancerBook book;
  EXPECT_FALSE(book.claim(kWeb, {kHttp, kHttps}));
  const auto taken = book.claim(kMail, {kHttps});
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->second, kWeb);
  book.disclaim(kWeb, {kHttp});
  EXPECT_FALSE(book.claim(kMail, {kHttps}));
  EXPECT_EQ(book.claims(), (RulesWork::Claims{{kHttp, kWeb}, {kHttps, kMail}}));
}

}  // namespace
}  // namespace isthmus::infra
