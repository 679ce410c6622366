#include "isthmus/base/json.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string parse_error(std::string_view text, const JsonLimits& limits = {}) {
  const Result<json::value> parsed = parse_json(text, limits);
  EXPECT_EQ(parsed.outcome(), Outcome::invalid) << text;
  return parsed ? "" : parsed.error().message;
}

TEST(json_parsing, reads_a_document) {
  const Result<json::value> parsed = parse_json(" {\"a\": [1, \"x\", null]} \n");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(compact_json(*parsed), R"({"a":[1,"x",null]})");
}

TEST(json_parsing, says_where_the_mistake_is) {
  EXPECT_THAT(parse_error("{\n  \"a\": 1,\n  \"b\": tru\n}"), StartsWith("line 3, column "));
  EXPECT_THAT(parse_error("{\"a\": 1,}"), StartsWith("line 1, column 9: "));
  EXPECT_THAT(parse_error("<html>"), StartsWith("line 1, column 1: "));
}

TEST(json_parsing, refuses_what_is_cut_off_or_goes_on) {
  EXPECT_THAT(parse_error(""), HasSubstr("line 1, column 1: "));
  EXPECT_THAT(parse_error("{\"a\": [1, 2"), StartsWith("line 1, column 12: "));
  EXPECT_EQ(parse_error("{}\n {}"), "line 2, column 2: more after the end of the document");
  EXPECT_THAT(parse_error("\"\xff\""), HasSubstr("line 1"));
}

