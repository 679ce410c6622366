#include "isthmus/infra/drivers/announcement.h"

#include <gtest/gtest.h>

#include <optional>

#include <fmt/format.h>

#include "isthmus/infra/drivers/lab_testing.h"

namespace isthmus::infra::drivers {
namespace {

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

class AnnouncementTest : public testing::PrivilegedTest {
 protected:
  void SetUp() override {
    PrivilegedTest::SetUp();
    if (!granted) return;
    neighbour.emplace();
    host.emplace();
    host->ip("link add lan address 02:00:00:00:00:07 type veth peer name eth0 netns " +
             neighbour->path() + "\nlink set lan up");
    // It knew the addresses elsewhere.
    neighbour->ip(
        "link set eth0 up\naddr add 10.88.0.2/24 dev eth0\n"
        "addr add fd88::2/64 dev eth0 nodad\n"
        "neigh add 10.88.0.100 lladdr 02:00:00:00:00:99 nud stale dev eth0\n"
        "neigh add fd88::100 lladdr 02:00:00:00:00:99 nud stale dev eth0");
    host->enter();
    announcer.emplace(LinkAnnouncer::open().value());
  }

  std::optional<testing::Namespace> neighbour;
  std::optional<testing::Namespace> host;
  std::optional<LinkAnnouncer> announcer;
};

TEST_F(AnnouncementTest, neighbours_learn_where_the_address_is) {
  for (const char* address : {"10.88.0.100", "fd88::100"}) {
    // The link may take a moment to carry; the caller announces more than once as well.
    constexpr int kTries = 100;
    std::string known;
    for (int i = 0; i < kTries && !known.contains("02:00:00:00:00:07"); ++i) {
      Result<> announced = announcer->announce(ip(address), "lan");
      ASSERT_TRUE(announced) << announced.error().message;
      known = neighbour->run(fmt::format("ip neigh show {}", address));
    }
    EXPECT_TRUE(known.contains("02:00:00:00:00:07")) << known;
  }
}

TEST_F(AnnouncementTest, what_cannot_be_announced_says_why) {
  EXPECT_EQ(announcer->announce(ip("10.88.0.100"), "lan7").outcome(), Outcome::absent);
  EXPECT_EQ(announcer->announce(ip("10.88.0.100"), "a_name_too_long_for_it").outcome(),
            Outcome::absent);
  EXPECT_EQ(announcer->announce(ip("10.88.0.100"), "lo").outcome(), Outcome::unsupported);
  host->ip("link set lan down");
  EXPECT_EQ(announcer->announce(ip("10.88.0.100"), "lan").outcome(), Outcome::busy);
}

}  // namespace
}  // namespace isthmus::infra::drivers
