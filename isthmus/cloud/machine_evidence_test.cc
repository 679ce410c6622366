#include "isthmus/cloud/machine_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Evidence that is whole, to take something away from.
class machine_evidence : public ::testing::Test {
 protected:
  machine_evidence() {
    const Moment first = now.moment - 2min;
    for (int i = 0; i < 5; ++i) evidence.says_gone(first + (i * 30s), first + (i * 30s), 30s);
    evidence.lacked_by = now.moment - 20s;
    evidence.verified_by = now.moment - 50s;
    evidence.pulse.silent_since = now.moment - 1min;
    evidence.not_ready_since = now.moment - 1min;
    evidence.live = LiveRead{false, now.moment};
    common = {.complete_list = now.moment - 20s,
              .verified_at = now.moment - 15s,
              .pulses_as_of = now.moment};
  }

  std::vector<Condition> missing() const {
    std::vector<Condition> conditions;
    for (const Unmet& each :
         missing_evidence(subject, evidence, common, "isthmus", DeletionPolicy{}, now)) {
      conditions.push_back(each.condition);
    }
    return conditions;
  }

  const Now now{Moment{} + 24h, WallTime{} + 240h};
  Subject subject{.uid = "u", .provider_id = "isthmus://1", .created = now.wall - 10min};
  MachineEvidence evidence;
  CommonEvidence common;
};

TEST_F(machine_evidence, is_whole_when_everything_holds_at_its_bound) {
  EXPECT_THAT(missing(), IsEmpty());
}

TEST_F(machine_evidence, lacks_an_id_that_is_not_of_ours) {
  for (const std::string_view id : {"", "1", "isthmus://", "other://1"}) {
    subject.provider_id = id;
    EXPECT_THAT(missing(), ElementsAre(Condition::exact_id)) << id;
  }
}

TEST_F(machine_evidence, lacks_answers_that_are_too_few_too_close_or_too_old) {
  const MachineEvidence whole = evidence;
  evidence.negatives = 2;
  EXPECT_THAT(missing(), ElementsAre(Condition::negatives));
  evidence = whole;
  evidence.first_negative += 1s;
  EXPECT_THAT(missing(), ElementsAre(Condition::negatives));
  evidence = whole;
  evidence.first_negative -= 100s;
  evidence.last_negative -= 91s;
  EXPECT_THAT(missing(), ElementsAre(Condition::negatives));
}

TEST_F(machine_evidence, counts_answers_only_when_they_are_spaced) {
  MachineEvidence spaced;
  for (int second = 0; second <= 60; ++second) {
    spaced.says_gone(now.moment + (second * 1s), now.moment + (second * 1s) + 500ms, 30s);
  }
  EXPECT_EQ(spaced.negatives, 2) << "the first counts when it came, the others when they were sent";
}

TEST_F(machine_evidence, asks_more_of_a_control_plane) {
  subject.control_plane = true;
  EXPECT_THAT(missing(), ElementsAre(Condition::negatives));
  evidence.first_negative = now.moment - 10min;
  EXPECT_THAT(missing(), IsEmpty());
  evidence.negatives = 4;
  EXPECT_THAT(missing(), ElementsAre(Condition::negatives));
}

TEST_F(machine_evidence, lacks_a_list_that_is_older_than_the_first_answer_or_has_it) {
  const MachineEvidence whole = evidence;
  evidence.lacked_by = evidence.first_negative - 1ns;
  common.complete_list = evidence.lacked_by;
  EXPECT_THAT(missing(), ElementsAre(Condition::complete_list));
  evidence = whole;
  common.complete_list = *whole.lacked_by + 1ns;
  EXPECT_THAT(missing(), ElementsAre(Condition::complete_list));
  evidence.lacked_by.reset();
  EXPECT_THAT(missing(), ElementsAre(Condition::complete_list));
}

TEST_F(machine_evidence, lacks_a_control_of_a_list_after_the_first_answer_and_of_late) {
  evidence.verified_by = evidence.first_negative - 1ns;
  EXPECT_THAT(missing(), ElementsAre(Condition::positive_control));
  evidence.verified_by = evidence.first_negative;
  EXPECT_THAT(missing(), IsEmpty());
  common.verified_at = now.moment - 2min - 1ns;
  EXPECT_THAT(missing(), ElementsAre(Condition::positive_control));
}

