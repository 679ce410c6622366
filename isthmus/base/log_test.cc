#include "isthmus/base/log.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/json.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::MatchesRegex;

class StillClock final : public Clock {
 public:
  Moment now() const override { return {}; }
  WallTime wall_now() const override { return WallTime(1'795'985'263s + 123'456us); }
};

// What a piece of work writes to standard error.
template <class Work>
std::string stderr_of(LogFormat format, Level threshold, Work work) {
  const StillClock clock;
  testing::internal::CaptureStderr();
  {
    StderrLogger log(clock, format, threshold);
    work(log);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(log, writes_as_klog_does) {
  const std::string out = stderr_of(LogFormat::text, Level::info, [](Logger& log) {
    log.info("node initialized", {{"node", "n1"}, {"tries", 3}});
    log.warning("odd");
    log.error("broken", {{"err", Error{Outcome::lost, "cut", {}}}});
  });
  EXPECT_THAT(out,
              MatchesRegex("I1129 20:47:43\\.123456 +[0-9]+ log_test\\.cc:[0-9]+\\] "
                           "\"node initialized\" node=\"n1\" tries=3\n"
                           "W1129 20:47:43\\.123456 +[0-9]+ log_test\\.cc:[0-9]+\\] \"odd\"\n"
                           "E1129 20:47:43\\.123456 +[0-9]+ log_test\\.cc:[0-9]+\\] \"broken\" "
                           "err=\"lost: cut\"\n"));
}

TEST(log, writes_json_that_parses) {
  const std::string out = stderr_of(LogFormat::json, Level::info, [](Logger& log) {
    log.error("node \"x\"\n", {{"node", std::string("n1")},
                               {"tries", 3U},
                               {"ratio", 0.5},
                               {"endless", std::numeric_limits<double>::infinity()},
                               {"done", true},
                               {"took", 1500ms},
                               {"outcome", Outcome::busy}});
  });
  const Result<json::value> line = parse_json(out);
  ASSERT_TRUE(line) << out << line.error().message;
  const json::object& object = line->get_object();
  EXPECT_DOUBLE_EQ(object.at("ts").as_double(), 1'795'985'263'123.456);
  EXPECT_THAT(std::string(object.at("caller").as_string()), MatchesRegex("log_test\\.cc:[0-9]+"));
  EXPECT_EQ(object.at("level"), "error");
  EXPECT_EQ(object.at("msg"), "node \"x\"\n");
  EXPECT_EQ(object.at("node"), "n1");
  EXPECT_EQ(object.at("tries"), 3);
  EXPECT_EQ(object.at("ratio"), 0.5);
  EXPECT_EQ(object.at("endless"), "inf");
  EXPECT_EQ(object.at("done"), true);
  EXPECT_EQ(object.at("took"), "1.5s");
  EXPECT_EQ(object.at("outcome"), "busy");
  EXPECT_EQ(std::ranges::count(out, '\n'), 1);
}

TEST(log, drops_what_is_below_the_threshold) {
  const auto work = [](Logger& log) {
    log.debug("a detail");
    log.info("news");
    log.error("trouble");
  };
  EXPECT_THAT(stderr_of(LogFormat::text, Level::debug, work), HasSubstr("] \"a detail\"\n"));
  EXPECT_THAT(stderr_of(LogFormat::text, Level::info, work), Not(HasSubstr("a detail")));
  EXPECT_THAT(stderr_of(LogFormat::text, Level::error, work), Not(HasSubstr("news")));
  EXPECT_THAT(stderr_of(LogFormat::text, Level::error, work), HasSubstr("trouble"));
}

TEST(log, a_record_is_one_line_whatever_is_in_it) {
  MemoryLogger log;
  log.info("two\nlines", {{"text", "a \"b\"\nI0101 00:00:00.000000 1 forged.cc:1] \"forged\""}});
  EXPECT_EQ(log.lines.at(0).text,
            R"("two\nlines" text="a \"b\"\nI0101 00:00:00.000000 1 forged.cc:1] \"forged\"")");
}

TEST(log, a_long_value_is_cut) {
  MemoryLogger log;
  log.info("body", {{"body", std::string(100'000, 'x')}});
  EXPECT_LT(log.lines.at(0).text.size(), kLogValueBytesMax + 100);
  EXPECT_TRUE(log.mentions("x…\""));
}

TEST(log, the_memory_logger_keeps_levels_and_text) {
  MemoryLogger log;
  log.debug("a detail");
  log.warning("odd", {{"node", "n1"}});
  ASSERT_EQ(log.lines.size(), 2U);
  EXPECT_EQ(log.lines[1].level, Level::warning);
  EXPECT_TRUE(log.mentions("node=\"n1\""));
  EXPECT_FALSE(log.mentions("n2"));
}

}  // namespace
}  // namespace isthmus
