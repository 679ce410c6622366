#include "isthmus/app/conformance_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using testing::HasSubstr;
using Verdict = cloud::ConformanceStep::Verdict;

cloud::ConformanceStep a_step(Verdict verdict) {
  return {.name = "ensure-twice",
          .checks = "An ensure that is repeated creates nothing",
          .verdict = verdict,
          .reason = "it made two",
          .next_step = "look at the names",
          .took = std::chrono::milliseconds(1250)};
}

TEST(conformance_report, says_a_line_of_what_passed_and_more_of_what_did_not) {
  EXPECT_EQ(
      line_of(a_step(Verdict::passed)),
      "passed   ensure-twice                An ensure that is repeated creates nothing (1.2s)\n");
  EXPECT_EQ(
      line_of(a_step(Verdict::failed)),
      "failed   ensure-twice                An ensure that is repeated creates nothing (1.2s)\n"
      "         it made two\n"
      "         next: look at the names\n");
}

TEST(conformance_report, sums_up_and_names_what_is_left_behind) {
  cloud::ConformanceReport report{.cluster = "c-1", .steps = {a_step(Verdict::passed)}};
  EXPECT_EQ(summary_of(report), "The contract is kept: 1 passed, 0 failed, 0 skipped\n");
  report.steps.push_back(a_step(Verdict::failed));
  report.left = {"conformance-a", "conformance-b"};
  EXPECT_EQ(summary_of(report),
            "The contract is NOT kept: 1 passed, 1 failed, 0 skipped\n"
            "Left behind, of the made-up cluster c-1: conformance-a, conformance-b\n");
}

TEST(conformance_report, sums_up_a_test_that_was_broken_off_as_that) {
  const cloud::ConformanceReport report{
      .steps = {a_step(Verdict::failed), a_step(Verdict::skipped)}, .broken_off = true};
  EXPECT_EQ(summary_of(report),
            "Broken off, because the cloud cannot be asked: 0 passed, 1 failed, 1 skipped\n");
}

TEST(conformance_report, has_a_page_that_names_every_step) {
  const std::string page = conformance_reference();
  for (const cloud::ConformanceStep& step : cloud::conformance_steps()) {
    EXPECT_THAT(page, HasSubstr("| `" + step.name + "` | " + step.checks + " |\n"));
    EXPECT_LE(step.name.size(), 27U) << step.name;
  }
}

}  // namespace
}  // namespace isthmus::app
