#include "isthmus/infra/host.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "isthmus/infra/drivers/lab_testing.h"
#include "isthmus/infra/drivers/real_time_testing.h"
#include "isthmus/infra/reconciler_testing.h"

namespace isthmus::infra {
namespace {

using namespace testing;

TEST(host, one_that_does_not_forward_is_told_what_to_run) {
  constexpr std::array kFamilies{IpFamily::v4};
  MemoryFiles files;
  ASSERT_TRUE(files.write("/proc/sys/net/ipv4/ip_forward", "0\n", FileMode::world_readable));
  const Result<> checked = check_forwarding(files, kFamilies);
  EXPECT_EQ(checked.outcome(), Outcome::invalid);
  EXPECT_NE(checked.error().message.find("sysctl -w net.ipv4.ip_forward=1"), std::string::npos);
  ASSERT_TRUE(files.write("/proc/sys/net/ipv4/ip_forward", "1\n", FileMode::world_readable));
  EXPECT_TRUE(check_forwarding(files, kFamilies));
}

// A process on a real kernel, in a namespace with one link and nobody at its other end.
struct RealProcess {
  RealProcess(VirtualWorld& world_, Store& store)
      : world(world_),
        host(open_host(world.loop, files).value()),
        ledger(store, world.loop, random, "lb1"),
        health(world.loop, prober, random, metrics),
        reconciler({.ledger = ledger,
                    .health = health,
                    .host = *host,
                    .clock = world.loop,
                    .random = random,
                    .metrics = metrics,
                    .log = log,
                    .role = {.name = "lb1"}}),
        scope(std::make_unique<Scope>(world.loop)) {
    EXPECT_TRUE(world.run(reconciler.start()));
    EXPECT_TRUE(world.run(ledger.load_pools({public_pool()})));
    scope->spawn(&Reconciler::run, &reconciler);
    world.advance(1s);
  }

  std::string programmed() {
    const StatusRecord* found = world.run(ledger.latest()).value()->status(kWeb);
    return found == nullptr
               ? ""
               : api::find(found->status.conditions, api::condition::programmed)->reason;
  }

  // The kernel itself takes up to a second to tell that a link has a carrier again.
  std::string soon(std::string_view reason) {
    for (int i = 0; i < 100; ++i) {
      world.advance(500ms);
      if (programmed() == reason) break;
      drivers::testing::RealTimeDriver real;
      (void)real.wait(real.now() + 50ms);
    }
    return programmed();
  }

  VirtualWorld& world;
  SeededRandom random{7};
  Metrics metrics;
  MemoryLogger log;
  FakeProber prober;
  MemoryFiles files;
  std::unique_ptr<Host> host;
  Ledger ledger;
  HealthChecker health;
  Reconciler reconciler;
  std::unique_ptr<Scope> scope;
};

class HostTest : public drivers::testing::PrivilegedTest {
 protected:
  void SetUp() override {
    PrivilegedTest::SetUp();
    if (!granted) return;
    other_end.emplace();
    host.emplace();
    host->ip("link set lo up\nlink add lan type veth peer name eth0 netns " + other_end->path() +
             "\nlink set lan up\naddr add 10.0.0.1/24 dev lan");
    other_end->ip("link set eth0 up");
    host->enter();
  }

  std::string kernel() { return host->run("nft list ruleset; ip -o addr show dev lan"); }

  std::optional<drivers::testing::Namespace> other_end;
  std::optional<drivers::testing::Namespace> host;
  VirtualWorld world;
  std::unique_ptr<Store> store = open_sqlite_store(":memory:").value();
};

TEST_F(HostTest, a_real_kernel_holds_what_was_put_through_restarts_and_nothing_when_it_is_deleted) {
  if (!granted) return;
  {
    RealProcess process(world, *store);
    ASSERT_TRUE(world.run(process.ledger.put(a_balancer(), {}, nullptr, false)));
    world.advance(1s);
    EXPECT_NE(kernel().find("10.0.0.100/32"), std::string::npos) << kernel();
    EXPECT_NE(kernel().find("prod/web 1"), std::string::npos);
  }
  const std::string before = kernel();
  RealProcess process(world, *store);
  const std::uint32_t generation = process.host->balancers().generation().value();
  world.advance(1min);
  EXPECT_EQ(kernel(), before);
  EXPECT_EQ(process.host->balancers().generation().value(), generation);
  host->run("ip addr del 10.0.0.100/32 dev lan; nft flush table inet isthmus");
  world.advance(1s);
  EXPECT_EQ(kernel(), before);
  ASSERT_TRUE(world.run(process.ledger.remove(kWeb, {}, false)));
  world.advance(1s);
  EXPECT_EQ(kernel().find("10.0.0.100"), std::string::npos) << kernel();
}

TEST_F(HostTest, a_real_link_that_is_down_and_forwarding_that_is_off_are_told_until_they_are_not) {
  if (!granted) return;
  RealProcess process(world, *store);
  ASSERT_TRUE(world.run(process.ledger.put(a_balancer(), {}, nullptr, false)));
  EXPECT_EQ(process.soon("Programmed"), "Programmed");
  host->ip("link set lan down");
  EXPECT_EQ(process.soon("LinkDown"), "LinkDown");
  host->ip("link set lan up");
  EXPECT_EQ(process.soon("Programmed"), "Programmed");
  other_end->ip("link set eth0 down");
  EXPECT_EQ(process.soon("LinkDown"), "LinkDown");
  other_end->ip("link set eth0 up");
  EXPECT_EQ(process.soon("Programmed"), "Programmed");
  const char* forward = "/proc/sys/net/ipv4/ip_forward";
  ASSERT_TRUE(process.files.write(forward, "0\n", FileMode::world_readable));
  EXPECT_EQ(process.soon("ForwardingOff"), "ForwardingOff");
  ASSERT_TRUE(process.files.write(forward, "1\n", FileMode::world_readable));
  EXPECT_EQ(process.soon("Programmed"), "Programmed");
}

}  // namespace
}  // namespace isthmus::infra
