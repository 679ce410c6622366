#include "isthmus/infra/record_map.h"

#include <gtest/gtest.h>

#include <string>

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

TEST(record_map, one_that_was_moved_from_is_empty) {
  Map map;
  map["a"] = record(1);
  Map other = std::move(map);
  EXPECT_EQ(other.size(), 1u);
  map["b"] = record(2);
  EXPECT_FALSE(map.contains("a"));
}

}  // namespace
}  // namespace isthmus::infra
