#include "isthmus/infra/drivers/nft_structure.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>

#include <algorithm>
#include <optional>

#include "isthmus/infra/drivers/lab_testing.h"
#include "isthmus/infra/drivers/nft_messages.h"

namespace isthmus::infra::drivers {
namespace {

// A namespace with a structure in it, without machines.
class NftStructureTest : public testing::PrivilegedTest {
 protected:
  void SetUp() override {
    PrivilegedTest::SetUp();
    if (!granted) return;
    host.emplace();
    socket.emplace(NetlinkSocket::open(NETLINK_NETFILTER).value());
  }

  HeldStructure read() {
    Result<HeldStructure> held = read_structure(*socket);
    EXPECT_TRUE(held) << held.error().message;
    return held.value_or(HeldStructure{});
  }

  void make_right() {
    NetlinkMessages messages;
    add_structure(read(), *socket, messages);
    EXPECT_LT(messages.size(), 128u * 1024);
    Result<> committed = commit(messages, *socket);
    EXPECT_TRUE(committed) << committed.error().message;
  }

  std::optional<testing::Namespace> host;
  std::optional<NetlinkSocket> socket;
};

TEST_F(NftStructureTest, what_was_built_is_read_back_rule_by_rule) {
  EXPECT_EQ(judge(read()), Structure::absent);
  make_right();
  HeldStructure held = read();
  EXPECT_EQ(held.mark, kTableMark);
  std::vector<Chain> wanted = wanted_chains();
  ASSERT_EQ(held.chains.size(), wanted.size());
  for (const Chain& chain : wanted) {
    auto found = std::ranges::find(held.chains, chain.name, &HeldStructure::HeldChain::name);
    ASSERT_NE(found, held.chains.end()) << chain.name;
    EXPECT_EQ(found->hook, chain.hook) << chain.name;
    ASSERT_EQ(found->rules.size(), chain.rules.size()) << chain.name;
    for (std::size_t i = 0; i < chain.rules.size(); ++i) {
      EXPECT_EQ(found->rules[i], text_of(chain.rules[i])) << chain.name;
    }
  }
  EXPECT_EQ(judge(held), Structure::right);
}

TEST_F(NftStructureTest, others_hands_are_seen_and_undone) {
  make_right();
  for (const char* damage : {
           "nft flush chain inet isthmus postrouting; nft delete set inet isthmus loops4;"
           "nft add set inet isthmus loops4 { type ipv4_addr \\; }",
           "nft flush chain inet isthmus random4_3",
           "nft insert rule inet isthmus input accept",
           "nft add rule inet isthmus client6_0 drop",
           "nft add chain inet isthmus prerouting { policy drop \\; }",
           "nft add chain inet isthmus extra { type filter hook forward priority 0 \\; policy drop "
           "\\; }",
           "nft add set inet isthmus extra { type ipv4_addr \\; }",
           "for i in $(seq 0 15); do nft flush chain inet isthmus restricted_random4_$i;"
           "nft flush chain inet isthmus restricted_client4_$i; done;"
           "nft delete set inet isthmus sources4",
           "nft flush chain inet isthmus random4_1; nft flush chain inet isthmus client4_1;"
           "nft delete map inet isthmus slots4_1",
       }) {
    host->run(damage);
    EXPECT_EQ(judge(read()), Structure::damaged) << damage;
    make_right();
    EXPECT_EQ(judge(read()), Structure::right) << damage;
  }
}

TEST_F(NftStructureTest, a_table_that_was_put_to_sleep_is_woken) {
  make_right();
  host->run("nft add table inet isthmus { flags dormant \\; }");
  EXPECT_EQ(judge(read()), Structure::damaged);
  NetlinkMessages messages;
  add_table_without_flags(*socket, messages);
  Result<> committed = commit(messages, *socket);
  EXPECT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(judge(read()), Structure::right);
}

TEST_F(NftStructureTest, a_table_of_our_name_without_our_mark_is_seen_as_foreign) {
  host->run("nft add table inet isthmus; nft add chain inet isthmus theirs");
  HeldStructure held = read();
  EXPECT_TRUE(held.table);
  EXPECT_NE(held.mark, kTableMark);
  EXPECT_TRUE(held.chains.empty()) << "it is nothing to us";
}

TEST_F(NftStructureTest, people_can_list_it) {
  make_right();
  std::string listed = host->run("nft list table inet isthmus");
  EXPECT_TRUE(listed.contains("comment \"made by isthmus infra\"")) << listed;
  EXPECT_TRUE(listed.contains("chain restricted_client6_0")) << listed;
  EXPECT_TRUE(
      listed.contains("ip daddr . meta l4proto . th dport . numgen random mod 128 map @slots4_0"))
      << listed;
}

}  // namespace
}  // namespace isthmus::infra::drivers
