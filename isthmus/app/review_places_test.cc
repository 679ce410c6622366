#include "isthmus/app/review_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace isthmus::app {
namespace {

class ReviewPlacesTest : public testing::Test {
 protected:
  // How many of `wanted` places such a caller gets; they are held until the end of the test.
  std::size_t take_for_known(const std::string& fingerprint, std::size_t wanted) {
    return keep(wanted, [&] { return places.take_for_known(fingerprint); });
  }
  std::size_t take_for_all_who_are_known() {
    std::size_t got = 0;
    for (int i = 0; i < 100; ++i) got += take_for_known(std::to_string(i), 100);
    return got;
  }
  std::size_t take_for_strangers(const std::string& network, std::size_t wanted) {
    return keep(wanted, [&] { return places.take_for_stranger(network); });
  }
  std::size_t take_for_strangers_from_everywhere() {
    std::size_t got = 0;
    for (int i = 0; i < 100; ++i) got += take_for_strangers(std::to_string(i), 100);
    return got;
  }

  ReviewPlaces places;
  std::vector<ReviewPlaces::Place> held;

 private:
  template <class Take>
  std::size_t keep(std::size_t wanted, Take take) {
    const std::size_t before = held.size();
    for (std::size_t i = 0; i < wanted; ++i) {
      std::optional<ReviewPlaces::Place> place = take();
      if (place) held.push_back(std::move(*place));
    }
    return held.size() - before;
  }
};

TEST_F(ReviewPlacesTest, one_network_leaves_places_to_others) {
  EXPECT_EQ(take_for_strangers("192.0.2.7", 100), kReviewsAlikeMax);
  EXPECT_EQ(take_for_strangers("192.0.2.8", 1), 1U);
}

TEST_F(ReviewPlacesTest, strangers_from_everywhere_leave_places_to_who_is_known) {
  EXPECT_EQ(take_for_strangers_from_everywhere(), kStrangersReviewedMax);
  EXPECT_EQ(take_for_all_who_are_known(), kReviewsAtOnceMax - kStrangersReviewedMax);
}

TEST_F(ReviewPlacesTest, one_who_is_known_leaves_places_to_others_who_are) {
  EXPECT_EQ(take_for_known("scraper", 100), kReviewsAlikeMax);
  EXPECT_EQ(take_for_known("another", 1), 1U);
  EXPECT_EQ(take_for_strangers("scraper", 1), 1U) << "a network is no fingerprint";
}

TEST_F(ReviewPlacesTest, all_together_have_an_end) {
  EXPECT_EQ(take_for_all_who_are_known(), kReviewsAtOnceMax);
  EXPECT_EQ(take_for_strangers("192.0.2.7", 1), 0U);
}

TEST_F(ReviewPlacesTest, a_place_is_free_again_when_its_holder_is_done) {
  take_for_strangers_from_everywhere();
  take_for_all_who_are_known();
  EXPECT_EQ(take_for_strangers("192.0.2.7", 1) + take_for_known("scraper", 1), 0U);
  held.clear();
  EXPECT_EQ(take_for_strangers_from_everywhere(), kStrangersReviewedMax);
  EXPECT_EQ(take_for_known("scraper", 1), 1U);
}

TEST(network_of, a_peer_is_counted_by_its_address_and_in_ipv6_by_its_first_half) {
  EXPECT_EQ(network_of("192.0.2.7:4711"), "192.0.2.7");
  EXPECT_EQ(network_of("[2001:db8::1]:4711"), "2001:db8::/64");
  EXPECT_EQ(network_of("[2001:db8:0:0:ffff::9]:1"), "2001:db8::/64");
  EXPECT_NE(network_of("[2001:db8:0:1::1]:1"), network_of("[2001:db8::1]:1"));
  EXPECT_EQ(network_of("unix"), "unix");
  EXPECT_EQ(network_of("[fe80::1%eth0]:1"), "fe80::1%eth0");
}

}  // namespace
}  // namespace isthmus::app
