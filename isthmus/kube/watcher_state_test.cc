#include "isthmus/kube/watcher_state.h"

#include <gtest/gtest.h>

namespace isthmus::kube::watching {
namespace {

using namespace std::chrono_literals;

Error error(Outcome outcome) { return {outcome, "the server says so"}; }
constexpr Moment kNow{10s};

// One transition as a line: "state effect [pause]".
std::string told(const State& state, const Input& input, int stream_failures = 0) {
  const Step step = transition(state, input, kNow, stream_failures);
  constexpr std::string_view kEffects[] = {"none", "collect", "publish", "discard", "apply"};
  std::string line(name_of(step.next));
  if (const auto* opening = std::get_if<Opening>(&step.next)) line += "(" + opening->floor + ")";
  if (const auto* collecting = std::get_if<Collecting>(&step.next)) {
    line += "(" + collecting->floor + ")";
  }
  if (const auto* paging = std::get_if<Paging>(&step.next)) {
    line += "(" + paging->continue_token + ")";
  }
  if (const auto* connecting = std::get_if<Connecting>(&step.next)) {
    line += "(" + connecting->version + ")";
  }
  if (const auto* following = std::get_if<Following>(&step.next)) {
    line += "(" + following->version + ")";
  }
  line += " " + std::string(kEffects[static_cast<int>(step.effect)]);
  if (step.pause) line += " pause";
  return line;
}

TEST(watcher_state, begins_with_a_streaming_list) {
  EXPECT_EQ(told(Opening{"5"}, Accepted{}), "collecting(5) none");
}

TEST(watcher_state, asks_for_pages_where_the_server_cannot_stream_a_list) {
  EXPECT_EQ(told(Opening{}, Failed{error(Outcome::invalid)}), "paging() none");
  EXPECT_EQ(told(Opening{}, Failed{error(Outcome::unsupported)}), "paging() none");
}

TEST(watcher_state, waits_and_asks_the_same_again_when_the_server_is_busy_lost_or_denies) {
  for (const Outcome outcome : {Outcome::busy, Outcome::lost, Outcome::denied, Outcome::deadline}) {
    EXPECT_EQ(told(Opening{"5"}, Failed{error(outcome)}), "opening(5) none pause");
    EXPECT_EQ(told(Paging{"t"}, Failed{error(outcome)}), "paging(t) none pause");
    EXPECT_EQ(told(Connecting{"5"}, Failed{error(outcome)}), "connecting(5) none pause");
  }
}

TEST(watcher_state, drops_the_floor_when_that_version_is_gone_or_not_there_yet) {
  EXPECT_EQ(told(Opening{"5"}, Failed{error(Outcome::conflict)}), "opening() none");
}

TEST(watcher_state, pages_when_even_the_newest_state_is_said_to_be_gone) {
  EXPECT_EQ(told(Opening{}, Failed{error(Outcome::conflict)}), "paging() none pause");
}

TEST(watcher_state, publishes_nothing_before_the_end_of_the_initial_objects) {
  EXPECT_EQ(told(Collecting{}, Arrived{"6"}), "collecting() collect");
  EXPECT_EQ(told(Collecting{}, Marked{"6", false}), "collecting() none");
  EXPECT_EQ(told(Collecting{}, Marked{"7", true}), "following(7) publish");
}

TEST(watcher_state, discards_an_unfinished_list_and_streams_again) {
  EXPECT_EQ(told(Collecting{"5"}, Ended{}), "opening(5) discard pause");
  EXPECT_EQ(told(Collecting{"5"}, Broken{error(Outcome::lost)}), "opening(5) discard pause");
  EXPECT_EQ(told(Collecting{"5"}, Garbled{error(Outcome::lost)}), "opening(5) discard pause");
  EXPECT_EQ(told(Collecting{"5"}, Refused{error(Outcome::busy)}), "opening(5) discard pause");
}

TEST(watcher_state, pages_after_being_cut_off_twice_as_too_slow) {
  EXPECT_EQ(told(Collecting{"5"}, Ended{}, 1), "paging() discard pause");
}

TEST(watcher_state, pages_when_the_end_of_the_initial_objects_never_comes) {
  EXPECT_EQ(told(Collecting{}, Silent{}), "paging() discard");
}

TEST(watcher_state, starts_without_a_floor_when_the_stream_says_gone_during_the_list) {
  EXPECT_EQ(told(Collecting{"5"}, Refused{error(Outcome::conflict)}), "opening() discard pause");
}

TEST(watcher_state, pages_after_any_other_refusal_of_a_streaming_list) {
  EXPECT_EQ(told(Collecting{}, Refused{error(Outcome::lost)}), "paging() discard pause");
}

TEST(watcher_state, publishes_only_the_last_page) {
  EXPECT_EQ(told(Paging{}, PageRead{"6", "t"}), "paging(t) collect");
  EXPECT_EQ(told(Paging{"t"}, PageRead{"6", ""}), "connecting(6) publish");
}

TEST(watcher_state, begins_the_list_again_when_the_server_forgot_the_next_page) {
  EXPECT_EQ(told(Paging{"t"}, Failed{error(Outcome::conflict)}), "paging() discard pause");
}

TEST(watcher_state, relists_when_the_version_to_watch_from_is_gone) {
  EXPECT_EQ(told(Connecting{"5"}, Failed{error(Outcome::conflict)}), "opening(5) none pause");
}

TEST(watcher_state, applies_changes_and_remembers_the_version_of_each_and_of_bookmarks) {
  const Following state{"5", kNow - 1min, false};
  EXPECT_EQ(told(state, Arrived{"6"}), "following(6) apply");
  EXPECT_EQ(told(state, Arrived{""}), "following(5) apply");
  EXPECT_EQ(told(state, Marked{"7", false}), "following(7) none");
}

TEST(watcher_state, resumes_from_the_last_version_after_an_end_or_a_cut) {
  const Following state{"5", kNow - 1min, false};
  EXPECT_EQ(told(state, Ended{}), "connecting(5) none");
  EXPECT_EQ(told(state, Broken{error(Outcome::lost)}), "connecting(5) none");
}

TEST(watcher_state, resumes_a_watch_that_went_silent_and_relists_if_it_never_spoke) {
  EXPECT_EQ(told(Following{"5", kNow - 1min, true}, Silent{}), "connecting(5) none");
  EXPECT_EQ(told(Following{"5", kNow - 1min, false}, Silent{}), "opening(5) none");
}

TEST(watcher_state, counts_a_watch_that_ends_within_a_second_without_news_as_an_error) {
  EXPECT_EQ(told(Following{"5", kNow - 999ms, false}, Ended{}), "connecting(5) none pause");
  EXPECT_EQ(told(Following{"5", kNow - 999ms, true}, Ended{}), "connecting(5) none");
  EXPECT_EQ(told(Following{"5", kNow - 1s, false}, Ended{}), "connecting(5) none");
}

TEST(watcher_state, relists_on_gone_inside_the_stream_and_on_any_refusal_but_busy) {
  const Following state{"5", kNow, true};
  EXPECT_EQ(told(state, Refused{error(Outcome::conflict)}), "opening(5) none pause");
  EXPECT_EQ(told(state, Refused{error(Outcome::lost)}), "opening(5) none pause");
  EXPECT_EQ(told(state, Refused{error(Outcome::busy)}), "connecting(5) none pause");
}

TEST(watcher_state, relists_around_a_line_that_it_does_not_understand) {
  EXPECT_EQ(told(Following{"5", kNow, true}, Garbled{error(Outcome::lost)}),
            "opening(5) none pause");
}

TEST(watcher_state, waits_at_least_as_long_as_the_server_asks) {
  const Step step = transition(Opening{}, Failed{{Outcome::busy, "429", 7s}}, kNow, 0);
  EXPECT_EQ(step.pause_min, 7s);
}

}  // namespace
}  // namespace isthmus::kube::watching
