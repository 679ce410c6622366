#include "isthmus/cloud/witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/cloud/witness_testing.h"

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class a_witness : public ::testing::Test, protected testing::WitnessStage {
 protected:
  a_witness() { add_members(100); }
};

TEST_F(a_witness, has_a_machine_that_is_gone_deleted_within_minutes) {
  destroy("n7");
  const Moment begin = now.moment;
  pass(6min);
  ASSERT_EQ(deleted.size(), 1U);
  EXPECT_EQ(deleted[0].name, "n7");
  EXPECT_GE(deleted[0].at - begin, 2min);
  EXPECT_LE(deleted[0].at - begin, 4min);
  EXPECT_THAT(lies, IsEmpty());
}

TEST_F(a_witness, asks_nothing_while_all_are_ready) {
  pass(10min);
  EXPECT_EQ(lists + gets, 0U);
  EXPECT_FALSE(witness.inquiry(now.moment).again);
}

TEST_F(a_witness, goes_through_all_standings) {
  deletes = false;
  destroy("n7");
  pass(30s);
  EXPECT_EQ(verdict("n7").standing, Standing::present);
  pass(25s);
  EXPECT_EQ(verdict("n7").standing, Standing::suspect);
  pass(40s);
  EXPECT_EQ(verdict("n7").standing, Standing::confirming);
  around.cloud_is_open = false;
  pass(2min);
  EXPECT_EQ(verdict("n7").standing, Standing::gone);
  around.cloud_is_open = true;
  EXPECT_TRUE(verdict("n7").is_ripe());
  look_at_kubelets();
  witness.read_live("uid-n7", false, now.moment, now.moment);
  EXPECT_TRUE(verdict("n7").deletable());
}

TEST_F(a_witness, lets_a_stopped_machine_live) {
  stop_kubelet("n7");
  pass(1h);
  EXPECT_THAT(deleted, IsEmpty());
  EXPECT_EQ(verdict("n7").standing, Standing::present);
}

TEST_F(a_witness, begins_anew_after_anything_that_speaks_for_the_machine) {
  destroy("n7");
  pass(2min);
  EXPECT_EQ(verdict("n7").standing, Standing::confirming);
  at("n7").exists = true;
  pass(31s);
  EXPECT_EQ(verdict("n7").standing, Standing::present);
  at("n7").exists = false;
  pass(1min);
  EXPECT_THAT(deleted, IsEmpty());
}

TEST_F(a_witness, believes_the_most_alive_of_what_a_list_says_of_one_machine) {
  destroy("n7");
  pass(2min);
  ASSERT_EQ(verdict("n7").standing, Standing::confirming);
  Listing<Instance> listing{.completeness = Completeness::complete};
  for (const auto& [name, member] : members) {
    const ProviderId id = *parse_provider_id(member.subject.provider_id);
    listing.items.push_back({.provider_id = id, .presence = Presence::present});
  }
  const ProviderId id = *parse_provider_id("isthmus://n7");
  listing.items.push_back({.provider_id = id, .presence = Presence::absent});
  witness.heard_list(listing, now.moment, now);
  EXPECT_EQ(verdict("n7").standing, Standing::present);
}

TEST_F(a_witness, takes_no_answer_about_another_machine) {
  deletes = false;
  destroy("n7");
  pass(2min);
  ASSERT_EQ(verdict("n7").standing, Standing::confirming);
  const ProviderId other = *parse_provider_id("isthmus://n8");
  const Instance there{.provider_id = other, .presence = Presence::present};
  witness.heard_by_id("uid-n7", there, now.moment, now);
  EXPECT_EQ(verdict("n7").standing, Standing::confirming);
  const Moment asked = now.moment;
  pass(1s);
  change("n7", [](Subject& subject) { subject.provider_id = "isthmus://other"; });
  witness.heard_by_id("uid-n7", fail(Outcome::absent, "no such machine"), asked, now);
  EXPECT_EQ(verdict("n7").standing, Standing::present) << "it was about the former one";
}

TEST_F(a_witness, begins_anew_when_the_node_gets_another_machine) {
  destroy("n7");
  pass(2min);
  change("n7", [](Subject& subject) { subject.provider_id = "isthmus://other"; });
  EXPECT_EQ(verdict("n7").standing, Standing::present);
}

TEST_F(a_witness, begins_anew_when_the_account_is_another_one) {
  destroy("n7");
  pass(2min);
  witness.doubt_everything();
  pass(90s);
  EXPECT_THAT(deleted, IsEmpty());
  pass(2min);
  EXPECT_EQ(deleted.size(), 1U);
}

