#include "isthmus/kube/testing/fake_api.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::kube::testing {
namespace {

using namespace std::chrono_literals;

// What a real kube-apiserver answers in the same cases; tests/kube_real asks one.
class FakeApiTest : public ::testing::Test {
 protected:
  FakeApiTest() { version = api.put(Node::resource, R"({"metadata": {"name": "n1"}})"); }

  std::string uid() const {
    return std::string(api.see(Node::resource, {"", "n1"}).at_pointer("/metadata/uid").as_string());
  }
  Outcome patch(std::string body, PatchType type = PatchType::merge) {
    return world.run(api.patch({name, {}, {type, {}, std::move(body)}})).outcome();
  }

  VirtualWorld world;
  FakeApi api{world.loop};
  const ObjectName name{Node::resource, {"", "n1"}};
  std::string version;
};

TEST_F(FakeApiTest, answers_a_stale_version_with_conflict_whatever_the_uid) {
  api.put(Node::resource, R"({"metadata": {"name": "n1", "labels": {"a": "b"}}})");
  EXPECT_EQ(patch(R"({"metadata": {"resourceVersion": ")" + version + R"("}})"), Outcome::conflict);
  EXPECT_EQ(patch(R"({"metadata": {"uid": "x", "resourceVersion": ")" + version + R"("}})"),
            Outcome::conflict);
}

TEST_F(FakeApiTest, answers_another_uid_or_a_failed_test_with_invalid) {
  EXPECT_EQ(patch(R"({"metadata": {"uid": "x"}})"), Outcome::invalid);
  EXPECT_EQ(patch(R"([{"op": "test", "path": "/metadata/name", "value": "x"}])", PatchType::json),
            Outcome::invalid);
}

TEST_F(FakeApiTest, deletes_only_the_uid_that_was_meant) {
  EXPECT_EQ(world.run(api.remove({name, {"x", ""}})).outcome(), Outcome::conflict);
  EXPECT_TRUE(world.run(api.remove({name, {uid(), ""}})));
  EXPECT_EQ(world.run(api.get(name)).outcome(), Outcome::absent);
}

TEST_F(FakeApiTest, keeps_what_is_deleted_until_its_finalizers_are_gone) {
  EXPECT_EQ(patch(R"({"metadata": {"finalizers": ["f"]}})"), Outcome::ok);
  EXPECT_TRUE(world.run(api.remove({name, {uid(), ""}})));
  EXPECT_TRUE(world.run(api.get(name)));
  EXPECT_EQ(patch(R"({"metadata": {"finalizers": null}})"), Outcome::ok);
  EXPECT_EQ(world.run(api.get(name)).outcome(), Outcome::absent);
}

TEST_F(FakeApiTest, keeps_status_and_the_rest_apart) {
  EXPECT_EQ(patch(R"({"spec": {"a": 1}})"), Outcome::ok);
  Result<std::string> answer = world.run(
      api.patch({name, "status", {PatchType::merge, {}, R"({"spec":{"a":9},"status":{"b":3}})"}}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(patch(R"({"status": {"b": 7}})"), Outcome::ok);
  const json::value node = api.see(Node::resource, name.key);
  EXPECT_EQ(node.at_pointer("/spec/a"), 1);
  EXPECT_EQ(node.at_pointer("/status/b"), 3);
}

TEST_F(FakeApiTest, gives_no_new_version_to_a_patch_that_changes_nothing) {
  EXPECT_EQ(patch("{}"), Outcome::ok);
  EXPECT_EQ(api.version(), version);
}

TEST_F(FakeApiTest, creates_a_name_once) {
  const CreateRequest request{name, R"({"metadata": {"name": "n1"}})"};
  EXPECT_EQ(world.run(api.create(request)).outcome(), Outcome::conflict);
}

TEST_F(FakeApiTest, does_what_it_was_asked_although_the_answer_is_lost) {
  api.inject({.verb = Verb::patch, .error = {Outcome::lost, "reset"}, .after_effect = true});
  EXPECT_EQ(patch(R"({"metadata": {"labels": {"a": "b"}}})"), Outcome::lost);
  EXPECT_EQ(api.see(Node::resource, name.key).at_pointer("/metadata/labels/a"), "b");
}

}  // namespace
}  // namespace isthmus::kube::testing
