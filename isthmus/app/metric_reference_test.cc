#include "isthmus/app/metric_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace isthmus::app {
namespace {

using ::testing::HasSubstr;

TEST(metric_reference, has_each_name_once_in_order) {
  for (const auto lines : {manager_metrics(), backend_metrics()}) {
    std::set<std::string_view> names;
    for (const MetricLine& line : lines) names.insert(line.name);
    EXPECT_EQ(names.size(), lines.size());
    EXPECT_TRUE(std::ranges::is_sorted(lines, {}, &MetricLine::name));
  }
}

TEST(metric_reference, names_end_as_prometheus_wants_them_for_their_kind) {
  for (const auto lines : {manager_metrics(), backend_metrics()}) {
    for (const MetricLine& line : lines) {
      EXPECT_EQ(line.name.ends_with("_total"), line.kind == "counter") << line.name;
      EXPECT_FALSE(line.meaning.empty()) << line.name;
    }
  }
}

TEST(metric_reference, is_a_table_for_each_program) {
  const std::string page = metric_reference();
  EXPECT_THAT(page, HasSubstr("\n## The manager\n\n| Metric | Kind | Labels | Meaning |\n"));
  EXPECT_THAT(page, HasSubstr("\n## The backend\n\n"));
  EXPECT_THAT(
      page, HasSubstr("| `isthmus_cloud_calls_total` | counter | operation, outcome, provider |"));
}

}  // namespace
}  // namespace isthmus::app
