#include "isthmus/infra/api/openapi.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "isthmus/base/json.h"
#include "isthmus/infra/api/object_testing.h"

namespace isthmus::infra::api {
namespace {

using Members = std::set<std::string>;

const json::value& document() {
  static const json::value parsed = parse_json(openapi_json()).value_or(json::value());
  return parsed;
}

// Every member a value of the schema may have, as "/spec/listeners/*/port".
void add_documented(const json::value& schema, const std::string& path, Members& members) {
  const json::object& words = schema.as_object();
  if (auto* reference = words.if_contains("$ref")) {
    json::error_code error;
    std::string_view pointer(reference->as_string());
    const json::value* found = document().find_pointer(pointer.substr(1), error);
    ASSERT_NE(found, nullptr) << pointer;
    add_documented(*found, path, members);
  }
  if (auto* all = words.if_contains("allOf")) {
    for (const json::value& one : all->as_array()) add_documented(one, path, members);
  }
  if (auto* items = words.if_contains("items")) add_documented(*items, path + "/*", members);
  if (auto* properties = words.if_contains("properties")) {
    for (const auto& [key, property] : properties->as_object()) {
      members.insert(path + "/" + std::string(key));
      add_documented(property, path + "/" + std::string(key), members);
    }
  }
}

Members documented(std::string_view schema) {
  Members members;
  const json::value& schemas = document().at("components").at("schemas");
  add_documented(schemas.at(schema), "", members);
  return members;
}

// Labels have free keys.
void add_written(const json::value& value, const std::string& path, Members& members) {
  if (value.is_array()) {
    for (const json::value& element : value.as_array()) add_written(element, path + "/*", members);
  }
  if (!value.is_object() || path.ends_with("/labels")) return;
  for (const auto& [key, member] : value.as_object()) {
    members.insert(path + "/" + std::string(key));
    add_written(member, path + "/" + std::string(key), members);
  }
}

Members written(std::string_view text) {
  Members members;
  Result<json::value> value = parse_json(text);
  EXPECT_TRUE(value) << text;
  if (value) add_written(*value, "", members);
  return members;
}

TEST(openapi, names_what_is_written_of_the_objects_of_an_owner_and_nothing_else) {
  EXPECT_EQ(documented("LoadBalancer"), written(encode(a_load_balancer())));
  EXPECT_EQ(documented("TargetSet"), written(encode(a_target_set())));
  EXPECT_EQ(documented("RouteTable"), written(encode(a_route_table())));
  EXPECT_EQ(documented("Pool"), written(encode(a_pool())));
  EXPECT_EQ(documented("Address"), written(encode(an_address())));
}

TEST(openapi, names_what_is_written_of_lists_and_nothing_else) {
  EXPECT_EQ(documented("LoadBalancerList"),
            written(encode(LoadBalancerList{{a_load_balancer()}, 1, "next", 0})));
  EXPECT_EQ(documented("TargetSetList"),
            written(encode(TargetSetList{{a_target_set()}, 1, "next", 0})));
  EXPECT_EQ(documented("RouteTableList"),
            written(encode(RouteTableList{{a_route_table()}, 1, "next", 0})));
  EXPECT_EQ(documented("AddressList"), written(encode(AddressList{{an_address()}, 1, "next", 0})));
}

// Whatever a client may write may also come back as it was answered.
TEST(openapi, takes_back_what_was_answered) {
  for (std::string kind : {"LoadBalancer", "RouteTable"}) {
    Members answered = documented(kind);
    Members taken = documented(kind + "Input");
    for (const std::string& member : answered) {
      if (!member.starts_with("/status/")) EXPECT_TRUE(taken.contains(member)) << member;
    }
    EXPECT_TRUE(taken.contains("/status"));
  }
}

}  // namespace
}  // namespace isthmus::infra::api