TEST_F(machine_evidence, lacks_the_silence_of_a_kubelet_that_is_heard_of_or_not_looked_at) {
  const MachineEvidence whole = evidence;
  const CommonEvidence looked = common;
  evidence.pulse.silent_since = now.moment - 1min + 1ns;
  EXPECT_THAT(missing(), ElementsAre(Condition::heartbeat));
  evidence.pulse.silent_since.reset();
  EXPECT_THAT(missing(), ElementsAre(Condition::heartbeat));
  evidence = whole;
  common.pulses_as_of = now.moment - 1min - 1ns;
  EXPECT_THAT(missing(), ElementsAre(Condition::heartbeat));
  common = looked;
  common.pulses_as_of.reset();
  common.pulses_error = "no right";
  const auto unmet = missing_evidence(subject, evidence, common, "isthmus", {}, now);
  EXPECT_THAT(unmet.at(0).why, HasSubstr("no right"));
}

TEST_F(machine_evidence, lacks_a_look_at_the_kubelet_since_the_node_was_read_live) {
  common.pulses_as_of = evidence.live->sent - 1ns;
  EXPECT_THAT(missing(), ElementsAre(Condition::heartbeat));
  common.pulses_as_of = evidence.live->sent;
  EXPECT_THAT(missing(), IsEmpty());
}

TEST_F(machine_evidence, lacks_a_live_read_of_a_node_that_is_not_ready_long_enough) {
  const MachineEvidence whole = evidence;
  evidence.not_ready_since = now.moment - 1min + 1ns;
  EXPECT_THAT(missing(), ElementsAre(Condition::live_read));
  evidence = whole;
  evidence.live = LiveRead{true, now.moment};
  EXPECT_THAT(missing(), ElementsAre(Condition::live_read));
  evidence.live = LiveRead{false, now.moment - kLiveReadAgeMax - 1ns};
  EXPECT_THAT(missing(), ElementsAre(Condition::live_read));
  evidence = whole;
  subject.ready = true;
  EXPECT_THAT(missing(), ElementsAre(Condition::live_read));
}

TEST_F(machine_evidence, says_when_a_live_read_was_too_old_before_the_kubelet_was_looked_at) {
  const auto why = [this] {
    const auto unmet = missing_evidence(subject, evidence, common, "isthmus", {}, now);
    return unmet.empty() ? "" : unmet.front().why;
  };
  evidence.live = LiveRead{false, now.moment - 30s, 30s};
  EXPECT_EQ(why(), "");
  evidence.live = LiveRead{false, now.moment - 31s, 30s};
  EXPECT_EQ(why(), "the Node was not read live yet");
  evidence.live = LiveRead{false, now.moment - 31s, 31s};
  EXPECT_EQ(why(), "to read the Node live and then its kubelet's Lease took 31s");
}

TEST_F(machine_evidence, lacks_age_unless_the_machine_was_seen) {
  subject.created = now.wall - 10min + 1ns;
  EXPECT_THAT(missing(), ElementsAre(Condition::age));
  evidence.seen = true;
  EXPECT_THAT(missing(), IsEmpty());
  subject.created = now.wall - 2min + 1ns;
  EXPECT_THAT(missing(), ElementsAre(Condition::age));
  subject.created = now.wall - 1h + 1ns;
  subject.initialized = false;
  EXPECT_THAT(missing(), ElementsAre(Condition::age));
}

TEST_F(machine_evidence, is_doubtful_when_its_kubelet_renews_after_the_first_answer) {
  evidence.hear_pulse({now.moment, evidence.first_negative - 1ns});
  EXPECT_EQ(evidence.negatives, 5);
  evidence.hear_pulse({now.moment, evidence.first_negative});
  EXPECT_EQ(evidence.negatives, 0);
  EXPECT_TRUE(evidence.lacked_by) << "what the list says stands";
}

TEST_F(machine_evidence, is_told_in_words) {
  EXPECT_THAT(describe(evidence, common, now.moment),
              HasSubstr("said to be gone 5 times (first 2m0s ago, last 0s ago)"));
  EXPECT_THAT(describe({}, {}, now.moment), HasSubstr("first never, last never"));
}

}  // namespace
}  // namespace isthmus::cloud
