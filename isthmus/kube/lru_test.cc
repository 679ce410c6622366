#include "isthmus/kube/lru.h"

#include <gtest/gtest.h>

#include <string>

namespace isthmus::kube {
namespace {

TEST(lru, forgets_what_was_not_touched_for_longest) {
  Lru<std::string, int> memory(2);
  memory.touch("a") = 1;
  memory.touch("b") = 2;
  EXPECT_EQ(memory.touch("a"), 1);
  memory.touch("c") = 3;
  EXPECT_EQ(memory.size(), 2U);
  EXPECT_EQ(memory.find("b"), nullptr);
  EXPECT_EQ(*memory.find("a"), 1);
  EXPECT_EQ(memory.touch("b"), 0) << "it begins anew";
  EXPECT_EQ(memory.find("a"), nullptr);
  EXPECT_EQ(*memory.find("c"), 3);
}

TEST(lru, does_not_count_a_look_as_use) {
  Lru<std::string, int> memory(2);
  memory.touch("a");
  memory.touch("b");
  EXPECT_NE(memory.find("a"), nullptr);
  memory.touch("c");
  EXPECT_EQ(memory.find("a"), nullptr);
}

TEST(lru, forgets_what_it_is_told_to) {
  Lru<std::string, int> memory(2);
  memory.touch("a") = 1;
  memory.touch("b") = 2;
  memory.forget("b");
  memory.forget("never heard of");
  EXPECT_EQ(memory.find("b"), nullptr);
  memory.touch("c") = 3;
  EXPECT_EQ(*memory.find("a"), 1) << "there is room again";
}

}  // namespace
}  // namespace isthmus::kube
