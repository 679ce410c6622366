#include "isthmus/infra/field_changes.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

std::vector<api::PlannedChange> between(std::string_view from, std::string_view to) {
  return differences(parse_json(from).value(), parse_json(to).value());
}

TEST(field_changes, equal_documents_have_none) {
  EXPECT_TRUE(between(R"({"a": 1, "b": [1, 2]})", R"({"b": [1, 2], "a": 1})").empty());
}

TEST(field_changes, each_differing_field_is_named_by_its_pointer) {
  EXPECT_EQ(between(R"({"spec": {"pool": "a", "ports": [{"port": 80}, {"port": 81}]}})",
                    R"({"spec": {"pool": "b", "ports": [{"port": 80}, {"port": 82}]}})"),
            (std::vector<api::PlannedChange>{{"/spec/pool", R"("a")", R"("b")"},
                                             {"/spec/ports/1/port", "81", "82"}}));
}

TEST(field_changes, what_stands_on_one_side_only_is_one_change) {
  EXPECT_EQ(between(R"({"gone": {"x": [1, 2]}, "list": [1, 2]})", R"({"list": [1], "new": {}})"),
            (std::vector<api::PlannedChange>{
                {"/gone", R"({"x":[1,2]})", ""}, {"/list/1", "2", ""}, {"/new", "", "{}"}}));
}

TEST(field_changes, a_value_of_another_kind_is_one_change) {
  EXPECT_EQ(between(R"({"a": [1]})", R"({"a": {"b": 1}})"),
            (std::vector<api::PlannedChange>{{"/a", "[1]", R"({"b":1})"}}));
}

TEST(field_changes, names_with_slashes_are_escaped) {
  EXPECT_EQ(between("{}", R"({"app.example/a~b": 1})"),
            (std::vector<api::PlannedChange>{{"/app.example~1a~0b", "", "1"}}));
}

}  // namespace
}  // namespace isthmus::infra
