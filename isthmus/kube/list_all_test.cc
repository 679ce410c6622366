#include "isthmus/kube/list_all.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::kube {
namespace {

using testing::FakeApi;
using testing::Verb;

struct list_all_test : ::testing::Test {
  list_all_test() {
    for (const char* name : {"n1", "n2", "n3", "n4", "n5"}) {
      api.put(Node::resource, R"({"metadata": {"name": ")" + std::string(name) + R"("}})");
    }
    api.page_max = 2;
  }
  Result<std::vector<Decoded<Node>>> all(ObjectKey only = {}) {
    return world.run(list_all<Node>(api, {}, std::move(only)));
  }
  VirtualWorld world;
  FakeApi api{world.loop};
};

TEST_F(list_all_test, reads_every_page) {
  const auto nodes = all();
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 5U);
  EXPECT_EQ(nodes->back().key.name, "n5");
  EXPECT_EQ(api.calls(Verb::list), 3U);
}

TEST_F(list_all_test, of_one_name_answers_that_one) {
  const auto one = all({.name = "n3"});
  ASSERT_TRUE(one);
  ASSERT_EQ(one->size(), 1U);
  EXPECT_EQ(one->front().key.name, "n3");
}

TEST_F(list_all_test, begins_anew_when_the_server_has_forgotten_the_version) {
  api.on_call = [&](Verb, const ObjectName&) {
    if (api.calls(Verb::list) != 2) return;
    api.put(Node::resource, R"({"metadata": {"name": "n6"}})");
    api.compact();
  };
  const auto nodes = all();
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ(nodes->size(), 6U);
}

TEST_F(list_all_test, gives_up_on_a_server_that_forgets_at_once) {
  api.on_call = [&](Verb, const ObjectName&) {
    api.put(Node::resource, R"({"metadata": {"name": "n6"}})");
    api.compact();
  };
  EXPECT_EQ(all().outcome(), Outcome::conflict);
  EXPECT_LE(api.calls(Verb::list), 2U * kListTriesMax);
}

TEST_F(list_all_test, answers_errors_as_they_are) {
  api.inject({.verb = Verb::list, .error = {Outcome::denied, "nodes is forbidden"}});
  EXPECT_EQ(all().outcome(), Outcome::denied);
}

}  // namespace
}  // namespace isthmus::kube
