#include "isthmus/app/plan_options.h"

#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

struct Read {
  PlanOptions options;
  std::vector<std::string> rest;
  std::string mistakes;
};

Read read(std::vector<std::string> arguments) {
  Read read{.rest = std::move(arguments)};
  Mistakes mistakes;
  take_plan_words(read.rest, read.options, mistakes);
  read.mistakes = mistakes.text();
  return read;
}

TEST(plan_options, take_the_words_before_the_flags) {
  const Read all = read({"--kubeconfig", "x"});
  EXPECT_EQ(all.options.kind, "");
  EXPECT_EQ(all.rest.size(), 2U);

  const Read nodes = read({"nodes", "-o=json"});
  EXPECT_EQ(nodes.options.kind, "node");
  EXPECT_EQ(nodes.options.name, kube::ObjectKey{});
  EXPECT_EQ(nodes.rest, std::vector<std::string>{"-o=json"});

  const Read service = read({"service", "shop/web"});
  EXPECT_EQ(service.options.name, (kube::ObjectKey{"shop", "web"}));
  EXPECT_EQ(read({"node", "n1"}).options.name, (kube::ObjectKey{"", "n1"}));
  EXPECT_EQ(read({"route", "10.244.1.0/24"}).options.name, (kube::ObjectKey{"", "10.244.1.0/24"}));
}

TEST(plan_options, name_the_word_that_is_wrong) {
  EXPECT_EQ(read({"pod"}).mistakes, R"("pod": is not one of node, service, route)");
  EXPECT_EQ(read({"service", "web"}).mistakes, R"("web": a Service is named NAMESPACE/NAME)");
  EXPECT_EQ(read({"node", "shop/n1"}).mistakes,
            R"("shop/n1": a Node is named without a namespace)");
  EXPECT_EQ(read({"node", "n1", "n2"}).mistakes, R"("n2": one name at most)");
}

TEST(plan_options, are_the_flags_of_a_manager_and_what_to_show) {
  PlanOptions options;
  const FlagTable table = plan_flags(options);
  const ParsedFlags parsed = table.parse({"--cloud-provider=isthmus", "--load-balancer-classes=a/b",
                                          "-o", "json", "--detailed-exitcode"});
  EXPECT_TRUE(parsed.mistakes.empty()) << parsed.mistakes.text();
  EXPECT_EQ(options.run.generic.cloud_provider, "isthmus");
  EXPECT_EQ(options.run.service.load_balancer_classes, "a/b");
  EXPECT_EQ(options.output, "json");
  EXPECT_TRUE(options.detailed_exit_code);
  EXPECT_NE(table.help().find("isthmus plan [node|service|route] [NAME]"), std::string::npos);
  EXPECT_FALSE(table.parse({"-o", "yaml"}).mistakes.empty());
}

}  // namespace
}  // namespace isthmus::app
