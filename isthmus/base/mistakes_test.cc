#include "isthmus/base/mistakes.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus {
namespace {

TEST(mistakes, none_is_ok) {
  const Mistakes mistakes;
  EXPECT_TRUE(mistakes.empty());
  EXPECT_TRUE(mistakes.result());
  EXPECT_EQ(mistakes.text(), "");
}

TEST(mistakes, are_reported_together_in_the_order_they_were_found) {
  Mistakes mistakes;
  mistakes.add("line 7", "\"uid\" is required");
  mistakes.add("", "the file ends too early");
  EXPECT_EQ(mistakes.result().error(),
            (Error{Outcome::invalid, "line 7: \"uid\" is required\nthe file ends too early", {}}));
}

TEST(mistakes, beyond_the_limit_are_only_counted) {
  Mistakes mistakes;
  for (int i = 0; i < 53; ++i) mistakes.add("line " + std::to_string(i), "wrong");
  EXPECT_EQ(mistakes.count(), 53U);
  EXPECT_EQ(mistakes.list().size(), 50U);
  EXPECT_THAT(mistakes.text(), testing::EndsWith("line 49: wrong\nand 3 more"));
}

}  // namespace
}  // namespace isthmus
