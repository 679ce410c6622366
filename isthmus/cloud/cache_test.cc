#include "isthmus/cloud/cache.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::cloud {
namespace {

using std::chrono::seconds;
using namespace std::chrono_literals;

struct cache : testing::Test {
  cache() {
    for (int i = 0; i < 30; ++i) {
      Instance& machine = cloud.add("m" + std::to_string(i), "node" + std::to_string(i),
                                    {{AddressType::internal_ip, "10.0.0." + std::to_string(i)}});
      machine.system_uuid = "0000000" + std::to_string(i % 10) + "-0000-0000-0000-000000000000";
    }
  }
  Result<Instance> get(const std::string& id, Duration max_age) {
    return world.run(memory.get({"fake", id}, max_age));
  }
  Result<Listing<Instance>> list(InstanceQuery query, Duration max_age) {
    return world.run(memory.list(std::move(query), max_age));
  }
  void pass(Duration time) { world.advance(time); }

  VirtualWorld world;
  Metrics metrics;
  providers::fake::FakeProvider cloud;
  InstanceCache memory{*cloud.capabilities().instances, world.loop, metrics};
};

TEST_F(cache, answers_from_memory_while_the_answer_is_young_enough) {
  ASSERT_TRUE(get("m1", seconds(30)));
  pass(seconds(29));
  ASSERT_TRUE(get("m1", seconds(30)));
  EXPECT_EQ(cloud.gets, 1U);
  ASSERT_TRUE(get("m1", seconds(10)));
  EXPECT_EQ(cloud.gets, 2U);
}

TEST_F(cache, counts_age_from_when_the_question_was_sent) {
  cloud.faults.delay = seconds(20);
  ASSERT_TRUE(get("m1", seconds(30)));
  pass(seconds(15));
  ASSERT_TRUE(get("m1", seconds(30)));
  EXPECT_EQ(cloud.gets, 2U);
}

TEST_F(cache, never_remembers_that_a_machine_is_absent) {
  EXPECT_EQ(get("new", seconds(3600)).outcome(), Outcome::absent);
  cloud.add("new", "late");
  EXPECT_EQ(get("new", seconds(3600)).outcome(), Outcome::ok);
}

TEST_F(cache, never_remembers_an_error) {
  cloud.faults.error = Error{Outcome::lost, "cut"};
  cloud.faults.errors = 1;
  EXPECT_EQ(get("m1", seconds(3600)).outcome(), Outcome::lost);
  EXPECT_EQ(get("m1", seconds(3600)).outcome(), Outcome::ok);
}

TEST_F(cache, fetches_the_list_once_when_many_machines_are_asked_for) {
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(get("m" + std::to_string(i), seconds(30)));
  EXPECT_EQ(cloud.gets, 10U);
  EXPECT_EQ(cloud.lists, 1U);
}

TEST_F(cache, still_asks_by_id_for_a_machine_that_the_list_lacks) {
  cloud.faults.list_only = 20;
  cloud.faults.partial_list_claims_to_be_complete = true;
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(get("m" + std::to_string(i), seconds(30))) << i;
  EXPECT_EQ(get("gone", seconds(30)).outcome(), Outcome::absent);
}

TEST_F(cache, falls_back_to_single_look_ups_when_the_list_fails) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(get("m" + std::to_string(i), seconds(30)));
  cloud.faults.error = Error{Outcome::lost, "cut"};
  cloud.faults.errors = 1;
  EXPECT_TRUE(get("m20", seconds(30)));
  EXPECT_EQ(cloud.lists, 1U);
  EXPECT_EQ(cloud.gets, 11U);
}

TEST_F(cache, finds_exactly_the_machines_that_match_by_uuid_name_or_address) {
  const auto found = list({.system_uuid = "00000007-0000-0000-0000-000000000000",
                           .name = "NODE3",
                           .internal_ips = {"::ffff:10.0.0.9"}},
                          seconds(30));
  ASSERT_TRUE(found);
  std::vector<std::string> names;
  for (const Instance& machine : found->items) names.push_back(machine.names.front());
  EXPECT_EQ(names, (std::vector<std::string>{"node3", "node7", "node9", "node17", "node27"}));
  EXPECT_EQ(found->completeness, Completeness::complete);
}

TEST_F(cache, says_when_the_list_behind_an_answer_was_partial) {
  cloud.faults.list_only = 3;
  EXPECT_EQ(list({.name = "node7"}, seconds(30))->completeness, Completeness::partial);
}