TEST_F(a_witness, takes_a_machine_that_the_cloud_does_not_vouch_for_as_there) {
  stop_kubelet("n7");
  by_id = [](const auto&) { return Presence::unknown; };
  in_list = [](const auto&) { return Presence::unknown; };
  pass(1h);
  EXPECT_THAT(deleted, IsEmpty());
  EXPECT_EQ(verdict("n7").standing, Standing::present);
}

TEST_F(a_witness, stops_everything_that_deletes_when_a_list_lacks_who_is_heard_of) {
  destroy("n7");
  in_list = [](const auto&) { return Presence::absent; };
  pass(45s);
  const Moment first_lie = now.moment;
  pass(75s);
  ASSERT_TRUE(first_lie_found);
  EXPECT_LE(*first_lie_found - first_lie, 75s);
  EXPECT_EQ(lies.front().lie, Lie::heartbeat);
  EXPECT_TRUE(stop.stopped(now.moment));
  EXPECT_TRUE(verdict("n7").lacks(Condition::deletions_stopped));
  pass(1h);
  EXPECT_THAT(deleted, IsEmpty());
}

TEST_F(a_witness, holds_no_old_list_against_a_cloud_when_the_kubelets_are_heard_again) {
  pulses_error = Error{Outcome::lost, "cut"};
  destroy("n8");
  const auto truth = in_list;
  in_list = [&](const testing::Member& member) {
    return member.subject.name == "n7" ? Presence::absent : truth(member);
  };
  pass(2min);
  in_list = truth;
  pass(5min);
  pulses_error.reset();
  pass(5min);
  EXPECT_EQ(found(Lie::heartbeat), 0U);
  EXPECT_FALSE(stop.stopped(now.moment));
  EXPECT_TRUE(is_deleted("n8")) << describe(verdict("n8"));
}

TEST_F(a_witness, deletes_again_ten_minutes_after_a_contradiction) {
  destroy("n7");
  in_list = [](const auto&) { return Presence::absent; };
  pass(2min);
  ASSERT_TRUE(stop.stopped(now.moment));
  in_list = [](const auto& member) { return member.exists ? Presence::present : Presence::absent; };
  const Moment healed = now.moment;
  pass(20min);
  ASSERT_EQ(deleted.size(), 1U);
  EXPECT_GE(deleted[0].at, stop.until());
  EXPECT_LE(deleted[0].at - healed, 13min);
}

TEST_F(a_witness, does_not_take_a_machine_that_was_just_killed_for_a_contradiction) {
  for (int i = 0; i < 10; ++i) {
    add_members(1);
    destroy(fmt::format("n{}", 100 + i));
    pass(1min);
  }
  EXPECT_EQ(found(Lie::heartbeat), 0U);
}

TEST_F(a_witness, tells_of_a_cloud_that_takes_back_what_it_says) {
  stop_kubelet("n7");
  by_id = [](const auto&) { return Presence::absent; };
  pass(40s);
  const Moment first_lie = now.moment;
  pass(5min);
  ASSERT_GE(found(Lie::itself), 1U);
  EXPECT_LE(*first_lie_found - first_lie, 75s);
  EXPECT_THAT(deleted, IsEmpty());
}

// "isthmus://n7/": the list lacks it, and the cloud finds the question wrong, again and again.
TEST_F(a_witness, keeps_a_node_whose_id_no_machine_can_have_and_no_other_for_it) {
  by_id = [](const testing::Member& member) {
    if (member.subject.name == "n7") return Result<Presence>(fail(Outcome::invalid, "no such uid"));
    return Result<Presence>(member.exists ? Presence::present : Presence::absent);
  };
  destroy("n7");
  pass(6min);
  EXPECT_FALSE(is_deleted("n7"));
  EXPECT_THAT(witness.inquiry(now.moment).uids, IsEmpty()) << "once is enough";
  destroy("n8");
  pass(6min);
  EXPECT_TRUE(is_deleted("n8"));
  EXPECT_FALSE(is_deleted("n7"));
  EXPECT_THAT(lies, IsEmpty());
}

// For a while another cloud was asked.
TEST_F(a_witness, takes_an_id_for_a_machines_again_when_the_cloud_does) {
  const auto truth = by_id;
  by_id = [](const testing::Member&) -> Result<Presence> {
    return fail(Outcome::invalid, "no such scheme");
  };
  destroy("n7");
  pass(5min);
  EXPECT_EQ(witness.refused(), std::vector{witness.find("uid-n7")});
  by_id = truth;
  pass(4min);
  EXPECT_TRUE(is_deleted("n7")) << describe(verdict("n7"));
}

