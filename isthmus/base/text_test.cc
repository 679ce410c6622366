#include "isthmus/base/text.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/json.h"
#include "isthmus/base/random.h"

namespace isthmus {
namespace {

TEST(text, quoted_is_a_json_string_on_one_line) {
  EXPECT_EQ(quoted("plain"), "\"plain\"");
  EXPECT_EQ(quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(quoted("line\nline\r\ttab"), R"("line\nline\r\ttab")");
  EXPECT_EQ(quoted(std::string_view("\0\x1b\x7f", 3)), R"("\u0000\u001b\u007f")");
  EXPECT_EQ(quoted("grün €"), "\"grün €\"");
}

TEST(text, quoted_replaces_what_is_not_utf8) {
  EXPECT_EQ(quoted("a\xff"), "\"a\ufffd\"");
  EXPECT_EQ(quoted("\xc0\xaf"), "\"\ufffd\ufffd\"") << "overlong";
  EXPECT_EQ(quoted("\xed\xa0\x80"), "\"\ufffd\ufffd\ufffd\"") << "a surrogate";
  EXPECT_EQ(quoted("\xf4\x90\x80\x80"), "\"\ufffd\ufffd\ufffd\ufffd\"") << "above U+10FFFF";
  EXPECT_EQ(quoted("\xe2\x82"), "\"\ufffd\ufffd\"") << "cut off";
}

TEST(text, quoted_is_valid_json_whatever_went_in) {
  SeededRandom random(99);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (std::uint64_t n = random.below(20); n > 0; --n) {
      bytes += static_cast<char>(random.below(256));
    }
    const std::string literal = isthmus::quoted(bytes);
    const Result<json::value> parsed = parse_json(literal);
    ASSERT_TRUE(parsed) << literal << ": " << parsed.error().message;
    EXPECT_TRUE(parsed->is_string());
    EXPECT_EQ(literal.find('\n'), std::string::npos);
  }
}

TEST(text, shortened_never_cuts_a_character_in_two) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("shorter", 5), "short…");
  EXPECT_EQ(shortened("a€b", 2), "a…");
  EXPECT_EQ(shortened("a€b", 3), "a…");
  EXPECT_EQ(shortened("a€b", 4), "a€…");
  EXPECT_EQ(shortened("€", 0), "…");
}

TEST(text, trimmed_takes_white_space_off_both_ends) {
  EXPECT_EQ(trimmed(" \t a b \r\n"), "a b");
  EXPECT_EQ(trimmed(" \n "), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(text, the_first_line_is_the_first_that_is_not_blank) {
  EXPECT_EQ(first_line(" \n\t\r\n  one two \r\nthree\n"), "one two");
  EXPECT_EQ(first_line("one"), "one");
  EXPECT_EQ(first_line(" \n \n"), "");
}

TEST(text, split_keeps_empty_parts) {
  EXPECT_EQ(split("a,b,,c", ','), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(split(",", ','), (std::vector<std::string_view>{"", ""}));
}

}  // namespace
}  // namespace isthmus
