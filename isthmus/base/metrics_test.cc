#include "isthmus/base/metrics.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(metrics, writes_prometheus_text_sorted_by_name_and_labels) {
  Metrics metrics;
  metrics.gauge("zeta", "Last").set(1.5);
  metrics.counter("alpha_total", "First", {{"name", "b"}}).add(2);
  metrics.counter("alpha_total", "First", {{"name", "a"}}).add();
  EXPECT_EQ(metrics.text(),
            "# HELP alpha_total First\n"
            "# TYPE alpha_total counter\n"
            "alpha_total{name=\"a\"} 1\n"
            "alpha_total{name=\"b\"} 2\n"
            "# HELP zeta Last\n"
            "# TYPE zeta gauge\n"
            "zeta 1.5\n");
}

TEST(metrics, the_order_of_labels_does_not_matter) {
  Metrics metrics;
  Counter& one = metrics.counter("calls_total", "Calls", {{"code", "200"}, {"method", "GET"}});
  Counter& same = metrics.counter("calls_total", "Calls", {{"method", "GET"}, {"code", "200"}});
  EXPECT_EQ(&one, &same);
  one.add();
  EXPECT_EQ(same.value(), 1);
  EXPECT_THAT(metrics.text(), HasSubstr("calls_total{code=\"200\",method=\"GET\"} 1\n"));
}

TEST(metrics, a_histogram_counts_by_size_in_seconds) {
  Metrics metrics;
  Histogram& histogram = metrics.histogram("wait_seconds", "Waiting", {0.1, 1, 10}, {{"q", "n"}});
  for (const Duration waited : {Duration(50ms), Duration(500ms), Duration(5s), Duration(50s)}) {
    histogram.observe(waited);
  }
  EXPECT_EQ(histogram.count(), 4U);
  EXPECT_DOUBLE_EQ(histogram.sum(), 55.55);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("wait_seconds_bucket{q=\"n\",le=\"0.1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("wait_seconds_bucket{q=\"n\",le=\"10\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("wait_seconds_bucket{q=\"n\",le=\"+Inf\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("wait_seconds_count{q=\"n\"} 4\n"));
}

TEST(metrics, escapes_label_values) {
  Metrics metrics;
  metrics.gauge("odd", "Odd", {{"name", "a\"b\\c\nd"}}).set(1);
  EXPECT_THAT(metrics.text(), HasSubstr(R"(odd{name="a\"b\\c\nd"} 1)"));
}

TEST(metrics, gauges_can_be_computed_when_asked_for) {
  Metrics metrics;
  Gauge& age = metrics.gauge("age_seconds", "Age");
  int now = 1;
  auto hook = std::make_unique<Metrics::OnCollect>(metrics, [&] { age.set(now); });
  EXPECT_THAT(metrics.text(), HasSubstr("age_seconds 1\n"));
  now = 2;
  EXPECT_THAT(metrics.text(), HasSubstr("age_seconds 2\n"));
  hook.reset();
  now = 3;
  EXPECT_THAT(metrics.text(), HasSubstr("age_seconds 2\n")) << "nobody computes it any more";
}

TEST(metrics, a_counter_can_follow_a_total_kept_elsewhere) {
  Metrics metrics;
  Counter& seconds = metrics.counter("cpu_seconds_total", "CPU");
  seconds.raise_to(1.5);
  seconds.raise_to(1.25);
  EXPECT_EQ(seconds.value(), 1.5);
  seconds.raise_to(2);
  EXPECT_EQ(seconds.value(), 2);
}

TEST(metrics, labels_from_outside_cannot_grow_without_end) {
  Metrics metrics;
  for (std::size_t i = 0; i < Metrics::kSeriesMax + 5; ++i) {
    metrics.counter("hosts_total", "Hosts", {{"host", std::to_string(i)}}).add();
  }
  metrics.counter("hosts_total", "Hosts", {{"host", "7"}}).add();
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("hosts_total{host=\"other\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("hosts_total{host=\"7\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("hosts_total{host=\"1002\"}")));
}

TEST(metrics, buckets_can_grow_by_a_factor) {
  EXPECT_EQ(exponential_buckets(1, 4, 6), (std::vector<double>{1, 4, 16, 64, 256, 1024}));
}

TEST(metrics_death, one_name_for_two_kinds_is_a_bug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Metrics metrics;
  metrics.counter("thing", "Thing");
  EXPECT_DEATH(metrics.gauge("thing", "Thing"), "bug: thing");
  EXPECT_DEATH(metrics.gauge("not a name", "Thing"), "bug: not a name");
}

}  // namespace
}  // namespace isthmus