TEST(json_parsing, keeps_to_its_limits) {
  EXPECT_EQ(parse_error("[1,2,3]", {.bytes_max = 6}), "the document has 7 bytes, 6 are allowed");
  EXPECT_EQ(parse_error("[[[1]]]", {.depth_max = 2}),
            "line 1, column 3: nested deeper than 2 levels");
  EXPECT_TRUE(parse_json("[[1]]", {.depth_max = 2}));
  EXPECT_THAT(parse_error(std::string(100'000, '[')), HasSubstr("nested deeper than 32 levels"));
}

TEST(json_parsing, of_a_key_that_is_given_twice_the_last_value_counts) {
  const Result<json::value> parsed = parse_json(R"({"a": 1, "a": 2})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(compact_json(*parsed), R"({"a":2})");
}

class JsonReading : public testing::Test {
 protected:
  JsonReader read(std::string_view text) {
    Result<json::value> parsed = parse_json(text);
    EXPECT_TRUE(parsed);
    document_ = *std::move(parsed);
    return JsonReader(document_, mistakes);
  }

  Mistakes mistakes;

 private:
  json::value document_;
};

TEST_F(JsonReading, gives_what_is_there) {
  JsonReader doc = read(R"({"name": "lb", "port": 80, "ratio": 0.5, "on": true, "wait": "1m30s",
                            "kind": "tcp", "token": "s3cret", "tags": ["a", "b"],
                            "labels": {"z": "1", "a": "2"}, "nothing": null})");
  EXPECT_EQ(doc.required("name").text(), "lb");
  EXPECT_EQ(doc.required("port").integer(1, 65535), 80);
  EXPECT_EQ(doc.required("ratio").number(), 0.5);
  EXPECT_TRUE(doc.required("on").boolean());
  EXPECT_EQ(doc.required("wait").duration(), 90s);
  EXPECT_EQ(doc.required("kind").choice({"tcp", "udp"}), "tcp");
  EXPECT_EQ(doc.required("token").secret().reveal(), "s3cret");
  std::vector<std::string> tags;
  for (JsonReader tag : doc.required("tags").elements(10)) tags.push_back(tag.text());
  EXPECT_THAT(tags, ElementsAre("a", "b"));
  std::vector<std::string> labels;
  for (auto& [key, value] : doc.required("labels").members(10)) {
    labels.push_back(key + "=" + value.text());
  }
  EXPECT_THAT(labels, ElementsAre("z=1", "a=2"));
  EXPECT_FALSE(doc.optional("nothing"));
  EXPECT_FALSE(doc.optional("missing"));
  doc.no_other_fields();
  EXPECT_THAT(mistakes.list(), IsEmpty());
}

TEST_F(JsonReading, reports_every_mistake_with_its_pointer) {
  JsonReader doc = read(R"({"spec": {"ports": [{"port": "x"}, {"port": 0}, {}, 7],
                                     "kind": "sctp", "a/b~c": 1}})");
  JsonReader spec = doc.required("spec");
  for (JsonReader port : spec.required("ports").elements(10)) {
    port.required("port").integer(1, 65535);
  }
  spec.required("kind").choice({"tcp", "udp"});
  spec.required("name").text();
  spec.required("a/b~c").boolean();
  EXPECT_THAT(
      mistakes.list(),
      ElementsAre("/spec/ports/0/port: expected a whole number from 1 to 65535, found \"x\"",
                  "/spec/ports/1/port: expected a whole number from 1 to 65535, found 0",
                  "/spec/ports/2/port: is required", "/spec/ports/3: expected an object, found 7",
                  "/spec/kind: expected one of \"tcp\", \"udp\", found \"sctp\"",
                  "/spec/name: is required", "/spec/a~1b~0c: expected true or false, found 1"));
}

TEST_F(JsonReading, a_missing_value_is_reported_once_however_much_is_read_of_it) {
  JsonReader doc = read("{}");
  JsonReader spec = doc.required("spec");
  EXPECT_TRUE(spec.missing());
  EXPECT_EQ(spec.required("name").text(), "");
  EXPECT_EQ(spec.required("port").integer(1, 2), 0);
  EXPECT_EQ(spec.required("ratio").number(), 0);
  EXPECT_FALSE(spec.required("on").boolean());
  EXPECT_EQ(spec.required("wait").duration(), 0s);
  EXPECT_TRUE(spec.required("token").secret().empty());
  EXPECT_EQ(spec.required("kind").choice({"a"}), "");
  EXPECT_THAT(spec.required("list").elements(1), IsEmpty());
  EXPECT_THAT(spec.required("map").members(1), IsEmpty());
  EXPECT_FALSE(spec.optional("more"));
  spec.no_other_fields();
  EXPECT_THAT(mistakes.list(), ElementsAre("/spec: is required"));
}

TEST_F(JsonReading, a_wrong_type_is_reported_once_too) {
  JsonReader doc = read("[]");
  doc.required("a").text();
  doc.required("b").text();
  EXPECT_FALSE(doc.optional("c"));
  EXPECT_THAT(mistakes.list(), ElementsAre("expected an object, found an array"));
}

TEST_F(JsonReading, unknown_fields_are_mistakes) {
  JsonReader doc = read(R"({"name": "x", "prot": 1, "zone": 2})");
  doc.required("name").text();
  doc.optional("port");
  doc.no_other_fields();
  EXPECT_THAT(mistakes.list(), ElementsAre("/prot: unknown field", "/zone: unknown field"));
}

TEST_F(JsonReading, null_is_no_value_where_one_is_required) {
  JsonReader doc = read(R"({"name": null})");
  doc.required("name").text();
  EXPECT_THAT(mistakes.list(), ElementsAre("/name: expected a string, found null"));
}

TEST_F(JsonReading, whole_numbers_are_whole_and_in_range) {
  JsonReader doc = read(R"([5, 5.0, 5.5, -1, 1e3, 18446744073709551615, true, "5"])");
  std::vector<std::int64_t> numbers;
  for (JsonReader number : doc.elements(10)) numbers.push_back(number.integer(0, 100));
  EXPECT_THAT(numbers, ElementsAre(5, 5, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(mistakes.count(), 6U);
}

TEST_F(JsonReading, texts_and_lists_have_limits) {
  JsonReader doc = read(R"({"empty": "", "long": "12345", "list": [1, 2, 3], "map": {"a": 1}})");
  doc.required("empty").text();
  EXPECT_EQ(doc.required("empty").text(10, JsonReader::Empty::allowed), "");
  EXPECT_EQ(doc.required("long").text(4), "");
  EXPECT_THAT(doc.required("list").elements(2), IsEmpty());
  EXPECT_THAT(doc.required("map").members(0), IsEmpty());
  EXPECT_THAT(
      mistakes.list(),
      ElementsAre("/empty: must not be empty", "/long: has 5 bytes, 4 are allowed",
                  "/list: has 3 elements, 2 are allowed", "/map: has 1 members, 0 are allowed"));
}

TEST_F(JsonReading, a_wrong_duration_is_quoted) {
  JsonReader doc = read(R"({"wait": "5 minutes"})");
  doc.required("wait").duration();
  EXPECT_THAT(mistakes.list(),
              ElementsAre("/wait: expected a duration like \"1m30s\", found \"5 minutes\""));
}

TEST_F(JsonReading, no_message_quotes_a_secret) {
  JsonReader doc = read(R"({"a": "hunter2hunter2", "b": 424242, "c": ""})");
  doc.required("a").secret(5);
  doc.required("b").secret();
  doc.required("c").secret();
  EXPECT_THAT(mistakes.list(), ElementsAre("/a: is longer than 5 bytes", "/b: expected a string",
                                           "/c: must not be empty"));
}

TEST_F(JsonReading, a_long_value_is_shortened_in_the_message) {
  JsonReader doc = read("{\"a\": \"" + std::string(10'000, 'x') + "\"}");
  doc.required("a").boolean();
  EXPECT_LT(mistakes.text().size(), 150U);
}

TEST_F(JsonReading, the_caller_can_add_what_only_it_knows) {
  JsonReader doc = read(R"({"name": "Upper"})");
  JsonReader name = doc.required("name");
  name.refuse_expected("a DNS label");
  name.refuse("is taken");
  EXPECT_THAT(mistakes.list(),
              ElementsAre("/name: expected a DNS label, found \"Upper\"", "/name: is taken"));
  EXPECT_EQ(mistakes.result().outcome(), Outcome::invalid);
}

}  // namespace
}  // namespace isthmus
