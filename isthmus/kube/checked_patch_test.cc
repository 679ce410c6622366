#include "isthmus/kube/checked_patch.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::kube {
namespace {

using testing::FakeApi;
using testing::Verb;

constexpr std::string_view kNode =
    R"({"metadata": {"name": "n1"}, "spec": {"podCIDR": "10.0.0.0/24"}})";
const ObjectName kName{Node::resource, {"", "n1"}};

class CheckedPatchTest : public ::testing::Test {
 protected:
  CheckedPatchTest() { api.put(Node::resource, kNode); }

  Node seen() {
    std::string text = compact_json(api.see(Node::resource, kName.key));
    return *Decoder().object<Node>(text);
  }
  void recreate() {
    api.erase(Node::resource, kName.key);
    api.put(Node::resource, kNode);
  }
  Outcome send(Patch patch) {
    Result<std::string> answer = world.run(checked_patch(api, {kName, {}, std::move(patch)}));
    return answer.outcome();
  }

  VirtualWorld world;
  FakeApi api{world.loop};
};

TEST_F(CheckedPatchTest, passes_on_what_succeeds_in_one_call) {
  EXPECT_EQ(send(*node_patch(seen(), {.labels = {{"rack", "7"}}})), Outcome::ok);
  EXPECT_EQ(api.calls(Verb::get), 0u);
}

TEST_F(CheckedPatchTest, says_conflict_when_the_node_was_deleted_and_created_again) {
  const Patch patch = node_addresses_patch(same_object(seen().meta), {{"InternalIP", "10.0.0.1"}});
  recreate();
  ASSERT_EQ(world.run(api.patch({kName, "status", patch})).outcome(), Outcome::invalid);
  EXPECT_EQ(send(patch), Outcome::conflict);
}

TEST_F(CheckedPatchTest, says_absent_when_the_node_is_gone) {
  const Patch patch = node_addresses_patch(same_object(seen().meta), {});
  recreate();
  api.on_call = [this](Verb verb, const ObjectName&) {
    if (verb == Verb::get) api.erase(Node::resource, kName.key);
  };
  EXPECT_EQ(send(patch), Outcome::absent);
}

TEST_F(CheckedPatchTest, says_conflict_when_a_tested_field_has_moved) {
  const Patch patch{PatchType::json,
                    {},
                    R"([{"op": "test", "path": "/spec/podCIDR", "value": "10.9.0.0/24"},
                        {"op": "add", "path": "/spec/providerID", "value": "x"}])"};
  EXPECT_EQ(send(patch), Outcome::conflict);
}

TEST_F(CheckedPatchTest, says_conflict_when_a_tested_field_is_gone) {
  const Patch patch{
      PatchType::json, {}, R"([{"op": "test", "path": "/spec/taints/0/key", "value": "k"}])"};
  EXPECT_EQ(send(patch), Outcome::conflict);
}

TEST_F(CheckedPatchTest, says_invalid_when_all_that_the_patch_expects_still_holds) {
  api.inject({.verb = Verb::patch, .error = {Outcome::invalid, "spec.providerID: Forbidden"}});
  EXPECT_EQ(send(*node_patch(seen(), {.labels = {{"rack", "7"}}})), Outcome::invalid);
  EXPECT_EQ(api.calls(Verb::get), 1u);
}

TEST_F(CheckedPatchTest, says_invalid_at_once_of_a_patch_that_expects_nothing) {
  api.inject({.verb = Verb::patch, .error = {Outcome::invalid, "no"}});
  EXPECT_EQ(send({PatchType::merge, {}, "{}"}), Outcome::invalid);
  EXPECT_EQ(api.calls(Verb::get), 0u);
}

TEST_F(CheckedPatchTest, knows_nothing_when_the_live_object_cannot_be_read) {
  api.inject({.verb = Verb::patch, .error = {Outcome::invalid, "no"}});
  api.inject({.verb = Verb::get, .error = {Outcome::lost, "cut"}});
  EXPECT_EQ(send(*node_patch(seen(), {.labels = {{"rack", "7"}}})), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::kube
