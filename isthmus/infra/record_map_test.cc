#include "isthmus/infra/record_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "isthmus/base/random.h"

namespace isthmus::infra {
namespace {

using Map = RecordMap<std::string, int>;

std::shared_ptr<const int> record(int value) { return std::make_shared<const int>(value); }

TEST(record_map, a_new_one_is_empty) {
  Map map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.begin(), map.end());
  EXPECT_EQ(map.look_up("a"), nullptr);
  map.erase("a");
  EXPECT_EQ(map.size(), 0u);
}

TEST(record_map, records_are_found_and_walked_in_order) {
  Map map;
  map["b"] = record(2);
  map["a"] = record(1);
  EXPECT_EQ(*map.look_up("b"), 2);
  EXPECT_EQ(map.begin()->first, "a");
  EXPECT_EQ(map.lower_bound("aa")->first, "b");
  EXPECT_EQ(map.upper_bound("b"), map.end());
}

TEST(record_map, a_copy_stays_as_it_was) {
  Map map;
  map["a"] = record(1);
  map["b"] = record(2);
  const Map before = map;
  EXPECT_TRUE(map.is_same_as(before));
  map["a"] = record(7);
  map.erase("b");
  EXPECT_FALSE(map.is_same_as(before));
  EXPECT_EQ(*before.look_up("a"), 1);
  EXPECT_EQ(*before.look_up("b"), 2);
  EXPECT_EQ(*map.look_up("a"), 7);
  EXPECT_FALSE(map.contains("b"));
}

TEST(record_map, copies_share_the_records_that_did_not_change) {
  Map map;
  map["a"] = record(1);
  Map copy = map;
  copy["b"] = record(2);
  EXPECT_EQ(map.look_up("a"), copy.look_up("a"));
}

TEST(record_map, what_nobody_shares_is_changed_in_its_place) {
  Map map;
  map["a"] = record(1);
  const auto here = map.find("a");
  map["b"] = record(2);
  EXPECT_EQ(here, map.find("a"));
}

// The keys that differ, with their records as text, "-" where they went.
std::vector<std::string> differences(const Map& before, const Map& after) {
  std::vector<std::string> found;
  after.for_each_difference(before, [&](const std::string& key, const Map::Shared& record) {
    found.push_back(key + (record == nullptr ? "-" : std::to_string(*record)));
  });
  return found;
}

TEST(record_map, the_differences_of_two_copies_are_told_in_order) {
  Map map;
  for (char key : std::string("abcdef")) map[std::string(1, key)] = record(1);
  const Map before = map;
  EXPECT_TRUE(differences(before, map).empty());
  map["c"] = record(2);
  map["g"] = record(3);
  map["0"] = record(4);
  map.erase("e");
  EXPECT_EQ(differences(before, map), (std::vector<std::string>{"04", "c2", "e-", "g3"}));
  EXPECT_EQ(differences(map, before), (std::vector<std::string>{"0-", "c1", "e1", "g-"}));
  EXPECT_EQ(differences({}, before).size(), 6u);
  EXPECT_EQ(differences(before, {}).size(), 6u);
}

// Of many records, in many chunks.
TEST(record_map, is_as_a_map_whatever_is_done_to_it_and_to_its_copies) {
  SeededRandom random(7);
  std::map<std::string, int> model;
  Map map;
  std::map<std::string, int> model_before;
  Map before;
  for (int step = 0; step < 20'000; ++step) {
    const std::string key = std::to_string(random.below(step < 10'000 ? 3'000 : 300));
    if (random.below(3) == 0) {
      model.erase(key);
      map.erase(key);
    } else {
      model[key] = step;
      map[key] = record(step);
    }
    ASSERT_EQ(map.lower_bound(key) == map.end(), model.lower_bound(key) == model.end());
    if (step % 500 != 0) continue;
    ASSERT_EQ(map.size(), model.size());
    std::map<std::string, int> walked;
    for (const auto& [name, value] : map) walked[name] = *value;
    ASSERT_EQ(walked, model);
    std::map<std::string, int> followed = model_before;
    map.for_each_difference(before, [&](const std::string& name, const Map::Shared& value) {
      followed.erase(name);
      if (value != nullptr) followed[name] = *value;
    });
    ASSERT_EQ(followed, model);
    std::map<std::string, int> stayed;
    for (const auto& [name, value] : before) stayed[name] = *value;
    ASSERT_EQ(stayed, model_before);
    model_before = model;
    before = map;
  }
}

TEST(record_map, one_that_was_moved_from_is_empty) {
  Map map;
  map["a"] = record(1);
  Map other = std::move(map);
  EXPECT_EQ(other.size(), 1u);
  EXPECT_TRUE(map.empty());  // NOLINT(bugprone-use-after-move): what it promises.
  map["b"] = record(2);
  EXPECT_FALSE(map.contains("a"));
}

}  // namespace
}  // namespace isthmus::infra
