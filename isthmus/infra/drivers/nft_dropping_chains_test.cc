#include "isthmus/infra/drivers/nft_dropping_chains.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>

#include <optional>

#include "isthmus/infra/drivers/lab_testing.h"

namespace isthmus::infra::drivers {
namespace {

class DroppingChainsTest : public testing::PrivilegedTest {};

TEST_F(DroppingChainsTest, are_those_of_others_that_see_what_is_forwarded) {
  const testing::Namespace host;
  NetlinkSocket socket = NetlinkSocket::open(NETLINK_NETFILTER).value();
  EXPECT_EQ(dropping_chains(socket).value(), std::vector<std::string>{});
  auto add = [&](const std::string& table, const std::string& chain, const std::string& what) {
    host.run("nft add table " + table + "; nft add chain " + table + " " + chain + " \"{ " + what +
             " }\"");
  };
  add("ip filter", "FORWARD", "type filter hook forward priority 0; policy drop;");
  add("inet firewalld", "forward", "type filter hook forward priority 10; policy drop;");
  add("ip6 filter", "FORWARD", "type filter hook forward priority 0; policy accept;");
  add("ip filter", "INPUT", "type filter hook input priority 0; policy drop;");
  add("inet isthmus", "ours", "type filter hook forward priority 0; policy drop;");
  add("bridge br", "between", "type filter hook forward priority 0; policy drop;");
  host.run("nft add chain ip filter plain");
  EXPECT_EQ(dropping_chains(socket).value(),
            (std::vector<std::string>{"inet firewalld forward", "ip filter FORWARD"}));
}

}  // namespace
}  // namespace isthmus::infra::drivers
