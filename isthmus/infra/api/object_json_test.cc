#include "isthmus/infra/api/object_json.h"

#include <gtest/gtest.h>

#include <chrono>

namespace isthmus::infra::api {
namespace {

using namespace std::chrono_literals;

Metadata some_metadata() {
  return {.owner = "prod.example",
          .name = "web",
          .uid = "u-1",
          .labels = {{"app", "web"}, {"empty", ""}},
          .deletion_protection = true,
          .generation = 3,
          .revision = 42,
          .deletion_requested_at = WallTime(1'767'225'600s + 5us)};
}

template <class Value, class Reader>
Value read_back(const json::value& document, Reader read, std::string& mistakes_text) {
  Mistakes mistakes;
  Value value = read(JsonReader(document, mistakes));
  mistakes_text = mistakes.text();
  return value;
}

TEST(object_json, metadata_is_read_as_it_was_written) {
  std::string mistakes;
  json::value document = to_json(some_metadata());
  EXPECT_EQ(read_back<Metadata>(document, read_metadata, mistakes), some_metadata());
  EXPECT_EQ(mistakes, "");

  Metadata small{.owner = "o", .name = "n", .uid = "u", .generation = 1, .revision = 1};
  document = to_json(small);
  EXPECT_EQ(read_back<Metadata>(document, read_metadata, mistakes), small);
  EXPECT_EQ(mistakes, "");
}

TEST(object_json, metadata_of_a_writer_names_nothing_that_is_the_servers) {
  EXPECT_EQ(compact_json(input_json(some_metadata())),
            R"({"name":"web","labels":{"app":"web","empty":""},"deletionProtection":true})");
}

TEST(object_json, metadata_without_what_makes_it_one_is_wrong) {
  std::string mistakes;
  for (std::string_view key : {"owner", "name", "uid", "generation", "revision"}) {
    json::object document = to_json(some_metadata());
    document.erase(key);
    read_back<Metadata>(json::value(document), read_metadata, mistakes);
    EXPECT_EQ(mistakes, "/" + std::string(key) + ": is required");
  }
  json::object document = to_json(some_metadata());
  document["name"] = "../web";
  document["generation"] = -1;
  read_back<Metadata>(json::value(document), read_metadata, mistakes);
  EXPECT_TRUE(mistakes.contains("/name: ") && mistakes.contains("/generation: ")) << mistakes;
}

TEST(object_json, conditions_are_read_as_they_were_written) {
  std::vector<Condition> conditions = {{.type = "Accepted",
                                        .status = ConditionStatus::is_true,
                                        .reason = "Understood",
                                        .message = "",
                                        .last_transition = WallTime(1'767'225'600s),
                                        .observed_generation = 3},
                                       {.type = "Ready",
                                        .status = ConditionStatus::is_false,
                                        .reason = "AddressInUse",
                                        .message = "somebody answers for 192.0.2.1",
                                        .last_transition = WallTime(1'767'225'601s),
                                        .observed_generation = 2}};
  json::object status{{"conditions", to_json(conditions)}};
  Mistakes mistakes;
  json::value document = status;
  JsonReader reader(document, mistakes);
  EXPECT_EQ(read_conditions(reader), conditions);
  EXPECT_EQ(mistakes.text(), "");
}

TEST(object_json, a_status_nobody_knows_is_unknown) {
  Mistakes mistakes;
  json::value document = {{"conditions", {{{"type", "Ready"}, {"status", "Maybe"}}}}};
  JsonReader reader(document, mistakes);
  std::vector<Condition> conditions = read_conditions(reader);
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_EQ(conditions[0].status, ConditionStatus::unknown);
  EXPECT_EQ(mistakes.text(), "");
}

}  // namespace
}  // namespace isthmus::infra::api
