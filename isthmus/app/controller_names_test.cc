#include "isthmus/app/controller_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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

std::vector<std::string> all_but(std::string_view left_out = {}) {
  std::vector<std::string> names;
  for (const ControllerName& each : controller_names()) {
    if (each.name != left_out) names.emplace_back(each.name);
  }
  std::ranges::sort(names);
  return names;
}

TEST(controller_names, a_star_is_all_there_are) { EXPECT_EQ(enabled("*"), all_but()); }

TEST(controller_names, a_name_or_an_alias_switches_one_on_and_a_minus_switches_it_off) {
  EXPECT_THAT(enabled("service-lb-controller"), ElementsAre("service-lb-controller"));
  EXPECT_THAT(enabled("service"), ElementsAre("service-lb-controller"));
  EXPECT_EQ(enabled("*,-service"), all_but("service-lb-controller"));
  EXPECT_EQ(enabled("-cloud-node-controller, *"), all_but("cloud-node-controller"));
}

TEST(controller_names, the_first_word_about_a_controller_counts) {
  EXPECT_EQ(enabled("*,-service,service"), all_but("service-lb-controller"));
  EXPECT_THAT(enabled("service,-service-lb-controller"), ElementsAre("service-lb-controller"));
}

TEST(controller_names, the_name_that_a_controller_had_before_is_understood) {
  EXPECT_THAT(enabled("service-controller"), ElementsAre("service-lb-controller"));
  EXPECT_EQ(find_controller("route-controller")->name, "node-route-controller");
  EXPECT_EQ(find_controller(""), nullptr);
}

TEST(controller_names, every_mistake_of_a_list_is_told) {
  const std::string text = mistake("*,nodes,,-x,**");
  for (const std::string_view word : {"\"nodes\"", "\"\"", "\"-x\"", "\"**\""}) {
    EXPECT_THAT(text, HasSubstr(std::string(word) + ": is no controller; there are "
                                                    "cloud-node-controller, "));
  }
  EXPECT_THAT(mistake(""), HasSubstr("is no controller"));
  EXPECT_THAT(mistake("-service"), HasSubstr("leaves no controller on"));
}

}  // namespace
}  // namespace isthmus::app
