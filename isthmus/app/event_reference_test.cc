#include "isthmus/app/event_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "isthmus/controllers/service_notices.h"

namespace isthmus::app {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::set<std::pair<std::string_view, std::string_view>> told() {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const EventLine& line : event_lines()) names.emplace(line.about, line.reason);
  return names;
}

TEST(event_reference, has_each_reason_once_for_an_object) {
  EXPECT_EQ(told().size(), event_lines().size());
}

TEST(event_reference, has_the_reasons_of_the_controllers) {
  EXPECT_THAT(told(), Contains(std::pair("Service", controllers::kContestedReason)));
  EXPECT_THAT(told(), Contains(std::pair("Service", controllers::kEnsuredReason)));
  EXPECT_THAT(told(), Contains(std::pair("Node", "Synced")));
}

TEST(event_reference, is_a_table_for_each_kind_of_object) {
  const std::string page = event_reference();
  EXPECT_THAT(page, HasSubstr("\n## Node\n\n| Reason | Type | Meaning |\n"));
  EXPECT_THAT(page, HasSubstr("| `MutationsStopped` | Warning | "));
  for (const EventLine& line : event_lines()) EXPECT_THAT(page, HasSubstr(line.meaning));
}

}  // namespace
}  // namespace isthmus::app
