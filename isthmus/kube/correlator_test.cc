#include "isthmus/kube/correlator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;

class CorrelatorTest : public ::testing::Test {
 protected:
  std::optional<Event> told(const std::string& reason, const std::string& message,
                            const std::string& object = "n1",
                            std::string_view type = kEventNormal) {
    const Note note{{"v1", "Node", {"", object}, "uid", "5"}, type, reason, message};
    return correlator.correlate("cloud-node-controller", note, Moment{now}, WallTime{1h + now});
  }

  SeededRandom random{5};
  Correlator correlator{random};
  Duration now = 1h;
};

TEST_F(CorrelatorTest, counts_the_same_note_up_under_the_same_name) {
  const std::optional<Event> first = told("Synced", "initialized");
  now += 1min;
  const std::optional<Event> second = told("Synced", "initialized");
  EXPECT_EQ(first->count, 1);
  EXPECT_EQ(second->count, 2);
  EXPECT_EQ(first->meta.key, second->meta.key);
  EXPECT_EQ(second->first_time, first->first_time);
  EXPECT_NE(second->last_time, first->last_time);
}

TEST_F(CorrelatorTest, remembers_no_more_of_a_note_than_is_told) {
  const std::string long_text(2000, 'x');
  EXPECT_EQ(told("Failed", long_text + "1")->count, 1);
  EXPECT_EQ(told("Failed", long_text + "2")->count, 2);
}

TEST_F(CorrelatorTest, names_events_by_the_object_and_the_time_in_hexadecimal_nanoseconds) {
  EXPECT_EQ(told("A", "x")->meta.key, (ObjectKey{"default", "n1.68c61714000"}));
}

TEST_F(CorrelatorTest, names_two_events_of_one_moment_apart) {
  EXPECT_NE(told("A", "x")->meta.key, told("B", "x")->meta.key);
}

TEST_F(CorrelatorTest, names_an_event_by_a_uuid_where_the_object_is_no_dns_name) {
  EXPECT_EQ(told("A", "x", "Not_a_DNS_name")->meta.key.name.size(), 36u);
}

TEST_F(CorrelatorTest, combines_similar_events_from_the_tenth_message_on) {
  std::map<std::string, Event> stored;
  for (int i = 0; i < 15; ++i) {
    const std::optional<Event> event = told("Failed", fmt::format("attempt {}", i));
    stored[event->meta.key.name] = *event;
    now += 1s;
  }
  EXPECT_EQ(stored.size(), 10u);
  int combined = 0;
  for (const auto& [name, event] : stored) {
    if (!event.message.starts_with("(combined from similar events): ")) continue;
    ++combined;
    EXPECT_EQ(event.message, "(combined from similar events): attempt 14");
    EXPECT_EQ(event.count, 6);
  }
  EXPECT_EQ(combined, 1);
}

TEST_F(CorrelatorTest, no_longer_combines_after_ten_quiet_minutes) {
  for (int i = 0; i < 15; ++i) told("Failed", fmt::format("attempt {}", i));
  now += 11min;
  EXPECT_EQ(told("Failed", "new")->message, "new");
}

TEST_F(CorrelatorTest, allows_25_notes_of_a_type_about_an_object_and_one_more_every_5_minutes) {
  int allowed = 0;
  for (int i = 0; i < 40; ++i) allowed += told(fmt::format("Reason{}", i), "x").has_value();
  EXPECT_EQ(allowed, 25);
  EXPECT_TRUE(told("Reason", "x", "n2")) << "another object has its own allowance";
  EXPECT_TRUE(told("Reason", "x", "n1", kEventWarning)) << "and so has another type";
  now += 299s;
  EXPECT_FALSE(told("Later", "x"));
  now += 2s;
  EXPECT_TRUE(told("Later", "y"));
  EXPECT_FALSE(told("Later", "z"));
}

TEST_F(CorrelatorTest, forgets_the_objects_that_were_told_of_longest_ago) {
  told("A", "x", "first");
  for (int i = 0; i < 4096; ++i) told("A", "x", fmt::format("n{}", i));
  EXPECT_EQ(told("A", "x", "first")->count, 1);
  EXPECT_EQ(told("A", "x", "n4095")->count, 2);
}

TEST_F(CorrelatorTest, cuts_a_message_that_the_server_would_refuse) {
  EXPECT_LE(told("A", std::string(5000, 'x'))->message.size(), kNoteMessageBytesMax);
}

}  // namespace
}  // namespace isthmus::kube
