#include "isthmus/kube/apply_patch.h"

#include <gtest/gtest.h>

namespace isthmus::kube {
namespace {

std::string patched(std::string_view object, PatchType type, std::string_view patch) {
  Result<json::object> result = apply_patch(parse_json(object)->as_object(), type, patch);
  return result ? compact_json(*result) : std::string(to_string(result.outcome()));
}

TEST(apply_patch, merge_replaces_lists_and_removes_by_null) {
  EXPECT_EQ(
      patched(R"({"a":{"b":1,"c":[1,2]},"d":3})", PatchType::merge, R"({"a":{"c":[3]},"d":null})"),
      R"({"a":{"b":1,"c":[3]}})");
}

TEST(apply_patch, strategic_merge_merges_conditions_by_type_and_finalizers_as_a_set) {
  EXPECT_EQ(patched(R"({"conditions":[{"type":"A","s":1},{"type":"B","s":1}],"finalizers":["x"]})",
                    PatchType::strategic_merge,
                    R"({"conditions":[{"type":"B","s":2}],"finalizers":["y","x"]})"),
            R"({"conditions":[{"type":"A","s":1},{"type":"B","s":2}],"finalizers":["x","y"]})");
}

TEST(apply_patch, strategic_merge_deletes_from_a_set_and_leaves_others) {
  EXPECT_EQ(patched(R"({"finalizers":["x","y"]})", PatchType::strategic_merge,
                    R"({"$deleteFromPrimitiveList/finalizers":["x"]})"),
            R"({"finalizers":["y"]})");
}

TEST(apply_patch, strategic_merge_replaces_a_list_when_told_and_an_atomic_one_always) {
  EXPECT_EQ(patched(R"({"addresses":[{"type":"A","a":"1"}],"taints":[{"key":"k"}]})",
                    PatchType::strategic_merge,
                    R"({"addresses":[{"$patch":"replace"},{"type":"B","a":"2"}],"taints":[]})"),
            R"({"addresses":[{"type":"B","a":"2"}],"taints":[]})");
}

TEST(apply_patch, json_patch_tests_before_it_changes) {
  constexpr std::string_view kObject = R"({"l":[1,2],"m":{"a/b":"x"}})";
  EXPECT_EQ(patched(kObject, PatchType::json,
                    R"([{"op":"test","path":"/l/0","value":1},{"op":"remove","path":"/l/0"},
                        {"op":"replace","path":"/m/a~1b","value":"y"},
                        {"op":"add","path":"/l/-","value":3}])"),
            R"({"l":[2,3],"m":{"a/b":"y"}})");
  EXPECT_EQ(patched(kObject, PatchType::json, R"([{"op":"test","path":"/l/0","value":7}])"),
            "invalid");
  EXPECT_EQ(patched(kObject, PatchType::json, R"([{"op":"remove","path":"/nothing"}])"), "invalid");
}

TEST(apply_patch, calls_a_body_of_another_kind_no_such_patch) {
  EXPECT_EQ(patched("{}", PatchType::json, R"({"op":"add"})"), "invalid");
  EXPECT_EQ(patched("{}", PatchType::json, R"([{"op":"add"}])"), "invalid");
  EXPECT_EQ(patched("{}", PatchType::merge, "[]"), "invalid");
  EXPECT_EQ(
      patched(R"({"a":{}})", PatchType::strategic_merge, R"({"$deleteFromPrimitiveList/a":["x"]})"),
      "invalid");
}

}  // namespace
}  // namespace isthmus::kube
