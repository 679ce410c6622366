#include "isthmus/infra/instance_plan.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

using api::Instance;
using api::Presence;
using api::State;
namespace problem = api::problem;
using Lines = std::vector<std::string>;

constexpr WallTime kNow{std::chrono::seconds(1'767'225'600)};

Instance a_machine(std::string uid, std::string name) {
  Instance machine;
  machine.uid = std::move(uid);
  machine.name = std::move(name);
  return machine;
}

// Machines that stand in the store, at revision 5.
class Standing {
 public:
  Standing& with(Instance instance, Source source) {
    InstanceRecord record{.instance = std::move(instance), .source = source};
    record.instance.revision = 5;
    record.instance.generation = 2;
    if (record.is_retired()) record.instance.presence = Presence::absent;
    std::string uid = record.instance.uid;
    snapshot.records[uid] = std::make_shared<const InstanceRecord>(std::move(record));
    return *this;
  }
  Standing& retired(std::string uid) {
    Instance gone = a_machine(std::move(uid), "gone");
    gone.state = State::retired;
    return with(std::move(gone), Source::api);
  }
  Standing& vanished(Instance instance) {
    instance.presence = Presence::unknown;
    return with(std::move(instance), Source::file);
  }

  InstancePlan put(const Instance& said, Preconditions preconditions = {}) {
    return plan_put(snapshot, said, preconditions, kNow);
  }
  InstancePlan remove(const std::string& uid, Preconditions preconditions = {}) {
    return plan_delete(snapshot, uid, preconditions, kNow);
  }
  // Plans as if the machines were the lines of a file, from line 2 on.
  std::vector<InstanceRecord> load(const std::vector<Instance>& machines) {
    std::vector<InventoryLine> lines;
    int line = 2;
    for (const Instance& machine : machines) lines.push_back({machine, line++});
    YamlMistakes found;
    auto writes = plan_inventory(snapshot, lines, kNow, kNow, found);
    mistakes = found.sorted().list();
    return writes;
  }

  InstanceSnapshot snapshot;
  Lines mistakes;
};

std::string_view suffix(const InstancePlan& plan) {
  return plan.problem ? plan.problem->suffix() : "";
}

TEST(put_plan, a_new_machine_is_created) {
  InstancePlan plan = Standing().put(a_machine("a", "n"));
  ASSERT_EQ(suffix(plan), "");
  EXPECT_TRUE(plan.created);
  EXPECT_TRUE(plan.write);
  EXPECT_EQ(plan.record.source, Source::api);
  EXPECT_EQ(plan.record.instance.generation, 1u);
  EXPECT_EQ(plan.record.instance.presence, Presence::present);
  EXPECT_EQ(plan.record.instance.last_confirmed_at, kNow);
}

TEST(put_plan, saying_the_same_again_writes_nothing) {
  InstancePlan plan = Standing().with(a_machine("a", "n"), Source::api).put(a_machine("a", "n"));
  EXPECT_FALSE(plan.write);
  EXPECT_FALSE(plan.created);
  EXPECT_EQ(plan.record.instance.revision, 5u);
  EXPECT_EQ(plan.record.instance.generation, 2u);
}

TEST(put_plan, the_generation_counts_what_was_said_and_not_what_was_seen) {
  Standing standing;
  standing.with(a_machine("a", "n"), Source::api);
  Instance moved = a_machine("a", "n");
  moved.zone = "rack-8";
  EXPECT_EQ(standing.put(moved).record.instance.generation, 3u);
  Instance stopped = a_machine("a", "n");
  stopped.power = api::Power::stopped;
  InstancePlan plan = standing.put(stopped);
  EXPECT_TRUE(plan.write);
  EXPECT_EQ(plan.record.instance.generation, 2u);
}

TEST(put_plan, preconditions_that_do_not_hold_are_conflicts) {
  Standing standing;
  standing.with(a_machine("a", "n"), Source::api).retired("r");
  Instance a = a_machine("a", "m");
  EXPECT_EQ(suffix(standing.put(a, {.absent = true})), problem::revision_conflict);
  EXPECT_EQ(suffix(standing.put(a, {.revision = 4})), problem::revision_conflict);
  EXPECT_EQ(suffix(standing.put(a, {.revision = 5})), "");
  EXPECT_EQ(suffix(standing.put(a, {.exists = true})), "");
  EXPECT_EQ(suffix(standing.put(a_machine("b", "b"), {.exists = true})),
            problem::revision_conflict);
  EXPECT_EQ(suffix(standing.put(a_machine("b", "b"), {.absent = true})), "");
  EXPECT_EQ(suffix(standing.put(a_machine("r", "b"), {.exists = true})),
            problem::revision_conflict);
}

TEST(put_plan, a_retired_uid_never_names_a_machine_again) {
  EXPECT_EQ(suffix(Standing().retired("r").put(a_machine("r", "n"))), problem::uid_retired);
}

TEST(put_plan, the_file_has_the_last_word_on_its_machines) {
  Standing standing;
  standing.with(a_machine("a", "n"), Source::file);
  EXPECT_EQ(suffix(standing.put(a_machine("a", "n"))), problem::managed_by_file);
  EXPECT_EQ(suffix(standing.remove("a")), problem::managed_by_file);
}

TEST(put_plan, a_machine_whose_line_vanished_is_taken_over) {
  InstancePlan plan = Standing().vanished(a_machine("a", "n")).put(a_machine("a", "n"));
  EXPECT_TRUE(plan.write);
  EXPECT_EQ(plan.record.source, Source::api);
  EXPECT_EQ(plan.record.instance.presence, Presence::present);
}

TEST(put_plan, what_another_machine_has_is_listed_field_by_field) {
  Instance first = a_machine("a", "n");
  first.system_uuid = "4c4c4544-0042-4a10-8056-b4c04f4d5a32";
  first.addresses = {{api::AddressType::hostname, "same"},
                     {api::AddressType::internal_ip, "10.0.0.1"}};
  Instance second = first;
  second.uid = "b";
  InstancePlan plan = Standing().with(first, Source::file).put(second);
  ASSERT_EQ(suffix(plan), problem::already_used);
  ASSERT_EQ(plan.problem->errors.size(), 3u);
  EXPECT_EQ(plan.problem->errors[0],
            (api::FieldError{"/metadata/name", "name n is that of machine a"}));
  EXPECT_EQ(plan.problem->errors[1].pointer, "/spec/systemUUID");
  EXPECT_EQ(plan.problem->errors[2].pointer, "/spec/addresses/1/address");
}

TEST(put_plan, the_name_of_a_machine_that_is_unknown_or_gone_is_free) {
  EXPECT_EQ(suffix(Standing().vanished(a_machine("a", "n")).put(a_machine("b", "n"))), "");
  EXPECT_EQ(suffix(Standing().retired("a").put(a_machine("b", "gone"))), "");
}

TEST(put_plan, saying_that_a_machine_is_retired_retires_it) {
  Instance said = a_machine("a", "n");
  said.state = State::retired;
  InstancePlan plan = Standing().with(a_machine("a", "n"), Source::api).put(said);
  EXPECT_EQ(plan.record.instance.presence, Presence::absent);
  EXPECT_EQ(plan.record.instance.generation, 3u);
}

TEST(delete_plan, retires_what_was_put_or_what_vanished_from_the_file) {
  for (Source source : {Source::api, Source::file}) {
    Instance machine = a_machine("a", "n");
    if (source == Source::file) machine.presence = Presence::unknown;
    InstancePlan plan = Standing().with(machine, source).remove("a");
    ASSERT_EQ(suffix(plan), "");
    EXPECT_TRUE(plan.write);
    EXPECT_EQ(plan.record.instance.state, State::retired);
    EXPECT_EQ(plan.record.instance.presence, Presence::absent);
    EXPECT_EQ(plan.record.instance.name, "n");
  }
}

TEST(delete_plan, keeps_gone_and_never_known_apart) {
  EXPECT_EQ(suffix(Standing().retired("a").remove("a")), problem::instance_retired);
  EXPECT_EQ(suffix(Standing().remove("a")), problem::instance_not_found);
}

TEST(delete_plan, holds_to_its_precondition) {
  Standing standing;
  standing.with(a_machine("a", "n"), Source::api);
  EXPECT_EQ(suffix(standing.remove("a", {.revision = 4})), problem::revision_conflict);
  EXPECT_EQ(suffix(standing.remove("a", {.revision = 5})), "");
}

TEST(inventory_plan, writes_only_what_differs) {
  Standing standing;
  standing.with(a_machine("a", "a"), Source::file).with(a_machine("b", "b"), Source::file);
  Instance renamed = a_machine("b", "b2");
  auto writes = standing.load({a_machine("a", "a"), renamed, a_machine("c", "c")});
  EXPECT_EQ(standing.mistakes, Lines{});
  ASSERT_EQ(writes.size(), 2u);
  EXPECT_EQ(writes[0].instance.name, "b2");
  EXPECT_EQ(writes[0].instance.generation, 3u);
  EXPECT_EQ(writes[1].instance.uid, "c");
  EXPECT_EQ(writes[1].source, Source::file);
}

TEST(inventory_plan, a_vanished_line_makes_a_machine_unknown_and_never_gone) {
  Standing standing;
  standing.with(a_machine("a", "a"), Source::file);
  auto writes = standing.load({});
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].instance.presence, Presence::unknown);
  EXPECT_EQ(writes[0].instance.state, State::active);
  EXPECT_EQ(writes[0].instance.generation, 2u);
  EXPECT_EQ(writes[0].instance.last_confirmed_at, kNow);
}

