#include "isthmus/net/http.h"

#include <gtest/gtest.h>

#include <chrono>

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;

// 1994-11-06T08:49:07Z, thirty seconds before the example of RFC 9110.
constexpr WallTime kNow{784'111'747s};

std::optional<Duration> wait_of(std::string value) {
  return retry_after(Headers{{"retry-after", std::move(value)}}, kNow);
}

TEST(headers, are_found_without_regard_to_case_and_in_order) {
  Headers headers{{"Accept", "a"}, {"ACCEPT", "b"}};
  EXPECT_EQ(headers.find("accept"), "a");
  EXPECT_EQ(headers.find("accep"), std::nullopt);
  headers.set("accepT", "c");
  EXPECT_EQ(headers, (Headers{{"accepT", "c"}}));
}

TEST(retry_after, is_seconds_or_a_date_in_any_of_the_three_forms) {
  EXPECT_EQ(wait_of("7"), 7s);
  EXPECT_EQ(wait_of(" 0 "), 0s);
  EXPECT_EQ(wait_of("Sun, 06 Nov 1994 08:49:37 GMT"), 30s);
  EXPECT_EQ(wait_of("Sun Nov  6 08:49:37 1994"), 30s);
  const WallTime later{kNow + std::chrono::seconds(1'000'000'000)};
  EXPECT_EQ(retry_after(Headers{{"Retry-After", "Wednesday, 15-Jul-26 10:36:17 GMT"}}, later), 30s);
}

TEST(retry_after, is_never_negative_and_at_most_an_hour) {
  EXPECT_EQ(wait_of("Sun, 06 Nov 1994 08:00:00 GMT"), 0s);
  EXPECT_EQ(wait_of("Sun, 06 Nov 2094 08:00:00 GMT"), 1h);
  EXPECT_EQ(wait_of("31536000"), 1h);
  EXPECT_EQ(wait_of("99999999999999999999999"), 1h);
}

TEST(retry_after, may_name_a_year_beyond_the_end_of_our_time) {
  EXPECT_EQ(wait_of("Fri, 31 Dec 9999 23:59:59 GMT"), 1h);
  EXPECT_EQ(wait_of("Mon, 01 Jan 0001 00:00:00 GMT"), 0s);
}

TEST(retry_after, that_cannot_be_read_is_no_answer) {
  EXPECT_EQ(retry_after(Headers{}, kNow), std::nullopt);
  for (const char* text : {"", "-5", "soon", "1.5", "Sun, 31 Feb 1994 08:49:37 GMT",
                           "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
                           "Sun, 06 Nov 1994", "Sun, 06 Now 1994 08:49:37 GMT", ", , , ,"}) {
    EXPECT_EQ(wait_of(text), std::nullopt) << text;
  }
}

TEST(percent, encoding_leaves_only_unreserved_characters_and_decodes_to_the_same) {
  EXPECT_EQ(percent_encode("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_encode("a/b c+ü"), "a%2Fb%20c%2B%C3%BC");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(percent_decode(percent_encode(all)), all);
}

TEST(percent, decoding_refuses_what_two_hexadecimal_digits_do_not_follow) {
  EXPECT_EQ(percent_decode("%2f+%2F"), "/+/");
  for (const char* text : {"%", "%2", "a%zz", "%2g", "%%20"}) {
    EXPECT_EQ(percent_decode(text), std::nullopt) << text;
  }
}

TEST(with_query, encodes_names_and_values) {
  EXPECT_EQ(with_query("/p", {}), "/p");
  EXPECT_EQ(with_query("/p", {{"a", "1"}, {"b", "x y"}, {"c=", ""}}), "/p?a=1&b=x%20y&c%3D=");
}

TEST(parse_target, takes_apart_what_with_query_made) {
  const auto target = parse_target(with_query("/a%2Fb", {{"k", "v+&=?"}, {"k", "last"}}));
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a%2Fb");
  EXPECT_EQ(target->parameters.front().second, "v+&=?");
  EXPECT_EQ(target->parameter("k"), "last");
  EXPECT_EQ(target->parameter("none"), std::nullopt);
}

TEST(parse_target, reads_flags_without_value_and_form_encoded_spaces) {
  const auto target = parse_target("/nodes?watch&labelSelector=a%3Db%2C+c&&x=1=2");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->parameter("watch"), "");
  EXPECT_EQ(target->parameter("labelSelector"), "a=b, c");
  EXPECT_EQ(target->parameter("x"), "1=2");
}

TEST(parse_target, accepts_the_absolute_form) {
  EXPECT_EQ(parse_target("http://host:1/p?a=1")->path, "/p");
  EXPECT_EQ(parse_target("https://host")->path, "/");
  EXPECT_EQ(parse_target("https://host?a=1")->path, "/");
}

TEST(parse_target, names_the_part_it_cannot_decode) {
  const auto bad_value = parse_target("/p?a=%zz");
  ASSERT_EQ(bad_value.outcome(), Outcome::invalid);
  EXPECT_EQ(bad_value.error().message, "query parameter \"a=%zz\": bad percent-encoding");
  EXPECT_EQ(parse_target("/%1").outcome(), Outcome::invalid);
  EXPECT_EQ(parse_target("").outcome(), Outcome::invalid);
  EXPECT_EQ(parse_target("*").outcome(), Outcome::invalid);
}

TEST(is_loopback, is_this_very_machine_and_no_name_that_looks_like_it) {
  for (const char* host : {"localhost", "127.0.0.1", "127.8.9.10", "::1"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"127.example.com", "127.0.0.1.evil.example", "localhost.example",
                           "128.0.0.1", "127", "::2", "127.0.0.1@evil.example", ""}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(without_user_info, hides_what_may_be_a_password) {
  EXPECT_EQ(without_user_info("https://10.0.0.1:6443/x"), "https://10.0.0.1:6443/x");
  EXPECT_EQ(without_user_info("https://me:p@ss/w@host:1/x"), "https://\u2026@host:1/x");
  EXPECT_EQ(without_user_info("me:pw@host"), "\u2026@host");
  EXPECT_EQ(without_user_info("pw@host://x"), "\u2026@host://x");
}

}  // namespace
}  // namespace isthmus::net
