#include "isthmus/app/feature_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace isthmus::app {
namespace {

using testing::HasSubstr;

TEST(feature_gates, stand_in_the_order_of_their_names) {
  EXPECT_TRUE(std::ranges::is_sorted(feature_gates(), {}, &FeatureGate::name));
}

TEST(feature_gates, are_as_upstream_has_them_until_something_is_said) {
  const FeatureGates gates;
  EXPECT_TRUE(gates.enabled("ContextualLogging"));
  EXPECT_FALSE(gates.enabled("CloudControllerManagerWebhook"));
  EXPECT_EQ(gates.said(kReleaseGate), std::nullopt);
}

TEST(feature_gates, are_as_said_and_the_last_word_counts) {
  const Result<FeatureGates> gates = FeatureGates::parse(
      " LoggingAlphaOptions=true, ContextualLogging=F,LoggingAlphaOptions=false,");
  ASSERT_TRUE(gates.has_value());
  EXPECT_FALSE(gates->enabled(kLoggingAlphaGate));
  EXPECT_EQ(gates->said(kLoggingAlphaGate), false);
  EXPECT_FALSE(gates->enabled("ContextualLogging"));
}

TEST(feature_gates, all_of_a_stage_follow_its_switch_but_for_those_named) {
  const Result<FeatureGates> gates =
      FeatureGates::parse("AllAlpha=true,AllBeta=false,ContextualLogging=true");
  ASSERT_TRUE(gates.has_value());
  EXPECT_TRUE(gates->enabled(kLoggingAlphaGate));
  EXPECT_FALSE(gates->enabled("WatchList"));
  EXPECT_TRUE(gates->enabled("ContextualLogging"));
  EXPECT_TRUE(gates->enabled("DeclarativeValidation")) << "what is stable is not asked";
}

TEST(feature_gates, every_wrong_word_is_named) {
  const Result<FeatureGates> gates =
      FeatureGates::parse("NoSuchGate=true,WatchList,DeclarativeValidation=false,AllBeta=perhaps");
  ASSERT_EQ(gates.outcome(), Outcome::invalid);
  const std::string& text = gates.error().message;
  EXPECT_THAT(text, HasSubstr("\"NoSuchGate\": is no feature gate"));
  EXPECT_THAT(text, HasSubstr("WatchList: must be given as NAME=true"));
  EXPECT_THAT(text, HasSubstr("DeclarativeValidation: is locked to true"));
  EXPECT_THAT(text, HasSubstr("AllBeta: must be given"));
}

TEST(feature_gates, a_locked_one_may_be_told_what_it_is) {
  EXPECT_TRUE(FeatureGates::parse("DeclarativeValidation=true").has_value());
}

TEST(feature_gates, those_that_change_nothing_are_told) {
  const Result<FeatureGates> gates =
      FeatureGates::parse("WatchList=true,LoggingAlphaOptions=true,CBORServingAndStorage=false");
  ASSERT_TRUE(gates.has_value());
  EXPECT_EQ(gates->without_effect(), "CBORServingAndStorage, WatchList");
  EXPECT_EQ(FeatureGates().without_effect(), "");
}

}  // namespace
}  // namespace isthmus::app
