#include "isthmus/kube/tokens.h"

#include <gtest/gtest.h>

namespace isthmus::kube {
namespace {

using std::chrono::seconds;

class HandClock final : public Clock {
 public:
  Moment now() const override { return now_; }
  WallTime wall_now() const override { return {}; }
  void advance(Duration duration) { now_ += duration; }

 private:
  Moment now_{};
};

class TokensTest : public testing::Test {
 protected:
  void put(std::string_view text) {
    ASSERT_TRUE(files.write("/token", text, FileMode::owner_only).has_value());
  }
  std::string answer(TokenSource& tokens) {
    const Result<Secret> token = tokens.token();
    return token ? token->reveal() : std::string(to_string(token.outcome()));
  }

  MemoryFiles files;
  HandClock clock;
};

TEST_F(TokensTest, without_a_token_answers_an_empty_one) {
  ConfiguredTokens tokens({}, files, clock);

  EXPECT_EQ(answer(tokens), "");
}

TEST_F(TokensTest, a_fixed_token_stays_even_when_rejected) {
  ConfiguredTokens tokens({.token = Secret("fixed")}, files, clock);
  tokens.rejected(Secret("fixed"));

  EXPECT_EQ(answer(tokens), "fixed");
}

TEST_F(TokensTest, a_file_is_read_again_after_a_minute) {
  put("first\n");
  ConfiguredTokens tokens({.token_file = "/token"}, files, clock);
  EXPECT_EQ(answer(tokens), "first");

  put("second\n");
  clock.advance(seconds(59));
  EXPECT_EQ(answer(tokens), "first");
  clock.advance(seconds(1));
  EXPECT_EQ(answer(tokens), "second");
}

TEST_F(TokensTest, a_rejected_token_is_read_again_at_once) {
  put("first");
  ConfiguredTokens tokens({.token_file = "/token"}, files, clock);
  EXPECT_EQ(answer(tokens), "first");

  put("second");
  tokens.rejected(Secret("first"));
  EXPECT_EQ(answer(tokens), "second");
}

TEST_F(TokensTest, a_late_refusal_of_the_token_before_leaves_the_new_one) {
  put("second");
  ConfiguredTokens tokens({.token_file = "/token"}, files, clock);
  EXPECT_EQ(answer(tokens), "second");

  files.break_path("/token", Outcome::denied);
  tokens.rejected(Secret("first"));
  EXPECT_EQ(answer(tokens), "second");
}

TEST_F(TokensTest, an_unreadable_file_leaves_the_last_token_in_use) {
  put("first");
  ConfiguredTokens tokens({.token_file = "/token"}, files, clock);
  EXPECT_EQ(answer(tokens), "first");

  files.break_path("/token", Outcome::absent);
  clock.advance(seconds(61));
  EXPECT_EQ(answer(tokens), "first");

  files.break_path("/token", Outcome::ok);
  put("second");
  clock.advance(seconds(61));
  EXPECT_EQ(answer(tokens), "second");
}

TEST_F(TokensTest, a_missing_file_is_denied_and_never_absent) {
  ConfiguredTokens tokens({.token_file = "/token"}, files, clock);

  const Result<Secret> token = tokens.token();

  EXPECT_EQ(token.outcome(), Outcome::denied);
  EXPECT_EQ(token.error().message, "no token: /token: no such file");
}

TEST_F(TokensTest, a_rejected_token_is_not_sent_again_while_the_file_is_unreadable) {
  put("first");
  ConfiguredTokens tokens({.token_file = "/token"}, files, clock);
  EXPECT_EQ(answer(tokens), "first");

  files.break_path("/token", Outcome::denied);
  tokens.rejected(Secret("first"));
  EXPECT_EQ(answer(tokens), "denied");

  files.break_path("/token", Outcome::ok);
  EXPECT_EQ(answer(tokens), "first");
}

TEST_F(TokensTest, the_file_counts_before_the_fixed_token) {
  put("from-file");
  ConfiguredTokens tokens({.token = Secret("fixed"), .token_file = "/token"}, files, clock);

  EXPECT_EQ(answer(tokens), "from-file");
}

TEST_F(TokensTest, a_token_that_no_header_can_carry_is_refused_without_quoting_it) {
  for (const std::string& text :
       std::initializer_list<std::string>{"", " \n", "a b", "a\nX-Evil: 1", std::string("a\0b", 3),
                                          "tök\xc3\xa9n", std::string(70'000, 'a')}) {
    put(text);
    const Result<Secret> token = read_token_file(files, "/token");
    ASSERT_EQ(token.outcome(), Outcome::invalid);
    EXPECT_EQ(token.error().message.find("Evil"), std::string::npos);
    EXPECT_TRUE(token.error().message.starts_with("/token: ")) << token.error().message;
  }
}

}  // namespace
}  // namespace isthmus::kube
