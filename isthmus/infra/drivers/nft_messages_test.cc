#include "isthmus/infra/drivers/nft_messages.h"

#include <gtest/gtest.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include "isthmus/infra/drivers/lab_testing.h"

namespace isthmus::infra::drivers {
namespace {

class NftMessagesTest : public testing::PrivilegedTest {
 protected:
  void SetUp() override {
    PrivilegedTest::SetUp();
    if (granted) socket.emplace(NetlinkSocket::open(NETLINK_NETFILTER).value());
  }

  // "-" for each message that removes, "+" for each that adds.
  std::string kinds(const NetlinkMessages& messages) {
    std::string result;
    int left = static_cast<int>(messages.size());
    const auto* header = reinterpret_cast<const nlmsghdr*>(messages.bytes().data());
    while (mnl_nlmsg_ok(header, left)) {
      result += (header->nlmsg_type & 0xff) == NFT_MSG_NEWSETELEM ? '+' : '-';
      header = mnl_nlmsg_next(header, &left);
    }
    return result;
  }

  std::optional<NetlinkSocket> socket;
  const ListenerKey key{parse_ip("192.0.2.1").value(), Protocol::tcp, 80};
};

TEST_F(NftMessagesTest, what_stays_needs_no_message) {
  HeldListener listener{.choice = Choice::random, .announced = true, .note = "prod/web 7"};
  NetlinkMessages messages;
  add_changes(elements_of(key, listener), elements_of(key, listener), *socket, messages);
  EXPECT_TRUE(messages.empty());
}

TEST_F(NftMessagesTest, a_value_that_changes_is_removed_and_added) {
  HeldListener before{.choice = Choice::random, .announced = true, .note = "prod/web 7"};
  HeldListener after{.choice = Choice::client, .announced = true, .note = "prod/web 8"};
  NetlinkMessages messages;
  add_changes(elements_of(key, before), elements_of(key, after), *socket, messages);
  EXPECT_EQ(kinds(messages), "--++") << "of two sets";
}

TEST_F(NftMessagesTest, a_long_list_is_several_messages) {
  HeldListener listener;
  for (unsigned i = 0; i < 1500; ++i) {
    IpPrefix source = parse_prefix("10.0.0.0/24").value();
    source.address.bytes[1] = static_cast<std::uint8_t>(i >> 8);
    source.address.bytes[2] = static_cast<std::uint8_t>(i);
    listener.sources.push_back(source);
  }
  NetlinkMessages messages;
  add_changes({}, elements_of(key, listener), *socket, messages);
  EXPECT_EQ(kinds(messages).find_first_not_of('+'), std::string::npos);
  EXPECT_GT(kinds(messages).size(), 1u);
}

TEST_F(NftMessagesTest, every_namespace_counts_its_own_changes) {
  testing::Namespace fresh;
  NetlinkSocket inside = NetlinkSocket::open(NETLINK_NETFILTER).value();
  std::uint32_t before = read_generation(inside).value();
  fresh.run("nft add table inet theirs");
  EXPECT_EQ(read_generation(inside).value(), before + 1);
}

TEST_F(NftMessagesTest, a_transaction_into_nothing_is_a_conflict) {
  testing::Namespace fresh;
  NetlinkSocket inside = NetlinkSocket::open(NETLINK_NETFILTER).value();
  NetlinkMessages messages;
  add_changes({}, elements_of(key, {.choice = Choice::random}), inside, messages);
  EXPECT_EQ(commit(messages, inside).outcome(), Outcome::conflict);
}

}  // namespace
}  // namespace isthmus::infra::drivers
