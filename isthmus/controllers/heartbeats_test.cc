#include "isthmus/controllers/heartbeats.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;

constexpr Moment kStart{1000s};

// Looked for ten minutes.
HeartbeatList list() {
  HeartbeatList list{.as_of = kStart + 10min, .looking_since = kStart};
  list.leases["silent"] = {.renew_time = "t1", .silent_since = kStart + 4min};
  list.leases["alive"] = {
      .renew_time = "t9", .silent_since = kStart + 10min + 1s, .renewed_after = kStart + 9min};
  list.unreadable = {"odd"};
  list.vanished["gone"] = kStart + 7min;
  return list;
}

TEST(heartbeats, a_kubelet_is_silent_from_the_look_that_showed_its_last_renewal) {
  EXPECT_EQ(list().silence("silent"), 6min);
  EXPECT_EQ(list().silence("alive"), 0s)
      << "never less, although the answer came after the question";
}

TEST(heartbeats, a_kubelet_without_a_lease_is_silent_since_it_had_one_or_since_the_first_look) {
  EXPECT_EQ(list().silence("gone"), 3min);
  EXPECT_EQ(list().silence("never"), 10min);
}

TEST(heartbeats, of_a_lease_that_cannot_be_read_no_silence_is_known) {
  EXPECT_EQ(list().silence("odd"), std::nullopt);
}

TEST(heartbeats, only_a_text_that_was_seen_to_move_is_a_renewal) {
  EXPECT_TRUE(list().is_renewed_after("alive", kStart + 9min));
  EXPECT_FALSE(list().is_renewed_after("alive", kStart + 9min + 1s));
  for (const char* node : {"silent", "odd", "gone", "never"}) {
    EXPECT_FALSE(list().is_renewed_after(node, Moment::min())) << node;
  }
}

}  // namespace
}  // namespace isthmus::controllers
