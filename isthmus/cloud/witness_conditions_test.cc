// Each of the ten conditions withholds a deletion all alone: a machine is gone, everything else
// says so, and one thing does not hold; once it does, the Node goes.
#include <functional>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/cloud/witness.h"
#include "isthmus/cloud/witness_testing.h"

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;
using testing::Member;
using testing::WitnessStage;

struct Row {
  std::string_view title;
  Condition condition;
  std::function<void(WitnessStage&)> spoil;  // What makes exactly this one unmet.
  std::function<void(WitnessStage&)> mend = [](WitnessStage&) {};
  friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.title; }
};

class one_condition : public ::testing::TestWithParam<Row> {};

TEST_P(one_condition, alone_withholds_the_deletion) {
  const Row& row = GetParam();
  WitnessStage stage;
  stage.add_members(100);
  stage.destroy("n7");
  row.spoil(stage);
  stage.pass(12min);
  ASSERT_FALSE(stage.is_deleted("n7"));
  const Verdict verdict = stage.verdict("n7");
  EXPECT_TRUE(verdict.lacks(row.condition)) << describe(verdict);
  EXPECT_EQ(verdict.unmet.size(), 1U) << describe(verdict);
  row.mend(stage);
  stage.pass(9min);
  EXPECT_TRUE(stage.is_deleted("n7")) << describe(stage.verdict("n7"));
}

Presence truth(const Member& member) {
  return member.exists ? Presence::present : Presence::absent;
}

// Answers only lists about n7.
Result<Presence> no_answer_about_it(const Member& member) {
  if (member.subject.name == "n7") return fail(Outcome::unsupported, "not this one");
  return truth(member);
}

INSTANTIATE_TEST_SUITE_P(
    witness, one_condition,
    ::testing::Values(
        Row{"age", Condition::age,
            [](WitnessStage& stage) {
              stage.change("n7",
                           [&](Subject& subject) { subject.created = stage.now.wall - 1min; });
              stage.on_second = [&stage] {
                if (!stage.members.contains("n7")) return;
                stage.change("n7", [&](Subject& it) { it.created = stage.now.wall - 9min; });
              };
            },
            [](WitnessStage& stage) { stage.on_second = [] {}; }},
        Row{"age_of_one_that_was_never_initialized", Condition::age,
            [](WitnessStage& stage) {
              stage.change("n7", [&](Subject& subject) {
                subject.initialized = false;
                subject.created = stage.now.wall - 30min;
              });
            },
            [](WitnessStage& stage) {
              stage.change("n7", [&](Subject& it) { it.created = stage.now.wall - 1h; });
            }},
        Row{"heartbeat_that_cannot_be_read", Condition::heartbeat,
            [](WitnessStage& stage) { stage.unreadable.insert("n7"); },
            [](WitnessStage& stage) { stage.unreadable.clear(); }},
        Row{"live_read_that_shows_it_ready", Condition::live_read,
            [](WitnessStage& stage) { stage.reads_live = false; },
            [](WitnessStage& stage) { stage.reads_live = true; }},
        Row{"provider_health_by_its_breaker", Condition::provider_health,
            [](WitnessStage& stage) { stage.around.cloud_is_open = false; },
            [](WitnessStage& stage) { stage.around.cloud_is_open = true; }},
        Row{"provider_health_by_its_account", Condition::provider_health,
            [](WitnessStage& stage) { stage.around.cloud_is_known = false; },
            [](WitnessStage& stage) { stage.around.cloud_is_known = true; }},
        Row{"lease_life", Condition::lease_life,
            [](WitnessStage& stage) { stage.around.lease_left = 4s; },
            [](WitnessStage& stage) { stage.around.lease_left = 5s; }},
        Row{"mutations_stopped", Condition::mutations_stopped,
            [](WitnessStage& stage) { stage.around.mutations_stopped = true; },
            [](WitnessStage& stage) { stage.around.mutations_stopped = false; }},
        Row{"delete_denied", Condition::delete_denied,
            [](WitnessStage& stage) {
              stage.witness.deny_removal("uid-n7", stage.now.moment + 15min);
            }},
        Row{"deletions_stopped", Condition::deletions_stopped,
            [](WitnessStage& stage) { stage.stop.stop_until(stage.now.moment + 15min, "a lie"); }}),
    [](const auto& info) { return std::string(info.param.title); });

