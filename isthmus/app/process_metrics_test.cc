#include "isthmus/app/process_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::app {
namespace {

using testing::HasSubstr;

constexpr std::string_view kStat =
    "4711 (a (odd) name) S 1 4711 4711 0 -1 4194560 2086 0 0 0 150 50 0 0 20 0 1 0 12345 28672000 "
    "2560 18446744073709551615 1 1 0\n";

Task<Result<>> two_turns() { co_return co_await Sleep(Duration::zero()); }

TEST(process_metrics, read_the_fields_behind_a_name_with_blanks_and_parentheses) {
  const auto stat = parse_process_stat(kStat, 100, 4096);

  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->cpu_seconds, 2.0);
  EXPECT_EQ(stat->started_after_boot_seconds, 123.45);
  EXPECT_EQ(stat->virtual_bytes, 28672000);
  EXPECT_EQ(stat->resident_bytes, 2560 * 4096);
}

TEST(process_metrics, a_text_that_is_cut_is_no_answer) {
  for (std::size_t size = 0; size < kStat.find(" 2560"); ++size) {
    EXPECT_FALSE(parse_process_stat(kStat.substr(0, size), 100, 4096)) << size;
  }
  EXPECT_FALSE(parse_boot_time("cpu 1 2 3\n"));
}

TEST(process_metrics, appear_in_the_exposition_at_each_scrape) {
  MemoryFiles files;
  ASSERT_TRUE(files.write("/proc/self/stat", kStat, FileMode::world_readable));
  ASSERT_TRUE(files.write("/proc/stat", "cpu 1 2\nbtime 1000\nctxt 5\n", FileMode::world_readable));
  Metrics metrics;
  VirtualWorld world;
  ProcessMetrics process(world.loop, files, metrics);

  const std::string text = metrics.text();

  EXPECT_THAT(text, HasSubstr("process_resident_memory_bytes 10485760"));
  EXPECT_THAT(text, HasSubstr("process_start_time_seconds 1123.45"));
}

TEST(process_metrics, count_the_turns_of_the_loop_as_long_as_they_live) {
  MemoryFiles files;
  Metrics metrics;
  VirtualWorld world;
  {
    ProcessMetrics process(world.loop, files, metrics);
    world.advance(std::chrono::seconds(1));
    EXPECT_TRUE(world.run(two_turns()));
  }
  EXPECT_TRUE(world.run(two_turns())) << "nobody counts any more";
  EXPECT_THAT(metrics.text(), HasSubstr("isthmus_loop_turn_seconds_count 2"));
}

}  // namespace
}  // namespace isthmus::app
