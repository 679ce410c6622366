#include "isthmus/providers/infra/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::providers::infra {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<Config> parsed(std::string_view yaml) {
  Mistakes mistakes;
  Config config = parse_config(yaml, "/c", mistakes);
  TRY(mistakes.result());
  return config;
}

std::string mistakes_in(std::string_view yaml) {
  const Result<Config> config = parsed(yaml);
  EXPECT_EQ(config.outcome(), Outcome::invalid);
  return config ? "" : config.error().message;
}

TEST(config, reads_all_it_can_say) {
  const Result<Config> config =
      parsed("url: https://lb1.example:10280\ncaFile: /ca.crt\ntokenFile: /token\nowner: prod\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(*config,
            (Config{"https://lb1.example:10280", "/ca.crt", "/token", "prod", 1, 2, 3, 4}));
}

TEST(config, refuses_an_owner_that_is_no_name) {
  EXPECT_THAT(mistakes_in("url: unix:///x\nowner: a/b\n"),
              HasSubstr("/c: line 2: owner: expected"));
}

TEST(config, answers_what_could_be_read_beside_a_mistake) {
  Mistakes mistakes;
  const Config config =
      parse_config("url: unix:///x\nowner: a/b\ncaFile: 7\ntokenFile: /token\n", "/c", mistakes);
  EXPECT_EQ(mistakes.count(), 2U);
  EXPECT_EQ(config.token_file, "/token");
  EXPECT_EQ(config.ca_file, "");
}

TEST(config, takes_a_unix_socket_alone) {
  EXPECT_TRUE(parsed("url: unix:///run/isthmus/infra.sock"));
}

TEST(config, tells_all_mistakes_together_with_their_lines) {
  const std::string text = mistakes_in("url: ftp://x\ntokenfile: /token\ncaFile: [a]\n");
  EXPECT_THAT(text, HasSubstr("line 1: url: \"ftp://x\" is neither"));
  EXPECT_THAT(text, HasSubstr("line 2: \"tokenfile\" is not one of url, caFile, tokenFile, owner"));
  EXPECT_THAT(text, HasSubstr("line 3: caFile: expected a text"));
}

TEST(config, names_file_and_line_with_every_mistake) {
  EXPECT_EQ(mistakes_in("url: unix:///x\nurl: ftp://x\ncaFile: /ca.crt\ntokenFile: 7\n"),
            "/c: line 2: url is there twice, first in line 1\n"
            "/c: line 4: tokenFile: expected a text, found a number: write it in quotes\n"
            "/c: line 3: caFile: only makes sense with an https url");
  EXPECT_THAT(mistakes_in("url: ftp://x\nurl: unix:///x"), HasSubstr("/c: line 1: url: \"ftp"));
  EXPECT_THAT(mistakes_in("url: [\n"), testing::StartsWith("/c: line "));
  EXPECT_THAT(mistakes_in("caFile: /ca"), HasSubstr("/c: url is missing"));
}

TEST(config, takes_what_yaml_takes_for_something_else_only_in_quotes) {
  EXPECT_THAT(mistakes_in("url: unix:///x\ntokenFile: yes"), HasSubstr("found a truth value"));
  EXPECT_EQ(parsed("url: unix:///x\ntokenFile: \"7\"")->token_file, "7");
  EXPECT_THAT(mistakes_in("url: \"unix:///a\\0b\""), HasSubstr("url: must not hold a NUL"));
}

TEST(config, reads_a_unix_socket_as_the_backend_writes_it) {
  EXPECT_EQ(parsed("url: unix:/run/infra.sock")->url, "unix:///run/infra.sock");
  EXPECT_THAT(mistakes_in("url: unix:run/infra.sock"), HasSubstr("is neither"));
}

TEST(config, refuses_to_send_a_token_in_the_open) {
  EXPECT_THAT(mistakes_in("url: http://10.0.0.1:10280"), HasSubstr("in the open"));
  EXPECT_TRUE(parsed("url: http://127.0.0.1:10280"));
  EXPECT_TRUE(parsed("url: http://[::1]:10280"));
  EXPECT_TRUE(parsed("url: http://localhost:10280"));
  EXPECT_TRUE(parsed("url: http://127.0.0.1/prefix"));
  EXPECT_THAT(mistakes_in("url: http://127.example.com:10280"), HasSubstr("in the open"));
  EXPECT_THAT(mistakes_in("url: http://[::1].example.com"), HasSubstr("in the open"));
  EXPECT_THAT(mistakes_in("url: http://127.0.0.1@example.com"), HasSubstr("in the open"));
}

TEST(config, never_shows_a_password_that_stands_in_a_url) {
  EXPECT_THAT(mistakes_in("url: ftp://me:pass@host"), Not(HasSubstr("pass")));
}

TEST(config, that_is_not_a_configuration_at_all_is_refused) {
  EXPECT_THAT(mistakes_in(""), HasSubstr("expected keys and values"));
  EXPECT_THAT(mistakes_in("- a\n"), HasSubstr("expected keys and values"));
  EXPECT_THAT(mistakes_in("url: [\n"), HasSubstr("line "));
  EXPECT_THAT(mistakes_in("caFile: /ca.crt"), HasSubstr("url is missing"));
  EXPECT_THAT(mistakes_in("url: unix:///a\nurl: unix:///b"), HasSubstr("url is there twice"));
  EXPECT_THAT(mistakes_in("url: unix://run/x"), HasSubstr("third slash"));
  EXPECT_THAT(mistakes_in("url: unix:///a\ncaFile: /ca.crt"), HasSubstr("only makes sense"));
}

}  // namespace
}  // namespace isthmus::providers::infra