// What the first four conditions ask for hangs together: a list counts from the first answer on,
// and its control from the list on. So these stand alone among the evidence, and the rest holds.
class a_condition_of_the_cloud : public ::testing::Test, protected WitnessStage {
 protected:
  a_condition_of_the_cloud() { add_members(100); }

  void expect_only(std::vector<Condition> conditions) {
    ASSERT_FALSE(is_deleted("n7"));
    std::vector<Condition> found;
    for (const Unmet& each : verdict("n7").unmet) found.push_back(each.condition);
    EXPECT_EQ(found, conditions) << describe(verdict("n7"));
  }

  // Calls that tell something of the cloud's health and nothing of any machine.
  void call_it(int times, Outcome outcome) {
    for (int i = 0; i < times; ++i) {
      witness.heard_by_id("uid-nobody", fail(outcome, "it is so"), now.moment, now);
    }
  }
};

TEST_F(a_condition_of_the_cloud, exact_id_has_to_be_of_ours) {
  for (const std::string_view id : {"", "n7", "isthmus://", "other://n7", "ISTHMUS://n7"}) {
    change("n7", [&](Subject& subject) { subject.provider_id = id; });
    destroy("n7");
    pass(20min);
    EXPECT_FALSE(is_deleted("n7")) << id;
    EXPECT_EQ(verdict("n7").standing, Standing::present) << id;
  }
}

TEST_F(a_condition_of_the_cloud, exact_id_is_not_replaced_by_somebodys_word) {
  change("n7", [&](Subject& subject) {
    subject.provider_id = "other://n7";
    subject.confirmed_gone_until = now.wall + 1h;
  });
  destroy("n7");
  pass(20min);
  expect_only({Condition::exact_id});
}

TEST_F(a_condition_of_the_cloud, negatives_are_as_many_as_the_policy_says) {
  deletes = false;
  destroy("n7");
  pass(10min);
  ASSERT_TRUE(verdict("n7").is_ripe() || verdict("n7").deletable());
  by_id = no_answer_about_it;  // An error that is none of the cloud's health is still an error…
  witness.doubt_everything();  // …and what was counted is not counted any more.
  pass(2min);
  EXPECT_TRUE(verdict("n7").lacks(Condition::negatives));
}

TEST_F(a_condition_of_the_cloud, negatives_do_not_come_from_errors) {
  for (const Outcome outcome : {Outcome::denied, Outcome::busy, Outcome::lost, Outcome::deadline,
                                Outcome::invalid, Outcome::unsupported, Outcome::cancelled}) {
    by_id = [outcome](const Member&) -> Result<Presence> { return fail(outcome, "no"); };
    destroy("n7");
    pass(5min);
    EXPECT_FALSE(is_deleted("n7")) << to_string(outcome);
  }
}

TEST_F(a_condition_of_the_cloud, complete_list_has_to_lack_it) {
  in_list = [](const Member&) { return Presence::present; };
  destroy("n7");
  pass(20min);
  EXPECT_FALSE(is_deleted("n7"));
}

TEST_F(a_condition_of_the_cloud, complete_list_is_not_a_partial_one) {
  completeness = Completeness::partial;
  destroy("n7");
  pass(20min);
  expect_only({Condition::complete_list, Condition::positive_control, Condition::provider_health});
}

TEST_F(a_condition_of_the_cloud, positive_control_needs_somebody_who_is_heard_of) {
  destroy("n7");
  // The kubelets of all others renew so rarely that nobody vouches for a list.
  on_second = [this] {
    for (auto& [name, member] : members) {
      if (name != "n7") member.renewed = "0";
    }
  };
  pass(20min);
  expect_only({Condition::positive_control});
  on_second = [] {};
  pass(5min);
  EXPECT_TRUE(is_deleted("n7"));
}

TEST_F(a_condition_of_the_cloud, heartbeat_holds_whatever_the_cloud_says) {
  stays_not_ready.insert("n7");
  change("n7", [](Subject& subject) { subject.ready = false; });
  at("n7").exists = false;  // It has lost it, and it runs.
  pass(2h);
  EXPECT_FALSE(is_deleted("n7"));
  EXPECT_GE(found(Lie::heartbeat), 1U);
}

TEST_F(a_condition_of_the_cloud, heartbeat_is_unmet_while_leases_are_unreadable) {
  pulses_error = Error{Outcome::denied, "no right to list leases"};
  destroy("n7");
  pass(20min);
  expect_only({Condition::positive_control, Condition::heartbeat});
}

