#include "isthmus/cloud/imagination.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

// A thing whose version counts its real changes.
struct Lamp {
  std::string name;
  int version = 0;
  bool is_on = false;
  friend bool operator==(const Lamp&, const Lamp&) = default;
};

struct imagination : testing::Test {
  Imagination<Lamp> lamps{[](const Lamp& a, const Lamp& b) { return a.version == b.version; }};
  std::vector<Lamp> over(std::vector<Lamp> real) {
    return lamps.look_over(std::move(real), [](const Lamp& lamp) { return lamp.name; });
  }
  const Lamp off{"a", 1, false};
  const Lamp on{"a", 1, true};
};

TEST_F(imagination, shows_what_is_real_of_what_nobody_imagined) {
  EXPECT_EQ(lamps.look("a", off), off);
  EXPECT_EQ(lamps.look("a", std::nullopt), std::nullopt);
  EXPECT_EQ(over({off}), std::vector{off});
}

TEST_F(imagination, shows_what_was_imagined_until_the_real_one_changes) {
  lamps.imagine("a", off, on, "switch on");
  EXPECT_EQ(lamps.look("a", off), on);
  const Lamp changed{"a", 2, false};
  EXPECT_EQ(lamps.look("a", changed), changed);
  EXPECT_EQ(lamps.look("a", off), off) << "once refuted, it is over";
}

TEST_F(imagination, a_thing_imagined_gone_is_gone_until_it_changes) {
  lamps.imagine("a", off, std::nullopt, "break");
  EXPECT_EQ(lamps.look("a", off), std::nullopt);
  EXPECT_TRUE(over({off}).empty());
  EXPECT_EQ(over({{"a", 2, false}}), (std::vector<Lamp>{{"a", 2, false}}));
}

TEST_F(imagination, a_thing_imagined_new_is_there_until_somebody_makes_it) {
  lamps.imagine("a", std::nullopt, on, "make");
  EXPECT_EQ(lamps.look("a", std::nullopt), on);
  const Lamp other{"b", 5, false};
  EXPECT_EQ(over({other}), (std::vector{other, on}));
  EXPECT_EQ(lamps.look("a", off), off);
  EXPECT_EQ(over({other}), std::vector{other});
}

TEST_F(imagination, a_wish_is_news_once) {
  EXPECT_TRUE(lamps.imagine("a", off, on, "switch on"));
  EXPECT_FALSE(lamps.imagine("a", off, on, "switch on"));
  lamps.look("a", Lamp{"a", 2, false});
  EXPECT_FALSE(lamps.imagine("a", Lamp{"a", 2, false}, on, "switch on")) << "it changed, and still";
  EXPECT_TRUE(lamps.imagine("a", off, std::nullopt, "break"));
  EXPECT_TRUE(lamps.imagine("a", off, on, "switch on")) << "and back";
  lamps.forget("a");
  EXPECT_TRUE(lamps.imagine("a", off, on, "switch on")) << "it was fulfilled in between";
}

TEST_F(imagination, has_a_limit) {
  for (std::size_t i = 0; i <= kImaginedMax; ++i) {
    lamps.imagine(std::to_string(i), std::nullopt, on, "make");
  }
  EXPECT_LE(over({}).size(), kImaginedMax);
  EXPECT_EQ(lamps.look(std::to_string(kImaginedMax), std::nullopt), on);
}

}  // namespace
}  // namespace isthmus::cloud
