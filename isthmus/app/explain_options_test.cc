#include "isthmus/app/explain_options.h"

#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

struct Read {
  ExplainOptions options;
  std::string mistakes;
};

Read read(std::vector<std::string> arguments) {
  Read read;
  Mistakes mistakes;
  take_explain_words(arguments, read.options, mistakes);
  read.mistakes = mistakes.text();
  return read;
}

TEST(explain_options, take_one_object) {
  const Read service = read({"service", "shop/web", "--kubeconfig=x"});
  EXPECT_EQ(service.mistakes, "");
  EXPECT_EQ(service.options.kind, "service");
  EXPECT_EQ(service.options.name, (kube::ObjectKey{"shop", "web"}));
  EXPECT_EQ(read({"node", "n1"}).options.name, (kube::ObjectKey{"", "n1"}));
}

TEST(explain_options, name_the_word_that_is_wrong) {
  const std::string wanted = "explain: name one Service or Node: explain service NAMESPACE/NAME";
  EXPECT_EQ(read({}).mistakes, wanted);
  EXPECT_EQ(read({"service"}).mistakes, wanted);
  EXPECT_EQ(read({"service", "shop/web", "shop/db"}).mistakes, wanted);
  EXPECT_EQ(read({"--help"}).mistakes,
            "explain: name a Service or a Node: explain service NAMESPACE/NAME");
  EXPECT_EQ(read({"pod", "x"}).mistakes, R"("pod": is not one of service, node)");
  EXPECT_EQ(read({"service", "web"}).mistakes, R"("web": a Service is named NAMESPACE/NAME)");
  EXPECT_EQ(read({"node", "a/b"}).mistakes, R"("a/b": a Node is named without a namespace)");
}

TEST(explain_options, are_the_flags_of_a_manager_and_how_to_show) {
  ExplainOptions options;
  const FlagTable table = explain_flags(options);
  EXPECT_TRUE(table.parse({"--leader-elect-resource-name=other", "-o=json"}).mistakes.empty());
  EXPECT_EQ(options.run.election.resource_name, "other");
  EXPECT_EQ(options.output, "json");
  EXPECT_NE(table.help().find("3: a link is broken"), std::string::npos);
}

}  // namespace
}  // namespace isthmus::app
