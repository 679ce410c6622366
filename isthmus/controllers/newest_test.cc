#include "isthmus/controllers/newest.h"

#include <memory>

#include <gtest/gtest.h>

#include "isthmus/kube/api/node.h"

namespace isthmus::controllers {
namespace {

struct newest : testing::Test {
  static kube::Snapshot<kube::Node> version(std::string text) {
    return std::make_shared<const kube::Node>(
        kube::Node{.meta = {.key = {"", "n"}, .uid = "u", .resource_version = std::move(text)}});
  }
  void show(const std::string& text) {
    nodes.apply({kube::ChangeKind::modified, {{"", "n"}, "u", text, *version(text)}});
  }
  std::string found() {
    const auto node = known.find({"", "n"});
    return node ? node->meta.resource_version : "(none)";
  }
  void learn(const std::string& older, const std::string& newer) {
    known.learn(*version(older), version(newer));
  }

  kube::Store<kube::Node> nodes;
  Newest<kube::Node> known{nodes};
};

TEST_F(newest, shows_what_the_store_shows_when_nothing_better_is_known) {
  EXPECT_EQ(found(), "(none)");
  show("1");
  EXPECT_EQ(found(), "1");
}

TEST_F(newest, shows_our_own_writes_until_the_store_has_caught_up) {
  show("1");
  learn("1", "2");
  EXPECT_EQ(found(), "2");
  learn("2", "3");
  EXPECT_EQ(found(), "3");
  show("2");
  EXPECT_EQ(found(), "3");
  show("3");
  EXPECT_EQ(found(), "3");
  EXPECT_EQ(known.ahead(), 0U);
}

TEST_F(newest, believes_the_store_about_a_version_it_has_never_seen) {
  show("1");
  learn("1", "2");
  show("7");
  EXPECT_EQ(found(), "7");
  EXPECT_EQ(known.ahead(), 0U);
}

TEST_F(newest, believes_the_store_that_an_object_is_gone) {
  show("1");
  learn("1", "2");
  nodes.apply({kube::ChangeKind::deleted, {{"", "n"}, "u", "3", {}}});
  EXPECT_EQ(found(), "(none)");
  EXPECT_EQ(known.ahead(), 0U);
}

TEST_F(newest, remembers_nothing_that_the_store_shows_already) {
  show("2");
  learn("1", "2");
  learn("2", "2");
  EXPECT_EQ(known.ahead(), 0U);
  EXPECT_EQ(found(), "2");
}

}  // namespace
}  // namespace isthmus::controllers
