// What others were told of machines: it gets a lying cloud caught, and deletes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/cloud/witness.h"
#include "isthmus/cloud/witness_testing.h"

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;

class hearsay : public ::testing::Test, protected testing::WitnessStage {
 protected:
  explicit hearsay(DeletionPolicy policy = {}) : WitnessStage(policy) { add_members(100); }

  bool hear(const std::string& name, Duration ago = 0s) {
    return witness.heard_of({"isthmus", name}, now.moment - ago, now);
  }
  void expect_told_within_75_seconds(Moment lied_at) {
    pass(75s);
    ASSERT_TRUE(first_lie_found);
    EXPECT_LE(*first_lie_found - lied_at, 75s);
    EXPECT_THAT(lies, Each(Field(&Contradiction::lie, Lie::itself)));
    EXPECT_GE(stop.until(), *first_lie_found + 10min);
    pass(1h);
    EXPECT_THAT(deleted, IsEmpty());
  }
};

TEST_F(hearsay, of_a_lie_by_id_gets_the_cloud_caught_within_75_seconds) {
  stop_kubelet("n7");
  pass(10min);
  by_id = [](const auto&) { return Presence::absent; };
  lists = gets = 0;
  hear("n7");
  expect_told_within_75_seconds(now.moment);
}

TEST_F(hearsay, gets_it_caught_where_nobody_is_ready_and_it_has_just_given_a_list) {
  for (const auto& [name, member] : std::map(members)) {
    stays_not_ready.insert(name);
    change(name, [](Subject& it) { it.ready = false; });
  }
  pass(10min);
  by_id = [](const testing::Member& member) {
    return member.subject.name == "n7" ? Presence::absent : Presence::present;
  };
  witness.heard_list({.completeness = Completeness::partial}, now.moment, now);
  hear("n7");
  expect_told_within_75_seconds(now.moment);
}

TEST_F(hearsay, gets_it_caught_where_all_are_ready) {
  by_id = [](const auto&) { return Presence::absent; };
  EXPECT_TRUE(hear("n7"));
  EXPECT_FALSE(witness.is_suspect("uid-n7"));
  expect_told_within_75_seconds(now.moment);
}

TEST_F(hearsay, of_many_machines_costs_a_few_calls) {
  by_id = [](const auto&) { return Presence::absent; };
  for (const auto& [name, member] : members) hear(name);
  pass(5min);
  EXPECT_LE(gets, Witness::kDisputedAtOnce * 21);
  EXPECT_LE(lists, 11U);
}

TEST_F(hearsay, of_a_lie_is_looked_into_though_many_whom_nobody_may_delete_are_really_gone) {
  for (const char* name : {"n1", "n2", "n3", "n4", "n5"}) {
    change(name, [](Subject& it) { it.is_protected = true; });
    destroy(name);
    hear(name);
  }
  pass(10min);
  by_id = [](const testing::Member& member) {
    const bool exists = member.exists && member.subject.name != "n7";
    return exists ? Presence::present : Presence::absent;
  };
  hear("n7");
  expect_told_within_75_seconds(now.moment);
}

TEST_F(hearsay, of_many_waits_for_the_next_answer_to_count_for_all_together) {
  for (int i = 0; i < 12; ++i) {
    const std::string name = "n" + std::to_string(i);
    stays_not_ready.insert(name);
    change(name, [](Subject& it) { it.ready = false; });
    hear(name);
  }
  EXPECT_THAT(witness.fallen(), IsEmpty());
  witness.heard_list({.completeness = Completeness::partial}, now.moment, now);
  EXPECT_FALSE(witness.fallen().empty());
}

TEST_F(hearsay, is_not_taken_back_by_a_list_that_was_asked_for_before) {
  const Instance listed{.provider_id = {"isthmus", "n7"}, .presence = Presence::present};
  const Listing<Instance> list{.items = {listed}, .completeness = Completeness::partial};
  const auto found_after = [&](Duration ago) {
    for (int i = 0; i < 2; ++i) {
      pass(1s);
      hear("n7");
      witness.heard_list(list, now.moment - ago, now);
    }
    return witness.take_contradictions().size();
  };
  by_id = [](const auto&) { return Result<Presence>(std::unexpected(Error{})); };
  list_error = Error{};
  pass(1min);
  EXPECT_EQ(found_after(5s), 0U);
  EXPECT_EQ(found_after(0s), 1U);
}

