#include "isthmus/kube/api/string_map.h"

#include <gtest/gtest.h>

namespace isthmus::kube {
namespace {

TEST(string_map, keeps_keys_sorted_and_once) {
  const StringMap map{{"b", "1"}, {"a", "2"}, {"b", "3"}};

  std::vector<StringMap::Entry> entries(map.begin(), map.end());

  EXPECT_EQ(entries, (std::vector<StringMap::Entry>{{"a", "2"}, {"b", "3"}}));
  EXPECT_EQ(map.size(), 2u);
}

TEST(string_map, finds_what_was_set_and_nothing_else) {
  StringMap map;
  map.set("zone", "rack-7");
  map.set("empty", "");

  EXPECT_EQ(map.find("zone"), "rack-7");
  EXPECT_EQ(map.find("empty"), "");
  EXPECT_EQ(map.find("zon"), std::nullopt);
  EXPECT_EQ(map.find("zones"), std::nullopt);
  EXPECT_FALSE(map.contains(""));
}

TEST(string_map, erasing_what_is_not_there_changes_nothing) {
  StringMap map{{"a", "1"}, {"b", "2"}};
  map.erase("c");
  map.erase("a");

  EXPECT_EQ(map, (StringMap{{"b", "2"}}));
}

TEST(string_map, equality_does_not_depend_on_the_order_of_insertion) {
  StringMap left{{"a", "1"}, {"b", "2"}};
  StringMap right{{"b", "2"}};
  right.set("a", "0");
  EXPECT_NE(left, right);
  right.set("a", "1");
  EXPECT_EQ(left, right);
}

}  // namespace
}  // namespace isthmus::kube
