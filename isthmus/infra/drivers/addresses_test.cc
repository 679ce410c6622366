#include "isthmus/infra/drivers/addresses.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>

#include <algorithm>
#include <optional>

#include "isthmus/infra/drivers/lab_testing.h"

namespace isthmus::infra::drivers {
namespace {

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

using Present = std::vector<InterfaceAddress>;

const Present kHost{{ip("10.0.0.2"), 8, "wan", false},
                    {ip("10.88.0.1"), 24, "lan", false},
                    {ip("10.88.0.100"), 32, "lan", true},
                    {ip("192.0.2.9"), 32, "lo", false},
                    {ip("fd88::1"), 64, "lan", false}};

TEST(addresses, an_address_belongs_where_its_prefix_is_connected) {
  EXPECT_EQ(interface_for(ip("10.88.0.7"), kHost, "pool0"), "lan") << "the longest prefix";
  EXPECT_EQ(interface_for(ip("10.1.1.1"), kHost, ""), "wan");
  EXPECT_EQ(interface_for(ip("fd88::7"), kHost, ""), "lan");
  EXPECT_EQ(interface_for(ip("192.0.2.9"), kHost, "pool0"), "pool0") << "/32 connects nothing";
  Result<std::string> nowhere = interface_for(ip("203.0.113.1"), kHost, "");
  EXPECT_EQ(nowhere.outcome(), Outcome::invalid);
  EXPECT_TRUE(nowhere.error().message.contains("203.0.113.1"));
}

TEST(addresses, links_are_the_prefixes_of_others_addresses) {
  std::vector<std::string> links;
  for (const IpPrefix& link : links_of(kHost)) links.push_back(to_string(link));
  EXPECT_EQ(links, (std::vector<std::string>{"10.0.0.0/8", "10.88.0.0/24", "fd88::/64"}));
}

class AddressesTest : public testing::PrivilegedTest {
 protected:
  void SetUp() override {
    PrivilegedTest::SetUp();
    if (!granted) return;
    host.emplace();
    host->ip(
        "link add lan type veth peer name other\nlink set lan up\n"
        "addr add 10.88.0.1/24 dev lan\naddr add fd88::1/64 dev lan nodad");
    addresses.emplace(NetlinkSocket::open(NETLINK_ROUTE).value());
  }

  bool holds(const char* address, bool ours) {
    Result<Present> present = addresses->observe();
    EXPECT_TRUE(present) << present.error().message;
    return std::ranges::any_of(*present, [&](const InterfaceAddress& one) {
      return one.address == ip(address) && one.interface == "lan" && one.ours == ours;
    });
  }

  std::optional<testing::Namespace> host;
  std::optional<InterfaceAddresses> addresses;
};

TEST_F(AddressesTest, what_is_bound_is_known_as_ours) {
  for (const char* address : {"10.88.0.100", "fd88::100"}) {
    Result<> bound = addresses->bind({ip(address), "lan"});
    ASSERT_TRUE(bound) << bound.error().message;
    EXPECT_TRUE(holds(address, true));
    EXPECT_EQ(addresses->bind({ip(address), "lan"}).outcome(), Outcome::conflict);
  }
  EXPECT_TRUE(holds("10.88.0.1", false));

  std::string listed = host->run("ip addr show dev lan");
  EXPECT_TRUE(listed.contains("inet 10.88.0.100/32")) << listed;
  EXPECT_TRUE(listed.contains("inet6 fd88::100/128 scope global nodad deprecated")) << listed;
}

TEST_F(AddressesTest, the_host_does_not_speak_with_an_address_that_may_leave) {
  host->run("ip link set other up");
  ASSERT_TRUE(addresses->bind({ip("fd88::100"), "lan"}));
  ASSERT_TRUE(addresses->bind({ip("10.88.0.100"), "lan"}));
  EXPECT_TRUE(host->run("ip route get fd88::101").contains("src fd88::1 "));
  EXPECT_TRUE(host->run("ip route get 10.88.0.101").contains("src 10.88.0.1 "));
}

TEST_F(AddressesTest, only_ours_are_taken_away) {
  ASSERT_TRUE(addresses->bind({ip("10.88.0.100"), "lan"}));
  ASSERT_TRUE(addresses->bind({ip("fd88::100"), "lan"}));
  host->run("ip addr add 10.88.0.101/32 dev lan");
  EXPECT_TRUE(addresses->unbind({ip("10.88.0.100"), "lan"}));
  EXPECT_TRUE(addresses->unbind({ip("fd88::100"), "lan"}));
  EXPECT_EQ(addresses->unbind({ip("10.88.0.100"), "lan"}).outcome(), Outcome::absent);
  EXPECT_EQ(addresses->unbind({ip("10.88.0.101"), "lan"}).outcome(), Outcome::conflict);
  EXPECT_EQ(addresses->unbind({ip("10.88.0.1"), "lan"}).outcome(), Outcome::absent) << "as a /32";
  EXPECT_FALSE(holds("10.88.0.100", true));
  EXPECT_FALSE(holds("fd88::100", true));
  EXPECT_TRUE(holds("10.88.0.101", false));
  EXPECT_TRUE(holds("10.88.0.1", false));
}

TEST_F(AddressesTest, an_interface_that_is_not_there_is_absent) {
  Result<> bound = addresses->bind({ip("10.88.0.100"), "lan7"});
  EXPECT_EQ(bound.outcome(), Outcome::absent);
  EXPECT_EQ(bound.error().message, "this host has no interface lan7");
}

}  // namespace
}  // namespace isthmus::infra::drivers
