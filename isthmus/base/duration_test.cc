#include "isthmus/base/duration.h"

#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/random.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(duration, reads_what_go_reads) {
  const std::vector<std::pair<std::string, Duration>> table = {
      {"0", 0s},
      {"+0", 0s},
      {"-0", 0s},
      {"5s", 5s},
      {"30s", 30s},
      {"1478s", 1478s},
      {"-5s", -5s},
      {"+5s", 5s},
      {"5.0s", 5s},
      {"5.6s", 5600ms},
      {"5.s", 5s},
      {".5s", 500ms},
      {"1.004s", 1004ms},
      {"10ns", 10ns},
      {"11us", 11us},
      {"12µs", 12us},
      {"12μs", 12us},
      {"13ms", 13ms},
      {"15m", 15min},
      {"16h", 16h},
      {"3h30m", 3h + 30min},
      {"1h2m3.5s", 1h + 2min + 3500ms},
      {"10.5s4m", 4min + 10500ms},
      {"-2m3.4s", -(2min + 3400ms)},
      {"0.100000000000000000000h", 6min},
      {"0.3333333333333333333h", 20min},
      {"39h9m14.425s", 39h + 9min + 14425ms},
      {"9007199254740993ns", 9007199254740993ns},
      {"9223372036854775807ns", Duration::max()},
      {"5m0s", 5min},
  };
  for (const auto& [text, expected] : table) {
    const Result<Duration> parsed = parse_duration(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    // Fractions are cut digit by digit, so up to one nanosecond per digit may be missing.
    EXPECT_LE((*parsed - expected).count(), 0) << text;
    EXPECT_GE((*parsed - expected).count(), -20) << text;
  }
}

TEST(duration, refuses_everything_else_and_quotes_it) {
  for (const std::string text : {"",
                                 "3",
                                 "-",
                                 "s",
                                 ".",
                                 "-.",
                                 ".s",
                                 "+.s",
                                 "1d",
                                 "5 minutes",
                                 "1h ",
                                 " 1h",
                                 "--1s",
                                 "1.2.3s",
                                 "1e3s",
                                 "\x85\x85",
                                 "9223372036854775808ns",
                                 "9223372036854775.808us",
                                 "2562048h",
                                 "99999999999999999999s"}) {
    const Result<Duration> parsed = parse_duration(text);
    EXPECT_EQ(parsed.outcome(), Outcome::invalid) << text;
    if (!parsed) EXPECT_THAT(parsed.error().message, HasSubstr("\"" + text + "\" is no duration"));
  }
}

TEST(duration, says_what_is_wrong) {
  EXPECT_THAT(parse_duration("3").error().message, HasSubstr("a number without a unit"));
  EXPECT_THAT(parse_duration("3d").error().message,
              HasSubstr("the units are ns, us, ms, s, m and h"));
  EXPECT_THAT(parse_duration("300000000h").error().message, HasSubstr("too long"));
}

TEST(duration, writes_what_go_writes) {
  const std::vector<std::pair<std::string, Duration>> table = {
      {"0s", 0s},
      {"1ns", 1ns},
      {"1.1µs", 1100ns},
      {"2.2ms", 2200us},
      {"3.3s", 3300ms},
      {"4m5s", 4min + 5s},
      {"4m5.001s", 4min + 5001ms},
      {"5h6m7.001s", 5h + 6min + 7001ms},
      {"8m0.000000001s", 8min + 1ns},
      {"5m0s", 5min},
      {"1h0m0s", 1h},
      {"-1.5s", -1500ms},
      {"2562047h47m16.854775807s", Duration::max()},
      {"-2562047h47m16.854775808s", Duration::min()},
  };
  for (const auto& [text, duration] : table) EXPECT_EQ(format_duration(duration), text);
}

TEST(duration, reads_back_what_it_wrote) {
  SeededRandom random(2026);
  for (int i = 0; i < 2000; ++i) {
    const Duration limit(std::int64_t{1} << random.below(62));
    const Duration duration = random.between(-limit, limit);
    const Result<Duration> back = parse_duration(format_duration(duration));
    EXPECT_EQ(back, duration) << format_duration(duration);
  }
}

}  // namespace
}  // namespace isthmus
