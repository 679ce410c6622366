#include "isthmus/providers/infra/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::providers::infra {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string mistakes_in(std::string_view yaml) {
  const Result<Config> config = parse_config(yaml);
  EXPECT_EQ(config.outcome(), Outcome::invalid);
  return config ? "" : config.error().message;
}

TEST(config, reads_all_it_can_say) {
  const Result<Config> config =
      parse_config("url: https://lb1.example:10280\ncaFile: /ca.crt\ntokenFile: /token\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(*config, (Config{"https://lb1.example:10280", "/ca.crt", "/token"}));
}

TEST(config, takes_a_unix_socket_alone) {
  EXPECT_TRUE(parse_config("url: unix:///run/isthmus/infra.sock"));
}

TEST(config, tells_all_mistakes_together_with_their_lines) {
  const std::string text = mistakes_in("url: ftp://x\ntokenfile: /token\ncaFile: [a]\n");
  EXPECT_THAT(text, HasSubstr("line 1: url: \"ftp://x\" is neither"));
  EXPECT_THAT(text, HasSubstr("line 2: \"tokenfile\" is not one of url, caFile, tokenFile"));
  EXPECT_THAT(text, HasSubstr("line 3: caFile: expected a text"));
}

TEST(config, refuses_to_send_a_token_in_the_open) {
  EXPECT_THAT(mistakes_in("url: http://10.0.0.1:10280"), HasSubstr("in the open"));
  EXPECT_TRUE(parse_config("url: http://127.0.0.1:10280"));
  EXPECT_TRUE(parse_config("url: http://[::1]:10280"));
  EXPECT_TRUE(parse_config("url: http://localhost:10280"));
  EXPECT_TRUE(parse_config("url: http://127.0.0.1/prefix"));
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
