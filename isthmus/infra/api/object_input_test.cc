#include "isthmus/infra/api/object_input.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace isthmus::infra::api {
namespace {

// A kind whose spec is one number.
struct Lamp {
  Metadata metadata;
  std::int64_t watts = 0;
};

Input<Lamp> decoded(std::string_view body) {
  return decode_input<Lamp>("Lamp", body, "prod", "desk", [](JsonReader spec, Input<Lamp>& input) {
    input.object.watts = spec.required("watts").integer(1, 100);
    spec.no_other_fields();
  });
}

std::vector<std::string> mistakes(std::string_view body) {
  std::vector<std::string> lines;
  for (const FieldError& error : decoded(body).errors) {
    lines.push_back(error.pointer + " " + error.detail);
  }
  return lines;
}

TEST(object_input, takes_the_spec_and_what_the_writer_may_say_of_the_metadata) {
  Input<Lamp> input =
      decoded(R"({"kind":"Lamp","metadata":{"owner":"prod","name":"desk","labels":{"room":"1"},)"
              R"("deletionProtection":true,"uid":"u","generation":9,"revision":7,)"
              R"("deletionRequestedAt":"never"},"spec":{"watts":5},"status":{"on":true}})");
  EXPECT_TRUE(input.errors.empty() && !input.unreadable);
  EXPECT_EQ(input.object.watts, 5);
  EXPECT_EQ(input.object.metadata.name, "desk");
  EXPECT_EQ(input.object.metadata.labels.at("room"), "1");
  EXPECT_TRUE(input.object.metadata.deletion_protection);
  EXPECT_EQ(input.object.metadata.generation, 0u) << "this is the server's to say";
}

TEST(object_input, names_every_mistake_around_the_spec_and_in_it) {
  EXPECT_EQ(mistakes(R"({"kind":"Chair","metadata":{"owner":"test","name":"floor","colour":1},)"
                     R"("spec":{"watts":0},"more":1})")
                .size(),
            6);
  EXPECT_EQ(mistakes("{}"), std::vector<std::string>{"/spec is required"});
  EXPECT_TRUE(decoded("{").unreadable);
}

}  // namespace
}  // namespace isthmus::infra::api