TEST_F(a_condition_of_the_cloud, provider_health_counts_errors) {
  deletes = false;
  destroy("n7");
  pass(5min);
  deletes = true;
  list_error = Error{Outcome::lost, "cut"};
  pass(31s);
  EXPECT_TRUE(is_deleted("n7") || verdict("n7").lacks(Condition::provider_health));
}

// What was answered well makes up for what failed no longer than a failure counts.
TEST_F(a_condition_of_the_cloud, provider_health_is_that_of_the_last_minutes_only) {
  deletes = false;
  destroy("n7");
  pass(5min);
  call_it(100, Outcome::absent);
  pass(10s);
  call_it(5, Outcome::lost);
  ASSERT_FALSE(verdict("n7").lacks(Condition::provider_health)) << describe(verdict("n7"));
  pass(kHealthWindow - 10s);
  EXPECT_FALSE(verdict("n7").lacks(Condition::provider_health)) << describe(verdict("n7"));
  pass(1s);  // Nobody is called in it.
  EXPECT_TRUE(verdict("n7").lacks(Condition::provider_health)) << describe(verdict("n7"));
  pass(10s);
  EXPECT_FALSE(verdict("n7").lacks(Condition::provider_health)) << describe(verdict("n7"));
}

TEST_F(a_condition_of_the_cloud, protection_alone_withholds_the_deletion) {
  deletes = false;
  destroy("n7");
  pass(4min);
  change("n7", [](Subject& subject) { subject.is_protected = true; });
  deletes = true;
  pass(20s);
  expect_only({Condition::is_protected});
  pass(1h);
  EXPECT_FALSE(is_deleted("n7"));
  change("n7", [](Subject& subject) { subject.is_protected = false; });
  pass(4min);
  EXPECT_TRUE(is_deleted("n7"));
}

// --- The numbers: a default, or a setting, is what is waited for ---------------------------------

struct Knob {
  std::string_view title;
  DeletionPolicy policy;
  Duration earliest;  // From the machine's end to its Node's.
  Duration latest;

  friend std::ostream& operator<<(std::ostream& out, const Knob& knob) { return out << knob.title; }
};

class a_number : public ::testing::TestWithParam<Knob> {};

TEST_P(a_number, is_what_a_deletion_waits_for) {
  WitnessStage stage(GetParam().policy);
  stage.add_members(100);
  stage.destroy("n7");
  const Moment begin = stage.now.moment;
  stage.pass(30min);
  ASSERT_EQ(stage.deleted.size(), 1U);
  EXPECT_GE(stage.deleted[0].at - begin, GetParam().earliest);
  EXPECT_LE(stage.deleted[0].at - begin, GetParam().latest);
}

// The Node is not Ready after 40 s, and looked at within the next 10.
INSTANTIATE_TEST_SUITE_P(
    witness, a_number,
    ::testing::Values(Knob{"default", {}, 160s, 200s},
                      Knob{"confirmations", {.confirmations = 8}, 250s, 300s},
                      Knob{"confirmation_spacing", {.confirmation_spacing = 100s}, 240s, 300s},
                      Knob{"min_absence", {.min_absence = 10min}, 640s, 690s},
                      Knob{"heartbeat_silence", {.heartbeat_silence = 8min}, 500s, 560s},
                      Knob{"not_ready", {.not_ready = 9min}, 580s, 620s},
                      Knob{"shortest",
                           {.confirmations = 2,
                            .confirmation_spacing = 10s,
                            .min_absence = 1min,
                            .heartbeat_silence = 40s,
                            .not_ready = 40s,
                            .min_age = 2min},
                           100s,
                           125s}),
    [](const auto& info) { return std::string(info.param.title); });

TEST(a_number, of_age_is_waited_for_unless_the_machine_was_seen) {
  WitnessStage stage;
  stage.add_members(100);
  for (const std::string_view name : {"n1", "n2"}) {
    stage.change(std::string(name), [&](Subject& it) { it.created = stage.now.wall; });
  }
  // The cloud has seen n1: its kubelet was down for a while.
  stage.stop_kubelet("n1");
  stage.pass(60s);
  stage.start_kubelet("n1");
  stage.pass(5s);
  stage.destroy("n1");
  stage.destroy("n2");
  stage.pass(6min);
  EXPECT_TRUE(stage.is_deleted("n1"));
  EXPECT_FALSE(stage.is_deleted("n2"));
  stage.pass(5min);
  EXPECT_TRUE(stage.is_deleted("n2"));
}

}  // namespace
}  // namespace isthmus::cloud
