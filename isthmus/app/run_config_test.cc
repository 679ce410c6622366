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
                  StartsWith("/run.yaml: line 4: leader-elect: has no value"),
                  StartsWith("/run.yaml: line 5: secure-port: has no value"),
                  StartsWith("/run.yaml: line 6: config: can only be given on the command line"),
                  StartsWith("/run.yaml: line 8: \"cluster-name\" is given twice"),
                  "--no-such-flag: there is no such flag"));
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
