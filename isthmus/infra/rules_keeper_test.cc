#include "isthmus/infra/rules_keeper.h"

#include <gtest/gtest.h>

#include "isthmus/infra/host_testing.h"

namespace isthmus::infra {
namespace {

using testing::ip;

const IpAddress kFirst = ip("192.0.2.1");
const IpAddress kSecond = ip("192.0.2.2");

RulesWork::Change serve(const std::string& name, const IpAddress& address) {
  drivers::Balancer balancer;
  balancer.note = "prod/" + name + " 1";
  balancer.addresses = {address};
  balancer.listeners = {{drivers::Protocol::tcp, 80, 0}};
  balancer.groups = {{{.endpoint = {ip("10.0.0.1"), 8080}}}};
  return {{"prod", name}, balancer};
}

RulesWork serving(std::vector<RulesWork::Change> changes) {
  RulesWork work;
  work.changes = std::move(changes);
  return work;
}

struct Scene {
  testing::FakeKernel kernel;
  testing::FakeHost host{kernel};
  RulesKeeper rules{host.balancers(), host.changes()};
};

TEST(rules_keeper, many_changes_are_one_plan) {
  Scene scene;
  ASSERT_TRUE(scene.rules.look());
  const RulesKeeper::Applied applied =
      scene.rules.apply(serving({serve("web", kFirst), serve("mail", kSecond)}));
  EXPECT_TRUE(applied.failures.empty());
  EXPECT_EQ(scene.kernel.held.listeners.size(), 2);
  EXPECT_FALSE(scene.rules.take_changes().any());
}

TEST(rules_keeper, one_that_cannot_be_planned_is_taken_out_and_named) {
  Scene scene;
  ASSERT_TRUE(scene.rules.look());
  RulesWork work = serving({serve("web", kFirst), serve("mail", kSecond)});
  work.changes[1].balancer->listeners[0].group = 7;
  const RulesKeeper::Failures failures = scene.rules.refuse(work);
  ASSERT_EQ(failures.size(), 1);
  EXPECT_TRUE(failures.contains({"prod", "mail"}));
  EXPECT_TRUE(scene.rules.apply(work).failures.empty());
  EXPECT_EQ(scene.kernel.notes(kFirst).size(), 1);
}

TEST(rules_keeper, one_that_does_not_fit_stops_nobody_else) {
  Scene scene;
  ASSERT_TRUE(scene.rules.look());
  scene.kernel.cannot_hold = {{kFirst, drivers::Protocol::tcp, 80}};
  const RulesKeeper::Applied applied =
      scene.rules.apply(serving({serve("web", kFirst), serve("mail", kSecond)}));
  ASSERT_EQ(applied.failures.size(), 1);
  EXPECT_EQ(applied.failures.at({"prod", "web"}).outcome, Outcome::invalid);
  EXPECT_EQ(scene.kernel.notes(kSecond).size(), 1);
}

TEST(rules_keeper, what_others_changed_meanwhile_is_looked_at_again_and_remembered) {
  Scene scene;
  ASSERT_TRUE(scene.rules.look());
  ASSERT_TRUE(scene.rules.apply(serving({serve("web", kFirst)})).failures.empty());
  scene.kernel.held.listeners.clear();
  RulesWork work = serving({serve("web", kFirst)});
  work.changes[0].balancer->client_affinity = true;
  EXPECT_TRUE(scene.rules.apply(work).failures.empty());
  EXPECT_EQ(scene.kernel.held.listeners.begin()->second.choice, drivers::Choice::client);
  EXPECT_EQ(scene.rules.take_drift().listeners.size(), 1);
}

TEST(rules_keeper, what_the_kernel_cannot_do_now_fails_for_all) {
  Scene scene;
  ASSERT_TRUE(scene.rules.look());
  scene.host.refuse_to_apply = Error{Outcome::busy, "out of memory"};
  const RulesKeeper::Applied applied =
      scene.rules.apply(serving({serve("web", kFirst), serve("mail", kSecond)}));
  EXPECT_EQ(applied.failures.size(), 2);
  EXPECT_EQ(applied.error->outcome, Outcome::busy);
}

TEST(rules_keeper, one_that_goes_leaves_what_others_serve_by_now) {
  Scene scene;
  ASSERT_TRUE(scene.rules.look());
  ASSERT_TRUE(scene.rules.apply(serving({serve("web", kFirst)})).failures.empty());
  const RulesWork::Claims claims = {{{kFirst, drivers::Protocol::tcp, 80}, {"prod", "mail"}}};
  RulesWork work = serving({{{"prod", "web"}, std::nullopt}});
  work.claims = &claims;
  EXPECT_TRUE(scene.rules.apply(work).failures.empty());
  EXPECT_EQ(scene.kernel.notes(kFirst).size(), 1);
  work.claims = nullptr;
  work.unguarded = {kFirst};
  EXPECT_TRUE(scene.rules.apply(work).failures.empty());
  EXPECT_TRUE(scene.kernel.notes(kFirst).empty());
  EXPECT_TRUE(scene.kernel.held.guarded.empty());
}

TEST(rules_keeper, what_stands_on_an_address_that_is_still_bound_stays) {
  Scene scene;
  ASSERT_TRUE(scene.rules.look());
  ASSERT_TRUE(scene.rules.apply(serving({serve("web", kFirst)})).failures.empty());
  RulesWork work = serving({{{"prod", "web"}, std::nullopt}});
  work.stuck = {kFirst};
  EXPECT_TRUE(scene.rules.apply(work).failures.empty());
  EXPECT_EQ(scene.kernel.notes(kFirst).size(), 1);
}

TEST(rules_keeper, in_place_of_a_foreign_table_nothing_of_ours_is_held) {
  Scene scene;
  ASSERT_TRUE(scene.rules.look());
  ASSERT_TRUE(scene.rules.apply(serving({serve("web", kFirst)})).failures.empty());
  scene.kernel.foreign_table = true;
  EXPECT_EQ(scene.rules.look().outcome(), Outcome::conflict);
  EXPECT_TRUE(scene.rules.kernel().held().listeners.empty());
}

}  // namespace
}  // namespace isthmus::infra
