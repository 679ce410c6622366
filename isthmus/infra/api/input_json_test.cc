#include "isthmus/infra/api/input_json.h"

#include <gtest/gtest.h>

#include "isthmus/infra/api/object_testing.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra::api {
namespace {

BodyErrors names_only(std::string_view text) {
  return read_body(text, [](JsonReader body) {
    (void)ruled_text(body.required("name"), wrong_object_name);
    body.no_other_fields();
  });
}

TEST(input_json, a_right_body_has_no_errors) {
  BodyErrors found = names_only(R"({"name":"web"})");
  EXPECT_FALSE(found.unreadable);
  EXPECT_EQ(found.errors, std::vector<FieldError>{});
}

TEST(input_json, no_document_is_unreadable) {
  for (std::string_view text : {"", "{", "<html>", R"({"name":"a"} more)"}) {
    EXPECT_TRUE(names_only(text).unreadable) << text;
  }
}

TEST(input_json, every_error_has_its_pointer) {
  std::vector<FieldError> errors =
      names_only(R"({"name":"a","name":"A","a/b":1,"a: b":2,"a":3,"":4})").errors;
  std::vector<std::string> pointers;
  for (const FieldError& error : errors) pointers.push_back(error.pointer);
  EXPECT_EQ(pointers, (std::vector<std::string>{"/name", "/name", "/a~1b", "/a", "/a", "/"}));
  errors = names_only(R"({"name":"a","x: y":1})").errors;
  EXPECT_EQ(errors, (std::vector<FieldError>{{"/x: y", "unknown field"}}));
  errors = names_only("{}").errors;
  EXPECT_EQ(errors, (std::vector<FieldError>{{"/name", "is required"}}));
  errors = names_only("[]").errors;
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].pointer, "");
}

TEST(input_json, more_errors_than_anybody_reads_are_counted) {
  std::string text = R"({"name":"a")";
  for (int i = 0; i < 1000; ++i) text += ",\"x" + std::to_string(i) + "\":1";
  std::vector<FieldError> errors = names_only(text + "}").errors;
  ASSERT_EQ(errors.size(), Mistakes::kListedMax + 1);
  EXPECT_EQ(errors.back(), (FieldError{"", "and 950 more"}));
}

TEST(input_json, addresses_and_prefixes_are_those_packets_can_have) {
  auto mistake_of = [](std::string_view address, std::string_view prefix) {
    Mistakes mistakes;
    json::value document = {{"address", address}, {"prefix", prefix}};
    JsonReader reader(document, mistakes);
    bool is_address = reachable_ip(reader.required("address")).has_value();
    bool is_prefix = clean_prefix(reader.required("prefix")).has_value();
    EXPECT_EQ(is_address && is_prefix, mistakes.empty());
    return mistakes.text();
  };
  EXPECT_EQ(mistake_of("192.0.2.1", "0.0.0.0/0"), "");
  EXPECT_EQ(mistake_of("2001:DB8::1", "2001:db8::/127"), "");
  for (std::string_view address :
       {"", "0.0.0.0", "::", "127.0.0.1", "::1", "224.0.0.1", "ff02::1", "fe80::1", "240.0.0.1",
        "::ffff:192.0.2.1", "192.0.2.256", "192.0.2.01 ", "web", "192.0.2.1/32"}) {
    EXPECT_NE(mistake_of(address, "0.0.0.0/0"), "") << address;
  }
  for (std::string_view prefix :
       {"", "192.0.2.1", "192.0.2.1/24", "192.0.2.0/33", "2001:db8::/129", "2001:db8::1/64",
        "::ffff:192.0.2.0/120", "192.0.2.0/", "192.0.2.0/-1", "192.0.2.0/24/24"}) {
    EXPECT_NE(mistake_of("192.0.2.1", prefix), "") << prefix;
  }
}

}  // namespace
}  // namespace isthmus::infra::api
