#include "isthmus/controllers/teller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/diary_testing.h"

namespace isthmus::controllers {
namespace {

using ::testing::ElementsAre;

struct teller : ::testing::Test {
  void tell(std::vector<Notice> notices, std::string uid = "u") {
    words.tell({.key = {"", "n"}, .uid = std::move(uid)}, notices);
  }
  testing::Diary diary;
  Teller words{diary};
};

TEST_F(teller, says_a_thing_once_while_it_stays_so) {
  for (int i = 0; i < 3; ++i) tell({{true, "Bad", "it is bad"}});
  EXPECT_THAT(diary.lines, ElementsAre("Warning Bad n: it is bad"));
}

TEST_F(teller, says_it_again_when_it_comes_back) {
  tell({{true, "Bad", "it is bad"}});
  tell({});
  tell({{true, "Bad", "it is bad"}});
  EXPECT_EQ(diary.lines.size(), 2U);
}

TEST_F(teller, says_what_is_new_beside_what_stays) {
  tell({{true, "Bad", "it is bad"}});
  tell({{true, "Bad", "it is bad"}, {false, "Odd", "it is odd"}});
  EXPECT_THAT(diary.lines, ElementsAre("Warning Bad n: it is bad", "Normal Odd n: it is odd"));
}

TEST_F(teller, takes_different_words_for_the_same_when_told_so) {
  tell({{true, "Bad", "request 1 failed", "failed"}});
  tell({{true, "Bad", "request 2 failed", "failed"}});
  EXPECT_EQ(diary.lines.size(), 1U);
}

TEST_F(teller, does_not_take_a_namesake_for_the_same_object) {
  tell({{true, "Bad", "it is bad"}}, "u1");
  tell({{true, "Bad", "it is bad"}}, "u2");
  words.forget({"", "n"});
  tell({{true, "Bad", "it is bad"}}, "u2");
  EXPECT_EQ(diary.lines.size(), 3U);
}

}  // namespace
}  // namespace isthmus::controllers
