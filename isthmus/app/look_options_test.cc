#include "isthmus/app/look_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(look_options, words_end_at_the_first_flag) {
  std::vector<std::string> arguments{"service", "shop/web", "--output", "json"};
  EXPECT_THAT(take_words(arguments), ElementsAre("service", "shop/web"));
  EXPECT_THAT(arguments, ElementsAre("--output", "json"));
  EXPECT_THAT(take_words(arguments), IsEmpty());
}

TEST(look_options, a_service_has_a_namespace_and_a_node_has_none) {
  Mistakes mistakes;
  EXPECT_EQ(read_object_name("service", "shop/web", mistakes),
            (kube::ObjectKey{.name_space = "shop", .name = "web"}));
  EXPECT_EQ(read_object_name("node", "node1", mistakes), (kube::ObjectKey{.name = "node1"}));
  EXPECT_TRUE(mistakes.empty());

  EXPECT_EQ(read_object_name("service", "web", mistakes), std::nullopt);
  EXPECT_EQ(read_object_name("node", "shop/node1", mistakes), std::nullopt);
  EXPECT_THAT(mistakes.list(), ElementsAre("\"web\": a Service is named NAMESPACE/NAME",
                                           "\"shop/node1\": a Node is named without a namespace"));
}

TEST(look_options, output_is_for_people_or_for_programs) {
  std::string output = "table";
  FlagTable table("isthmus plan", "");
  add_output_flags(table, output);
  EXPECT_TRUE(table.parse({"-o", "json"}).mistakes.empty());
  EXPECT_EQ(output, "json");
  EXPECT_FALSE(table.parse({"--output=yaml"}).mistakes.empty());
}

TEST(look_options, mistakes_of_words_and_flags_are_told_together) {
  Mistakes words;
  Mistakes flags;
  testing::internal::CaptureStderr();
  EXPECT_FALSE(tell_mistakes("plan", words, flags));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");

  words.add("\"pod\"", "is not one of node, service, route");
  flags.add("--bar", "there is no such flag");
  testing::internal::CaptureStderr();
  EXPECT_TRUE(tell_mistakes("plan", words, flags));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "isthmus plan:\n\"pod\": is not one of node, service, route\n"
            "--bar: there is no such flag\n");
}

}  // namespace
}  // namespace isthmus::app