TEST_F(a_witness, takes_an_id_for_no_machines_by_the_newest_word_only) {
  const auto refuse = [this] {
    witness.heard_by_id("uid-n7", fail(Outcome::invalid, "no such uid"), now.moment, now);
    ASSERT_THAT(witness.refused(), SizeIs(1));
  };
  const Instance machine{.provider_id = *parse_provider_id("isthmus://n7"),
                         .presence = Presence::present};
  refuse();
  witness.heard_by_id("uid-n7", fail(Outcome::lost, "cut"), now.moment, now);
  EXPECT_THAT(witness.refused(), SizeIs(1)) << "an error is none";
  witness.heard_by_id("uid-n7", machine, now.moment, now);
  EXPECT_THAT(witness.refused(), IsEmpty());
  refuse();
  witness.heard_by_id("uid-n7", fail(Outcome::absent, "no such machine"), now.moment, now);
  EXPECT_THAT(witness.refused(), IsEmpty());
  refuse();
  witness.heard_list({.items = {machine}, .completeness = Completeness::partial}, now.moment, now);
  EXPECT_THAT(witness.refused(), IsEmpty());
  refuse();
  witness.doubt_everything();
  EXPECT_THAT(witness.refused(), IsEmpty());
  refuse();
  change("n7", [](Subject& subject) { subject.provider_id = "isthmus://other"; });
  EXPECT_THAT(witness.refused(), IsEmpty());
}

TEST_F(a_witness, asks_by_id_only_for_the_first_of_many) {
  for (int i = 0; i < 60; ++i) add_members(10, fmt::format("z{}", i));
  for (const auto& [name, member] : std::map(members)) {
    if (member.subject.zone != "a") change(name, [](Subject& it) { it.announced = true; });
  }
  for (int i = 100; i < 140; ++i) destroy(fmt::format("n{}", i));
  deletes = false;
  pass(1min);
  gets = 0;
  pass(5min);
  EXPECT_LE(gets, Witness::kConfirmedAtOnce * 11);
  EXPECT_LE(lists, 13U);
}

TEST_F(a_witness, knows_its_evidence_in_words) {
  deletes = false;
  destroy("n7");
  pass(4min);
  EXPECT_THAT(witness.evidence_text("uid-n7", now.moment), HasSubstr("said to be gone 7 times"));
  EXPECT_EQ(witness.evidence_text("nobody", now.moment), "nothing is known of it");
}

TEST_F(a_witness, believes_whoever_confirms_one_gone_at_once_and_while_all_else_is_stopped) {
  stop.stop_until(now.moment + 1h, "a lie");
  stop_kubelet("n7");
  change("n7", [&](Subject& subject) { subject.confirmed_gone_until = now.wall + 10min; });
  pass(5s);
  EXPECT_TRUE(is_deleted("n7"));
}

TEST_F(a_witness, forgets_who_was_confirmed_gone_when_that_has_run_out) {
  deletes = false;
  change("n7", [&](Subject& subject) { subject.confirmed_gone_until = now.wall + 1min; });
  pass(30s);
  EXPECT_TRUE(verdict("n7").deletable()) << describe(verdict("n7"));
  pass(1min);
  EXPECT_EQ(verdict("n7").standing, Standing::present);
}

TEST(a_witness_told_to, observe_deletes_nothing_and_says_why) {
  testing::WitnessStage stage({.mode = DeletionMode::observe});
  stage.add_members(100);
  stage.destroy("n7");
  stage.pass(10min);
  EXPECT_THAT(stage.deleted, IsEmpty());
  EXPECT_EQ(stage.verdict("n7").unmet.size(), 1U) << describe(stage.verdict("n7"));
  EXPECT_TRUE(stage.verdict("n7").lacks(Condition::observe));
}

TEST(a_witness_told_to, upstream_believes_one_answer) {
  testing::WitnessStage stage({.mode = DeletionMode::upstream});
  stage.add_members(2);
  stage.destroy("n0");
  stage.pass(55s);
  EXPECT_EQ(stage.deleted.size(), 1U);
  EXPECT_EQ(stage.lists, 0U);
}

TEST(a_witness_told_to, upstream_keeps_protection_and_lease) {
  testing::WitnessStage stage({.mode = DeletionMode::upstream});
  stage.add_members(3);
  stage.change("n0", [](Subject& subject) { subject.is_protected = true; });
  stage.destroy("n0");
  stage.destroy("n1");
  stage.around.lease_left = 4s;
  stage.pass(2min);
  EXPECT_THAT(stage.deleted, IsEmpty());
  stage.around.lease_left = 5s;
  stage.pass(2min);
  EXPECT_TRUE(stage.is_deleted("n1"));
  EXPECT_FALSE(stage.is_deleted("n0"));
}

}  // namespace
}  // namespace isthmus::cloud
