#include "isthmus/infra/drivers/link_frames.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace isthmus::infra::drivers {
namespace {

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

constexpr MacAddress kMac{2, 0, 0, 0, 0, 7};

std::string hex(const Frame& frame) { return fmt::format("{:02x}", fmt::join(frame, "")); }

TEST(link_frames, an_announcement_of_ipv4_is_a_request_and_a_reply_for_the_address_itself) {
  std::vector<Frame> frames = announcement_frames(ip("192.0.2.1"), kMac);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(hex(frames[0]),
            "ffffffffffff0200000000070806"
            "0001080006040001020000000007c0000201000000000000c0000201");
  EXPECT_EQ(hex(frames[1]),
            "ffffffffffff0200000000070806"
            "0001080006040002020000000007c0000201020000000007c0000201");
}

TEST(link_frames, an_announcement_of_ipv6_is_an_advertisement_that_overrides) {
  std::vector<Frame> frames = announcement_frames(ip("2001:db8::1"), kMac);
  ASSERT_EQ(frames.size(), 1u);
  std::string frame = hex(frames[0]);
  EXPECT_TRUE(frame.starts_with("33330000000102000000000786dd6000000000203aff")) << frame;
  EXPECT_TRUE(frame.ends_with("20010db80000000000000000000000010201020000000007")) << frame;
}

TEST(link_frames, a_probe_asks_without_an_address_of_its_own) {
  EXPECT_EQ(hex(probe_frame(ip("192.0.2.1"), kMac)),
            "ffffffffffff0200000000070806"
            "000108000604000102000000000700000000000000000000c0000201");
  std::string frame = hex(probe_frame(ip("2001:db8::12:3456"), kMac));
  EXPECT_TRUE(
      frame.starts_with("3333ff12345602000000000786dd6000000000183aff"
                        "00000000000000000000000000000000"
                        "ff0200000000000000000001ff1234568700"))
      << frame;
  EXPECT_TRUE(frame.ends_with("0000000020010db8000000000000000000123456")) << frame;
}

TEST(link_frames, who_announces_an_address_has_it) {
  for (const char* address : {"192.0.2.1", "2001:db8::1"}) {
    for (const Frame& frame : announcement_frames(ip(address), kMac)) {
      EXPECT_EQ(claim_in(frame), (Claim{ip(address), kMac, false}));
    }
  }
}

TEST(link_frames, who_probes_for_an_address_wants_it) {
  for (const char* address : {"192.0.2.1", "2001:db8::1"}) {
    EXPECT_EQ(claim_in(probe_frame(ip(address), kMac)), (Claim{ip(address), kMac, true}));
  }
}

TEST(link_frames, an_advertisement_says_whose_the_address_is) {
  Frame frame = announcement_frames(ip("2001:db8::1"), kMac)[0];
  frame[11] = 8;  // A proxy sends it.
  EXPECT_EQ(claim_in(frame)->mac, kMac);
  frame.resize(frame.size() - 8);
  EXPECT_EQ(claim_in(frame)->mac, (MacAddress{2, 0, 0, 0, 0, 8})) << "nobody else is named";
}

TEST(link_frames, what_routers_have_passed_on_says_nothing_of_the_link) {
  Frame frame = announcement_frames(ip("2001:db8::1"), kMac)[0];
  frame[21] = 254;
  EXPECT_EQ(claim_in(frame), std::nullopt);
}

TEST(link_frames, whatever_is_cut_off_or_another_protocol_is_no_claim) {
  for (const char* address : {"192.0.2.1", "2001:db8::1"}) {
    std::vector<Frame> frames = announcement_frames(ip(address), kMac);
    frames.push_back(probe_frame(ip(address), kMac));
    for (const Frame& frame : frames) {
      for (std::size_t i = 0; i < frame.size(); ++i) {
        // Behind the target of an advertisement are options only.
        std::span<const std::uint8_t> part = std::span(frame).first(i);
        EXPECT_EQ(claim_in(part).has_value(), i >= 14 + 40 + 24) << address << " " << i;
        Frame flipped = frame;
        flipped[i] ^= 0xff;
        (void)claim_in(flipped);
      }
      Frame other = frame;
      other[12] = 0x88;
      EXPECT_EQ(claim_in(other), std::nullopt);
    }
  }
  EXPECT_EQ(claim_in(probe_frame(IpAddress{}, kMac)), std::nullopt) << "of no address at all";
}

}  // namespace
}  // namespace isthmus::infra::drivers