TEST_F(hearsay, that_the_list_learns_of_a_list_later_is_no_contradiction) {
  in_list = [this](const testing::Member& member) {
    const bool is_listed = member.exists || now.moment - member.silent_from < 30s;
    return is_listed ? Presence::present : Presence::absent;
  };
  destroy("n7");
  hear("n7");
  pass(6min);
  EXPECT_TRUE(is_deleted("n7"));
  EXPECT_THAT(lies, IsEmpty());
}

TEST_F(hearsay, that_comes_an_answer_later_than_the_list_is_no_contradiction) {
  change("n1", [](Subject& it) { it.is_protected = true; });
  destroy("n1");
  pass(5min);
  by_id = [this](const testing::Member& member) {
    const bool is_known = member.exists || now.moment - member.silent_from < 45s;
    return is_known ? Presence::present : Presence::absent;
  };
  destroy("n7");
  pass(6min);
  EXPECT_TRUE(is_deleted("n7"));
  EXPECT_THAT(lies, IsEmpty());
}

TEST_F(hearsay, of_a_machine_that_the_cloud_learns_of_in_one_place_after_the_other_stops_nothing) {
  add({.uid = "uid-new",
       .name = "new",
       .provider_id = "isthmus://new",
       .ready = true,
       .created = now.wall});
  by_id = [](const auto&) { return Presence::absent; };
  hear("new");
  pass(75s);
  EXPECT_GE(found(Lie::itself), 1U) << "it is told";
  EXPECT_FALSE(stop.stopped(now.moment));
}

TEST_F(hearsay, is_no_answer_however_often_it_is_heard) {
  on_second = [this] {
    if (members.contains("n7")) hear("n7");
  };
  by_id = [](const auto&) {
    return Result<Presence>(std::unexpected(Error{Outcome::lost, "no answer"}));
  };
  destroy("n7");
  pass(1h);
  EXPECT_THAT(deleted, IsEmpty());
  EXPECT_TRUE(verdict("n7").lacks(Condition::negatives));
}

TEST_F(hearsay, of_a_machine_that_is_gone_is_no_contradiction_and_keeps_all_times) {
  const Moment begin = now.moment;
  destroy("n7");
  hear("n7");
  pass(6min);
  ASSERT_EQ(deleted.size(), 1U);
  EXPECT_GE(deleted[0].at - begin, 40s + 2min) << "since the Node is not Ready";
  EXPECT_THAT(lies, IsEmpty());
  EXPECT_FALSE(witness.inquiry(now.moment).again) << "nobody is asked about any more";
}

TEST_F(hearsay, that_the_cloud_does_not_repeat_is_looked_into_and_forgotten) {
  hear("n7");
  pass(2min);
  EXPECT_TRUE(witness.inquiry(now.moment).asks_nothing());
  EXPECT_FALSE(witness.inquiry(now.moment).again);
  EXPECT_THAT(lies, IsEmpty());
}

TEST_F(hearsay, of_a_machine_that_no_node_has_or_had_then_is_passed_over) {
  EXPECT_FALSE(hear("stranger"));
  change("n7", [](Subject& it) { it.provider_id = "isthmus://other"; });
  EXPECT_FALSE(hear("other", 1s)) << "that answer is older than the Node's id";
  EXPECT_TRUE(witness.inquiry(now.moment).asks_nothing());
}

TEST_F(hearsay, that_is_known_already_is_no_news) {
  EXPECT_TRUE(hear("n7"));
  EXPECT_FALSE(hear("n7"));
  destroy("n8");
  pass(1min);
  ASSERT_TRUE(witness.is_suspect("uid-n8"));
  EXPECT_FALSE(hear("n8"));
}

class hearsay_where_one_answer_is_enough : public hearsay {
 protected:
  hearsay_where_one_answer_is_enough() : hearsay({.mode = DeletionMode::upstream}) {}
};

TEST_F(hearsay_where_one_answer_is_enough, has_no_consequence) {
  stop_kubelet("n7");
  pass(1min);
  EXPECT_FALSE(hear("n7"));
  EXPECT_FALSE(witness.is_suspect("uid-n7"));
}

}  // namespace
}  // namespace isthmus::cloud
