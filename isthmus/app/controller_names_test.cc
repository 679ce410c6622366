#include "isthmus/app/controller_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> enabled(std::string_view list) {
  const auto names = parse_controllers(list);
  EXPECT_TRUE(names) << names.error().message;
  return names ? std::vector<std::string>(names->begin(), names->end())
               : std::vector<std::string>{};
}

std::string mistake(std::string_view list) {
  const auto names = parse_controllers(list);
  EXPECT_EQ(names.outcome(), Outcome::invalid) << list;
  return names ? "" : names.error().message;
}

TEST(controller_names, a_star_is_all_that_are_built) {
  EXPECT_THAT(enabled("*"), ElementsAre("cloud-node-controller", "service-lb-controller"));
}

TEST(controller_names, a_name_or_an_alias_switches_one_on_and_a_minus_switches_it_off) {
  EXPECT_THAT(enabled("service-lb-controller"), ElementsAre("service-lb-controller"));
  EXPECT_THAT(enabled("service"), ElementsAre("service-lb-controller"));
  EXPECT_THAT(enabled("*,-service"), ElementsAre("cloud-node-controller"));
  EXPECT_THAT(enabled("-cloud-node-controller, *"), ElementsAre("service-lb-controller"));
}

TEST(controller_names, the_first_word_about_a_controller_counts) {
  EXPECT_THAT(enabled("*,-service,service"), ElementsAre("cloud-node-controller"));
  EXPECT_THAT(enabled("service,-service-lb-controller"), ElementsAre("service-lb-controller"));
}

TEST(controller_names, one_that_is_not_built_may_be_switched_off_but_not_asked_for) {
  EXPECT_THAT(enabled("*,-node-route-controller,-cloud-node-lifecycle"),
              ElementsAre("cloud-node-controller", "service-lb-controller"));
  EXPECT_THAT(mistake("*,route"), HasSubstr("\"route\": is not part of this version"));
}

TEST(controller_names, every_mistake_of_a_list_is_told) {
  const std::string text = mistake("*,nodes,,-x,**");
  for (const std::string_view word : {"\"nodes\"", "\"\"", "\"-x\"", "\"**\""}) {
    EXPECT_THAT(text,
                HasSubstr(std::string(word) + ": is no controller; there are "
                                              "cloud-node-controller, service-lb-controller"));
  }
  EXPECT_THAT(mistake(""), HasSubstr("is no controller"));
  EXPECT_THAT(mistake("-service"), HasSubstr("leaves no controller on"));
}

}  // namespace
}  // namespace isthmus::app
