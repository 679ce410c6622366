#include "isthmus/cloud/deletion_verdict.h"

#include <set>

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

Unmet unmet(Condition condition) { return {condition, "why", "release"}; }

TEST(deletion_verdict, has_a_word_of_its_own_for_each_condition) {
  std::set<std::string_view> words;
  for (const Condition each : all_conditions()) words.insert(to_string(each));
  EXPECT_EQ(words.size(), all_conditions().size());
  EXPECT_EQ(to_string(Condition::is_protected), "protected");
  EXPECT_EQ(to_string(Standing::deletable), "deletable");
}

TEST(deletion_verdict, leads_with_what_does_not_pass_by_itself) {
  Verdict verdict{.unmet = {unmet(Condition::negatives), unmet(Condition::zone_frozen)}};
  EXPECT_EQ(verdict.leading()->condition, Condition::zone_frozen);
  verdict.unmet.pop_back();
  EXPECT_EQ(verdict.leading()->condition, Condition::negatives);
  verdict.unmet.clear();
  EXPECT_EQ(verdict.leading(), nullptr);
}

TEST(deletion_verdict, is_ripe_when_only_a_live_read_is_missing_and_may_be_made) {
  Verdict verdict{.unmet = {unmet(Condition::live_read)}};
  EXPECT_TRUE(verdict.is_ripe());
  verdict.unmet.front().not_before = Moment{};
  EXPECT_FALSE(verdict.is_ripe());
  verdict.unmet = {unmet(Condition::live_read), unmet(Condition::age)};
  EXPECT_FALSE(verdict.is_ripe());
}

TEST(deletion_verdict, is_described_by_all_that_is_missing) {
  const Verdict verdict{.unmet = {unmet(Condition::age), unmet(Condition::observe)}};
  EXPECT_EQ(describe(verdict), "age: why (release); observe: why (release)");
  EXPECT_EQ(describe(Verdict{}), "present");
}

}  // namespace
}  // namespace isthmus::cloud