TEST_F(cache, asks_anew_before_it_says_that_no_machine_matches) {
  ASSERT_TRUE(list({}, seconds(30)));
  pass(std::chrono::milliseconds(100));
  cloud.add("new", "late");
  EXPECT_EQ(list({.name = "late"}, seconds(30))->items.size(), 1U);
  EXPECT_EQ(cloud.lists, 2U);
  EXPECT_EQ(list({.name = "late"}, seconds(30))->items.size(), 1U);
  EXPECT_EQ(cloud.lists, 2U);
}

TEST_F(cache, asks_once_a_second_for_all_who_match_nothing) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(list({.name = "nobody" + std::to_string(i)}, seconds(30))->items.empty());
    pass(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(cloud.lists, 10U);
}

TEST_F(cache, does_not_take_an_old_list_for_the_word_that_no_machine_matches) {
  ASSERT_TRUE(list({}, seconds(30)));
  pass(seconds(1));
  cloud.faults.error = Error{Outcome::lost, "cut"};
  EXPECT_EQ(list({.name = "nobody"}, seconds(30)).outcome(), Outcome::lost);
  EXPECT_TRUE(list({.name = "node7"}, seconds(30)));
}

TEST_F(cache, answers_a_look_up_from_whatever_is_newest) {
  ASSERT_TRUE(get("m1", seconds(30)));
  pass(seconds(1));
  cloud.machines[1].zone = "moved";
  ASSERT_TRUE(list({}, seconds(0)));
  EXPECT_EQ(get("m1", seconds(30))->zone, "moved");
  EXPECT_EQ(cloud.gets, 1U);
}

TEST_F(cache, asks_anew_after_it_was_told_to_forget) {
  ASSERT_TRUE(list({}, seconds(30)));
  memory.forget();
  ASSERT_TRUE(list({}, seconds(30)));
  EXPECT_EQ(cloud.lists, 2U);
}

TEST_F(cache, shares_the_whole_list_and_says_when_it_was_asked_for) {
  const Moment begin = world.loop.now();
  cloud.faults.delay = seconds(2);
  const auto first = world.run(memory.whole_list(seconds(0)));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->as_of, begin);
  EXPECT_EQ(first->value->items.size(), cloud.machines.size());
  const auto second = world.run(memory.whole_list(seconds(10)));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->value, first->value);
  EXPECT_EQ(second->as_of, begin);
  EXPECT_EQ(cloud.lists, 1U);
}

TEST_F(cache, tells_of_each_answer_by_id_that_says_gone_once_and_when_it_was_asked_for) {
  std::vector<std::pair<ProviderId, Moment>> told;
  auto listener =
      memory.on_gone([&](const ProviderId& id, Moment sent) { told.emplace_back(id, sent); });
  cloud.faults.delay = seconds(20);
  const Moment asked = world.loop.now();
  EXPECT_EQ(get("new", seconds(30)).outcome(), Outcome::absent);
  ASSERT_TRUE(get("m1", seconds(30)));
  cloud.machines[2].presence = Presence::absent;
  ASSERT_TRUE(get("m2", seconds(30)));
  cloud.faults.error = Error{Outcome::lost, "500"};
  EXPECT_EQ(get("other", seconds(30)).outcome(), Outcome::lost);
  cloud.faults.error.reset();
  EXPECT_THAT(told, testing::ElementsAre(testing::Pair(ProviderId{"fake", "new"}, asked),
                                         testing::Pair(ProviderId{"fake", "m2"}, asked + 40s)));
  listener.reset();
  EXPECT_EQ(get("new", seconds(30)).outcome(), Outcome::absent);
  EXPECT_EQ(told.size(), 2U);
}

TEST_F(cache, tells_who_came_last_though_whoever_was_before_leaves_later) {
  int told = 0;
  auto predecessor = memory.on_gone([](const ProviderId&, Moment) { FAIL() << "not any more"; });
  const auto successor = memory.on_gone([&](const ProviderId&, Moment) { ++told; });
  EXPECT_EQ(get("new", seconds(30)).outcome(), Outcome::absent);
  predecessor.reset();
  EXPECT_EQ(get("new", seconds(30)).outcome(), Outcome::absent);
  EXPECT_EQ(told, 2);
}

TEST_F(cache, serves_two_readers_with_ages_of_their_own) {
  CachedInstances patient(memory, seconds(60));
  CachedInstances eager(memory, seconds(0));
  ASSERT_TRUE(world.run(patient.get({"fake", "m1"})));
  pass(seconds(5));
  ASSERT_TRUE(world.run(patient.get({"fake", "m1"})));
  EXPECT_EQ(cloud.gets, 1U);
  ASSERT_TRUE(world.run(eager.get({"fake", "m1"})));
  EXPECT_EQ(cloud.gets, 2U);
}

}  // namespace
}  // namespace isthmus::cloud
