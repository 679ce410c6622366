#include "isthmus/app/run_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class RunConfigTest : public testing::Test {
 protected:
  ParsedFlags read(const std::string& file, std::vector<std::string> arguments = {}) {
    EXPECT_TRUE(files.write("/run.yaml", file, FileMode::world_readable).has_value());
    arguments.emplace_back("--config=/run.yaml");
    return read_run_options(files, table, arguments, options);
  }

  MemoryFiles files;
  RunOptions options;
  const FlagTable table = run_flags(options);
};

TEST_F(RunConfigTest, a_key_is_a_flag_and_a_list_or_a_map_is_what_a_flag_would_say) {
  const ParsedFlags parsed = read(R"(
cloud-provider: isthmus
leader-elect: false
controllers: ["*", "-route"]
kube-api-qps: 12.5
leader-elect-lease-duration: 30s
feature-gates: {ContextualLogging: false, LoggingAlphaOptions: true}
)");
  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  EXPECT_EQ(options.generic.cloud_provider, "isthmus");
  EXPECT_FALSE(options.election.leader_elect);
  EXPECT_EQ(options.generic.controllers, "*,-route");
  EXPECT_EQ(options.generic.kube_api_qps, 12.5);
  EXPECT_EQ(options.election.lease_duration, seconds(30));
  EXPECT_FALSE(options.generic.feature_gates.enabled("ContextualLogging"));
  EXPECT_TRUE(options.generic.feature_gates.enabled(kLoggingAlphaGate));
}

TEST_F(RunConfigTest, the_command_line_counts_before_the_file) {
  const ParsedFlags parsed = read("controllers: [service]\ncluster-name: prod\n",
                                  {"--controllers=cloud-node", "--controllers=route"});
  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  EXPECT_EQ(options.generic.controllers, "cloud-node,route");
  EXPECT_EQ(options.generic.cluster_name, "prod");
}

TEST_F(RunConfigTest, every_mistake_of_the_file_and_of_the_line_is_named) {
  const ParsedFlags parsed = read(R"(
cluster-nam: prod
kube-api-qps: fast
leader-elect:
secure-port: {a: {b: c}}
config: /other.yaml
cluster-name: a
cluster-name: b
)",
                                  {"--no-such-flag", "--cluster-name=c"});
  EXPECT_THAT(parsed.mistakes.list(),
              testing::UnorderedElementsAre(
                  StartsWith("/run.yaml: line 2: cluster-nam: there is no such flag"),
                  StartsWith("/run.yaml: line 3: kube-api-qps: \"fast\" is not a number"),
                  "/run.yaml: line 4: leader-elect: takes a single value, and has none",
                  "/run.yaml: line 5: secure-port: takes a single value, and has a map",
                  StartsWith("/run.yaml: line 6: config: can only be given on the command line"),
                  StartsWith("/run.yaml: line 8: \"cluster-name\" is given twice"),
                  "--no-such-flag: there is no such flag"));
}

TEST_F(RunConfigTest, what_is_no_value_of_its_flag_is_refused_by_its_key) {
  const ParsedFlags parsed = read(R"(
controllers: {a: b}
cloud-provider: {isthmus: x}
cluster-name: [a, b]
leader-elect: [true]
kubeconfig: {}
cluster-cidr: {a: b}
feature-gates: {ContextualLogging: [true]}
tls-cipher-suites: [[a]]
load-balancer-classes: [a, ~]
no-such-flag: {a: b}
)");
  const std::string single = "takes a single value, and has a ";
  const std::string list = "takes a list of single values";
  EXPECT_THAT(parsed.mistakes.list(),
              testing::UnorderedElementsAre(
                  "/run.yaml: line 2: controllers: " + list + ", and has a map",
                  "/run.yaml: line 3: cloud-provider: " + single + "map",
                  "/run.yaml: line 4: cluster-name: " + single + "list",
                  "/run.yaml: line 5: leader-elect: " + single + "list",
                  "/run.yaml: line 6: kubeconfig: " + single + "map",
                  "/run.yaml: line 7: cluster-cidr: " + list + ", and has a map",
                  "/run.yaml: line 8: feature-gates: takes a map of single values",
                  "/run.yaml: line 9: tls-cipher-suites: " + list,
                  "/run.yaml: line 10: load-balancer-classes: " + list,
                  "/run.yaml: line 11: no-such-flag: there is no such flag"));
  EXPECT_THAT(parsed.given, ElementsAre("config"));
}

TEST_F(RunConfigTest, levels_by_file_are_taken_in_every_form_although_they_have_no_effect) {
  for (const char* file : {"vmodule: {node: 4, service*: 2}\n", "vmodule: [node=4, service*=2]\n",
                           "vmodule: node=4,service*=2\n"}) {
    EXPECT_THAT(read(file).mistakes.list(), IsEmpty());
    EXPECT_EQ(options.logs.vmodule, "node=4,service*=2");
  }
}

TEST_F(RunConfigTest, a_flag_of_several_values_takes_a_list_and_one_with_commas) {
  for (const char* file : {"cluster-cidr: [10.244.0.0/16, \"fd00::/48\"]\n"
                           "node-match-order: [provider-id, name]\n"
                           "load-balancer-classes: [a, b]\n"
                           "tls-cipher-suites: [x, y]\n"
                           "feature-gates: [ContextualLogging=false, LoggingAlphaOptions=true]\n",
                           "cluster-cidr: 10.244.0.0/16,fd00::/48\n"
                           "node-match-order: provider-id,name\n"
                           "load-balancer-classes: a,b\n"
                           "tls-cipher-suites: x,y\n"
                           "feature-gates: ContextualLogging=false,LoggingAlphaOptions=true\n"}) {
    EXPECT_THAT(read(file).mistakes.list(), IsEmpty());
    EXPECT_EQ(options.route.cluster_cidr, "10.244.0.0/16,fd00::/48");
    EXPECT_EQ(options.node.match_order, "provider-id,name");
    EXPECT_EQ(options.service.load_balancer_classes, "a,b");
    EXPECT_EQ(options.serving.tls.cipher_suites, "x,y");
    EXPECT_FALSE(options.generic.feature_gates.enabled("ContextualLogging"));
  }
}

TEST_F(RunConfigTest, a_value_that_the_command_line_overrides_is_judged_all_the_same) {
  EXPECT_THAT(read("leader-elect: perhaps\n", {"--leader-elect=true"}).mistakes.list(),
              ElementsAre(HasSubstr("leader-elect: \"perhaps\"")));
}

TEST_F(RunConfigTest, a_file_that_is_none_is_named) {
  EXPECT_THAT(read("- a\n- b\n").mistakes.list(), ElementsAre(HasSubstr("is no map")));
  EXPECT_THAT(read("{a: [}").mistakes.text(), StartsWith("/run.yaml: line 1"));
  EXPECT_THAT(read_run_options(files, table, {"--config=/none"}, options).mistakes.list(),
              ElementsAre(StartsWith("--config: ")));
}

TEST_F(RunConfigTest, an_empty_file_says_nothing) {
  EXPECT_THAT(read("").mistakes.list(), IsEmpty());
  EXPECT_THAT(read("# nothing\n").mistakes.list(), IsEmpty());
}

TEST_F(RunConfigTest, what_the_file_gives_counts_as_given) {
  const ParsedFlags parsed = read("min-resync-period: 1h\n", {"--allocate-node-cidrs"});
  EXPECT_EQ(table.without_effect(parsed), "--allocate-node-cidrs, --min-resync-period");
}

}  // namespace
}  // namespace isthmus::app
