#include "isthmus/infra/balancer_keeper.h"

#include <algorithm>

#include "isthmus/infra/reconciler_testing.h"

namespace isthmus::infra {
namespace {

using namespace testing;

const drivers::ListenerKey kListener{kVip, drivers::Protocol::tcp, 80};

class Keeping : public ReconcilerTest {
 protected:
  // Somebody removes our table and makes another, and the address cannot be taken off meanwhile.
  void be_displaced() {
    kernel.held = {};
    kernel.foreign_table = true;
    kernel.cannot_unbind.insert(kVip);
    kernel.changes.rules = true;
  }
};

TEST_F(Keeping, a_listener_that_somebody_serves_is_not_taken_over_until_it_is_free) {
  process->serve();
  process.reset();
  // The kernel says of the listener that it is another's, who stays as it is.
  kernel.held.listeners[kListener].note = "prod/ghost 3";
  begin();
  world.advance(5s);
  EXPECT_EQ(process->said("Programmed"), "False ListenerTaken");
  EXPECT_EQ(kernel.notes(kVip), std::vector<std::string>{"prod/ghost 3"});
  EXPECT_TRUE(kernel.has(kVip));
  ASSERT_TRUE(process->ledger.abandon({"prod", "ghost"}));
  world.advance(2min);
  EXPECT_EQ(kernel.notes(kVip), std::vector<std::string>{"prod/web 1"});
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Keeping, what_another_host_holds_is_not_served_here) {
  process->serve();
  process.reset();
  kernel = {};
  process = std::make_unique<Process>(world, *store, kernel, false, "lb2");
  ASSERT_TRUE(process->start());
  world.advance(5s);
  EXPECT_EQ(process->said("Programmed"), "False HeldByOtherHost");
  EXPECT_TRUE(kernel.held.listeners.empty());
}

TEST_F(Keeping, a_generation_that_is_refused_leaves_the_one_before_serving) {
  process->serve();
  kernel.cannot_hold.insert({kVip, drivers::Protocol::tcp, 81});
  api::LoadBalancer changed = a_balancer();
  changed.spec.listeners[0].port = 81;
  ASSERT_TRUE(process->put(changed));
  world.advance(1s);
  EXPECT_EQ(process->said("Programmed"), "False DriverRefused");
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_EQ(kernel.notes(kVip), std::vector<std::string>{"prod/web 1"});
  EXPECT_EQ(process->status().applied_generation, 1);
  ASSERT_TRUE(process->put(a_balancer()));
  world.advance(1s);
  EXPECT_EQ(process->said("Ready"), "True Ready");
  EXPECT_EQ(process->status().applied_generation, 3);
}

TEST_F(Keeping, one_that_goes_before_it_was_ever_bound_leaves_nothing_either) {
  ASSERT_TRUE(process->put(a_balancer()));
  world.settle();
  ASSERT_TRUE(process->remove());
  world.advance(1s);
  EXPECT_FALSE(kernel.has(kVip));
  EXPECT_TRUE(kernel.held.guarded.empty());
  EXPECT_TRUE(process->ledger_now()->balancers.look_up(kWeb)->is_tombstone());
}

TEST_F(Keeping, one_that_is_put_again_while_it_leaves_goes_on) {
  process->serve();
  kernel.cannot_unbind.insert(kVip);
  ASSERT_TRUE(process->remove());
  world.advance(1s);
  process->serve();
  EXPECT_EQ(process->said("Ready"), "True Ready");
  EXPECT_EQ(process->status().addresses, std::vector{kVip});
  EXPECT_TRUE(kernel.has(kVip));
}

TEST_F(Keeping, who_shares_an_address_and_could_never_be_served_does_not_keep_it_bound) {
  api::LoadBalancer first = a_balancer();
  first.spec.sharing_key = "shared";
  process->serve(first);
  kernel.cannot_hold.insert({kVip, drivers::Protocol::tcp, 81});
  api::LoadBalancer second = a_balancer({"prod", "mail"});
  second.spec.sharing_key = "shared";
  second.spec.addresses = {kVip};
  second.spec.listeners[0].port = 81;
  ASSERT_TRUE(process->put(second));
  world.advance(1s);
  EXPECT_EQ(process->said("Programmed", {"prod", "mail"}), "False DriverRefused");
  ASSERT_TRUE(process->remove());
  world.advance(2min);
  EXPECT_FALSE(kernel.has(kVip));
  EXPECT_TRUE(process->ledger_now()->balancers.look_up(kWeb)->is_tombstone());
  kernel.cannot_hold.clear();
  world.advance(2min);
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_EQ(process->said("Ready", {"prod", "mail"}), "True Ready");
}

TEST_F(Keeping, an_address_that_stays_bound_beside_a_foreign_table_is_told_once_each_time) {
  const auto times_told = [this] {
    return std::ranges::count_if(process->log.lines, [](const MemoryLogger::Line& line) {
      return line.text.contains("address not released");
    });
  };
  process->serve();
  be_displaced();
  world.advance(5min);
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_EQ(times_told(), 1);

  kernel.foreign_table = false;
  kernel.changes.rules = true;
  world.advance(5min);
  EXPECT_EQ(process->said("Ready"), "True Ready");
  kernel.violations.clear();  // What others do leaves it bare for a moment.
  be_displaced();
  world.advance(5min);
  EXPECT_EQ(times_told(), 2);
}

TEST_F(Keeping, one_that_leaves_beside_a_foreign_table_is_gone_only_with_its_address) {
  process->serve();
  be_displaced();
  world.advance(1s);
  ASSERT_TRUE(process->remove());
  world.advance(1s);
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_TRUE(process->ledger_now()->balancers.look_up(kWeb)->is_leaving());
  kernel.cannot_unbind.clear();
  world.advance(2min);
  EXPECT_FALSE(kernel.has(kVip));
  EXPECT_TRUE(process->ledger_now()->balancers.look_up(kWeb)->is_tombstone());
}

// Everything that happens to load balancers, one after the other.
void live_through(Process& process) {
  auto put = [&](const api::LoadBalancer& balancer) {
    (void)process.put(balancer);
    process.world.advance(1s);
  };
  api::LoadBalancer web = a_balancer();
  put(web);
  put(a_balancer({"prod", "mail"}));
  web.spec.listeners.push_back({"udp-53", api::Protocol::udp, 53, "machines"});
  web.spec.target_groups[0].targets.pop_back();
  put(web);
  web.spec.listeners.erase(web.spec.listeners.begin());
  web.spec.addresses = {ip("10.0.0.102")};
  put(web);
  (void)process.remove();
  process.world.advance(1s);
  put(web);
  (void)process.remove({"prod", "mail"});
  process.world.advance(1s);
}

TEST(balancer_keeper, killed_at_any_step_the_next_one_converges_and_nothing_was_ever_bare) {
  std::size_t steps = 0;
  for (bool finished = false; !finished; ++steps) {
    SCOPED_TRACE(fmt::format("killed after {} steps", steps));
    VirtualWorld world;
    std::unique_ptr<Store> store = open_sqlite_store(":memory:").value();
    FakeKernel kernel;
    {
      Process first(world, *store, kernel);
      first.host.die_after(steps);
      if (first.start()) live_through(first);
      finished = !first.host.is_dead();
    }
    Process second(world, *store, kernel);
    ASSERT_TRUE(second.start());
    world.advance(2s);
    expect_converged(second, kernel);
    ASSERT_EQ(kernel.violations, std::vector<std::string>{});
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(steps, 50);
}

}  // namespace
}  // namespace isthmus::infra