TEST(inventory_plan, machines_that_were_put_are_left_alone) {
  Standing standing;
  standing.with(a_machine("a", "a"), Source::api).vanished(a_machine("v", "v")).retired("r");
  EXPECT_TRUE(standing.load({}).empty());
}

TEST(inventory_plan, a_line_that_returns_makes_its_machine_present_again) {
  Standing standing;
  standing.vanished(a_machine("a", "a"));
  auto writes = standing.load({a_machine("a", "a")});
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].instance.presence, Presence::present);
  EXPECT_EQ(writes[0].instance.generation, 2u);
}

TEST(inventory_plan, a_retired_line_is_final) {
  Standing standing;
  standing.with(a_machine("a", "a"), Source::file);
  Instance gone = a_machine("a", "a");
  gone.state = State::retired;
  auto writes = standing.load({gone});
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].instance.presence, Presence::absent);

  Standing after;
  after.retired("a");
  EXPECT_TRUE(after.load({gone}).empty());
  EXPECT_EQ(after.mistakes, Lines{});
  after.load({a_machine("a", "a")});
  ASSERT_EQ(after.mistakes.size(), 1u);
  EXPECT_TRUE(after.mistakes[0].starts_with("line 2: uid a was retired")) << after.mistakes[0];
}

TEST(inventory_plan, a_line_takes_over_a_machine_that_was_put) {
  Standing standing;
  standing.with(a_machine("a", "a"), Source::api);
  auto writes = standing.load({a_machine("a", "a")});
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].source, Source::file);
}

TEST(inventory_plan, what_a_put_machine_has_is_a_mistake_of_the_line) {
  Standing standing;
  standing.with(a_machine("a", "n"), Source::api);
  standing.load({a_machine("b", "n")});
  EXPECT_EQ(standing.mistakes,
            (Lines{"line 2: name n is that of machine a, which was put through the API"}));
  standing.load({a_machine("a", "m"), a_machine("b", "n")});
  EXPECT_EQ(standing.mistakes, Lines{});
}

}  // namespace
}  // namespace isthmus::infra
