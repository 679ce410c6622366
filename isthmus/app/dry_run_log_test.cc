#include "isthmus/app/dry_run_log.h"

#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

struct dry_run_log : testing::Test {
  MemoryLogger lines;
  DryRunLog log{lines};
};

TEST_F(dry_run_log, marks_what_is_said_to_be_done) {
  log.info("node initialized", {{"node", "n1"}, {"plan", "initialize"}});
  ASSERT_EQ(lines.lines.size(), 1U);
  EXPECT_EQ(lines.lines[0].text, R"x("node initialized (dry run)" node="n1" plan="initialize")x");
}

TEST_F(dry_run_log, says_the_same_of_the_same_thing_once) {
  const auto say = [&](std::string_view node, std::string_view plan) {
    log.info("node refreshed", {{"node", node}, {"plan", plan}});
    return lines.lines.size();
  };
  EXPECT_EQ(say("n1", "a"), 1U);
  EXPECT_EQ(say("n1", "a"), 1U);
  EXPECT_EQ(say("n2", "a"), 2U) << "another thing";
  EXPECT_EQ(say("n1", "b"), 3U) << "other words";
  EXPECT_EQ(say("n1", "a"), 4U) << "and back";
  log.info("started");
  log.info("started");
  EXPECT_EQ(lines.lines.size(), 5U);
}

TEST_F(dry_run_log, passes_every_warning_and_error_as_it_is) {
  for (int i = 0; i < 2; ++i) {
    log.warning("the cloud is out", {{"error", "lost"}});
    log.error("ended");
  }
  ASSERT_EQ(lines.lines.size(), 4U);
  EXPECT_EQ(lines.lines[0].text, R"("the cloud is out" error="lost")");
  EXPECT_EQ(lines.lines[1].text, R"("ended")");
}

TEST_F(dry_run_log, marks_details_every_time) {
  for (int i = 0; i < 2; ++i) log.debug("a detail");
  EXPECT_EQ(lines.lines.size(), 2U);
}

}  // namespace
}  // namespace isthmus::app
