#include "isthmus/infra/drivers/kernel_events.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <poll.h>

#include <optional>
#include <string>

#include <fmt/format.h>

#include "isthmus/infra/drivers/addresses.h"
#include "isthmus/infra/drivers/lab_testing.h"
#include "isthmus/infra/drivers/nft_driver.h"
#include "isthmus/infra/drivers/plan.h"
#include "isthmus/infra/drivers/routes.h"

namespace isthmus::infra::drivers {
namespace {

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

class KernelEventsTest : public testing::PrivilegedTest {
 protected:
  void SetUp() override {
    PrivilegedTest::SetUp();
    if (!granted) return;
    host.emplace();
    host->ip("link set lo up\nlink add lan type veth peer name other");
    NetlinkSocket socket = NetlinkSocket::open(NETLINK_NETFILTER).value();
    std::uint32_t port = socket.port();
    driver.emplace(std::move(socket));
    routes.emplace(KernelRoutes::open().value());
    events.emplace(KernelEvents::open(port, routes->port()).value());
  }

  // By us, through the driver.
  void serve(int listeners) {
    Balancer balancer{.note = "a", .addresses = {ip("192.0.2.1")}, .groups = {{}}};
    for (int i = 0; i < listeners; ++i) {
      balancer.listeners.push_back({Protocol::tcp, static_cast<std::uint16_t>(i + 1), 0});
    }
    balancer.groups[0].push_back({.endpoint = {ip("10.88.0.11"), 80}});
    Held held = driver->observe().value();
    Wish wish{.balancers = {balancer}};
    Result<> applied = driver->apply(make_plan(held, wish).value(), held);
    ASSERT_TRUE(applied) << applied.error().message;
  }

  KernelChanges drain() {
    Result<KernelChanges> changes = events->drain();
    EXPECT_TRUE(changes) << changes.error().message;
    return *changes;
  }

  std::optional<testing::Namespace> host;
  std::optional<NftDriver> driver;
  std::optional<KernelRoutes> routes;
  std::optional<KernelEvents> events;
};

constexpr KernelChanges kNothing{};

TEST_F(KernelEventsTest, nothing_happened_at_first_and_each_change_is_told_once) {
  EXPECT_EQ(drain(), kNothing);
  host->ip("addr add 10.88.0.100/32 dev lan");
  EXPECT_EQ(drain(), (KernelChanges{.addresses = true}));
  EXPECT_EQ(drain(), kNothing);
}

TEST_F(KernelEventsTest, addresses_of_both_families_that_come_and_go_are_told) {
  for (const char* address : {"10.88.0.100/32", "fd88::100/128"}) {
    for (const char* verb : {"add", "del"}) {
      host->ip(fmt::format("addr {} {} dev lan", verb, address));
      EXPECT_TRUE(drain().addresses) << verb << address;
    }
  }
}

TEST_F(KernelEventsTest, links_are_told) {
  host->ip("link set lan up");
  EXPECT_TRUE(drain().links);
  host->ip("link set lan down");
  EXPECT_TRUE(drain().links);
  host->ip("link del lan");
  EXPECT_TRUE(drain().links);
}

TEST_F(KernelEventsTest, what_we_change_in_the_rules_is_no_news_however_much_it_is) {
  serve(1);
  EXPECT_EQ(drain(), kNothing);
  serve(1000);
  EXPECT_EQ(drain(), kNothing);
}

TEST_F(KernelEventsTest, what_others_change_in_our_table_is_told) {
  serve(1);
  for (const char* command :
       {"nft delete element inet isthmus ports4 { 192.0.2.1 . tcp . 1 }",
        "nft add rule inet isthmus prerouting counter", "nft flush chain inet isthmus prerouting",
        "nft add chain inet isthmus stray", "nft delete table inet isthmus"}) {
    EXPECT_EQ(drain(), kNothing);
    host->run(command);
    EXPECT_EQ(drain(), (KernelChanges{.rules = true})) << command;
  }
}

TEST_F(KernelEventsTest, what_happens_while_rules_are_ignored_is_not_told) {
  serve(1);
  events->ignore_rules(true);
  host->run("nft add chain inet isthmus stray");
  events->ignore_rules(false);
  EXPECT_EQ(drain(), kNothing);
  host->run("nft delete chain inet isthmus stray");
  EXPECT_EQ(drain(), (KernelChanges{.rules = true}));
}

TEST_F(KernelEventsTest, what_others_change_elsewhere_is_not) {
  serve(1);
  host->run(
      "nft add table inet theirs; nft add chain inet theirs isthmus; nft add table ip isthmus; "
      "nft add set ip isthmus ports4 \"{ type ipv4_addr; }\"; nft delete table inet theirs");
  EXPECT_EQ(drain(), kNothing);
}

TEST_F(KernelEventsTest, lost_events_are_everything_they_could_have_told) {
  // Both sockets keep about 200 kB. Half a page is what the kernel counts for an address.
  InterfaceAddresses addresses(NetlinkSocket::open(NETLINK_ROUTE).value());
  for (int i = 0; i < 2000; ++i) {
    IpAddress address = ip(fmt::format("10.1.{}.{}", i / 250, i % 250 + 1));
    ASSERT_TRUE(addresses.bind({address, "lan"}));
  }
  KernelChanges changes = drain();
  EXPECT_TRUE(changes.addresses);
  EXPECT_TRUE(changes.links) << "nobody knows";
}

// Of the routes only: a link that has come up gets its carrier and its link-local address when the
// kernel finds the time, and that is told as well.
TEST_F(KernelEventsTest,
       what_others_do_to_our_routes_is_told_and_what_we_or_others_do_else_is_not) {
  host->ip("link set lan up\nlink set other up\naddr add 10.88.0.1/24 dev lan");
  (void)drain();
  const HostRoute ours{parse_prefix("10.244.1.0/24").value(), ip("10.88.0.11"), "lan"};
  const std::vector<RouteChange> change{{RouteChange::Kind::add, ours}};
  EXPECT_EQ(routes->apply(change).value(), RouteBook::Refusals{std::nullopt});
  host->ip("route add 10.245.0.0/24 via 10.88.0.12 proto static");
  EXPECT_FALSE(drain().routes);
  host->ip("route del 10.244.1.0/24 proto 66");
  EXPECT_TRUE(drain().routes);
}

}  // namespace
}  // namespace isthmus::infra::drivers
