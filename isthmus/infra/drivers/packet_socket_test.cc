#include "isthmus/infra/drivers/packet_socket.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <optional>
#include <vector>

#include "isthmus/infra/drivers/lab_testing.h"

namespace isthmus::infra::drivers {
namespace {

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

constexpr MacAddress kLeft{2, 0, 0, 0, 0, 7};
constexpr MacAddress kRight{2, 0, 0, 0, 0, 8};

class PacketSocketTest : public testing::PrivilegedTest {
 protected:
  void SetUp() override {
    PrivilegedTest::SetUp();
    if (!granted) return;
    there.emplace();
    here.emplace();
    here->ip(
        "link add lan address 02:00:00:00:00:07 type veth peer name eth0 address "
        "02:00:00:00:00:08 netns " +
        there->path() + "\nlink set lan up");
    there->ip("link set eth0 up");
  }

  PacketSocket open(const std::optional<testing::Namespace>& where, FrameKind kind) {
    where->enter();
    return PacketSocket::open(kind).value();
  }

  // The kernel looks after links in its own time, at most once a second.
  bool carries(PacketSocket& socket, bool wanted) {
    constexpr int kTries = 500;
    for (int i = 0; i < kTries; ++i) {
      if (socket.link("lan")->carrier == wanted) return true;
      (void)::poll(nullptr, 0, 10);
    }
    return false;
  }

  // The claims received until there are so many; the link may take a moment to carry, so the frame
  // is sent until something comes.
  std::vector<Claim> sent_over(PacketSocket& from, PacketSocket& to, const Frame& frame,
                               std::size_t count) {
    std::vector<Claim> claims;
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries && claims.size() < count; ++i) {
      EXPECT_TRUE(from.send(from.link("lan").value(), frame));
      (void)::poll(nullptr, 0, 1);
      EXPECT_TRUE(to.receive([&](std::span<const std::uint8_t> got, int) {
        if (std::optional<Claim> claim = claim_in(got)) claims.push_back(*claim);
      }));
    }
    return claims;
  }

  std::optional<testing::Namespace> there;
  std::optional<testing::Namespace> here;
};

TEST_F(PacketSocketTest, knows_the_interface) {
  PacketSocket socket = open(here, FrameKind::arp);
  Result<EthernetLink> link = socket.link("lan");
  ASSERT_TRUE(link) << link.error().message;
  EXPECT_EQ(link->mac, kLeft);
  EXPECT_TRUE(carries(socket, true));
  EXPECT_EQ(socket.link("lan7").outcome(), Outcome::absent);
  EXPECT_EQ(socket.link("a_name_too_long_for_it").outcome(), Outcome::absent);
  EXPECT_EQ(socket.link("lo").outcome(), Outcome::unsupported);
  there->ip("link set eth0 down");
  EXPECT_TRUE(carries(socket, false)) << "nobody is at the other end";
}

TEST_F(PacketSocketTest, receives_frames_of_its_kind_while_it_listens) {
  for (const char* address : {"192.0.2.1", "2001:db8::1"}) {
    FrameKind kind =
        ip(address).family == IpFamily::v4 ? FrameKind::arp : FrameKind::ipv6_neighbours;
    PacketSocket from = open(here, kind);
    PacketSocket to = open(there, kind);
    ASSERT_TRUE(to.listen());
    ASSERT_TRUE(to.listen_to_all_groups(to.link("eth0").value()));
    Frame frame = probe_frame(ip(address), kLeft);
    std::vector<Claim> claims = sent_over(from, to, frame, 1);
    ASSERT_FALSE(claims.empty());
    EXPECT_EQ(claims[0], (Claim{ip(address), kLeft, true}));
    // What is there when it stops listening is gone as well.
    EXPECT_TRUE(from.send(from.link("lan").value(), frame));
    to.deaf();
    EXPECT_TRUE(from.send(from.link("lan").value(), frame));
    ASSERT_TRUE(to.listen());
    EXPECT_TRUE(to.receive([](std::span<const std::uint8_t>, int) { FAIL() << "received"; }));
  }
}

TEST_F(PacketSocketTest, does_not_hear_itself) {
  PacketSocket from = open(here, FrameKind::arp);
  PacketSocket to = open(there, FrameKind::arp);
  ASSERT_TRUE(from.listen());
  ASSERT_TRUE(to.listen());
  ASSERT_FALSE(sent_over(from, to, probe_frame(ip("192.0.2.1"), kRight), 1).empty());
  EXPECT_TRUE(from.receive([](std::span<const std::uint8_t>, int) { FAIL() << "its own"; }));
}

}  // namespace
}  // namespace isthmus::infra::drivers
