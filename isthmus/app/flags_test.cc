#include "isthmus/app/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Values {
  std::string name = "kubernetes";
  bool elect = true;
  std::int64_t syncs = 10;
  double qps = 200;
  Duration period = minutes(5);
  std::string format = "text";
  std::int64_t verbosity = 0;
};

FlagTable table_for(Values& values) {
  FlagTable table("isthmus run [flags]", "Runs.");
  table.text("cluster-name", values.name, "Generic", "Name.");
  table.boolean("leader-elect", values.elect, "Generic", "Elect.");
  table.integer("concurrent-node-syncs", values.syncs, 1, 1000, "Generic", "Workers.");
  table.number("kube-api-qps", values.qps, 0.5, 1000, "Generic", "Rate.");
  table.positive_duration("node-status-update-frequency", values.period, "Generic", "Period.");
  table.choice("logging-format", values.format, {"text", "json"}, "Generic", "Format.");
  table.add({.name = "v",
             .default_text = "0",
             .group = "Generic",
             .help = "Verbosity.",
             .set = [&values](std::string_view value) -> Result<> {
               if (value != "4") return fail(Outcome::invalid, "is not 4");
               values.verbosity = 4;
               return {};
             }});
  return table;
}

TEST(flags, take_the_forms_that_manifests_use) {
  Values values;
  const ParsedFlags parsed = table_for(values).parse(
      {"--cluster-name", "prod", "--leader-elect=false", "--concurrent-node-syncs=3", "-v=4",
       "--node-status-update-frequency=1m30s", "--kube-api-qps=0.5", "--logging-format=json"});

  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  EXPECT_EQ(values.name, "prod");
  EXPECT_FALSE(values.elect);
  EXPECT_EQ(values.syncs, 3);
  EXPECT_EQ(values.qps, 0.5);
  EXPECT_EQ(values.period, seconds(90));
  EXPECT_EQ(values.format, "json");
  EXPECT_EQ(values.verbosity, 4);
}

TEST(flags, read_the_long_form_and_the_spaced_short_form_of_verbosity) {
  for (std::vector<std::string> arguments :
       {std::vector<std::string>{"--v=4"}, {"-v", "4"}, {"-v4"}}) {
    Values values;
    EXPECT_THAT(table_for(values).parse(arguments).mistakes.list(), IsEmpty());
    EXPECT_EQ(values.verbosity, 4);
  }
}

TEST(flags, read_truth_as_go_does) {
  for (const std::string word : {"1", "t", "T", "true", "TRUE", "True"}) {
    Values values{.elect = false};
    EXPECT_THAT(table_for(values).parse({"--leader-elect=" + word}).mistakes.list(), IsEmpty());
    EXPECT_TRUE(values.elect) << word;
  }
  for (const std::string word : {"0", "f", "F", "false", "FALSE", "False"}) {
    Values values;
    EXPECT_THAT(table_for(values).parse({"--leader-elect=" + word}).mistakes.list(), IsEmpty());
    EXPECT_FALSE(values.elect) << word;
  }
}

TEST(flags, keep_the_default_of_what_is_not_given) {
  Values values;
  const ParsedFlags parsed = table_for(values).parse({"--leader-elect"});

  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  EXPECT_THAT(parsed.given, ElementsAre("leader-elect"));
  EXPECT_TRUE(values.elect);
  EXPECT_EQ(values.period, minutes(5));
}

TEST(flags, take_the_last_value_of_a_repeated_flag) {
  Values values;
  const ParsedFlags parsed = table_for(values).parse(
      {"--cluster-name=a", "--leader-elect=false", "--cluster-name=b", "--leader-elect=true"});

  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  EXPECT_EQ(values.name, "b");
  EXPECT_TRUE(values.elect);
}

TEST(flags, a_switch_does_not_eat_the_word_behind_it) {
  Values values;
  const ParsedFlags parsed = table_for(values).parse({"--leader-elect", "false"});

  EXPECT_THAT(parsed.mistakes.list(), ElementsAre("\"false\": no argument is expected here"));
  EXPECT_TRUE(values.elect);
}

TEST(flags, report_every_mistake_of_a_command_line_together) {
  Values values;
  const ParsedFlags parsed =
      table_for(values).parse({"--concurrent-node-syncs=0", "--kube-api-qps=many", "--colour=red",
                               "surplus", "--node-status-update-frequency=5",
                               "--logging-format=xml", "--leader-elect=maybe", "--cluster-name"});

  EXPECT_EQ(parsed.mistakes.count(), 8u);
  const std::string all = testing::PrintToString(parsed.mistakes.list());
  EXPECT_THAT(all, HasSubstr("--colour=red: there is no such flag"));
  EXPECT_THAT(all, HasSubstr("surplus"));
  EXPECT_THAT(all, HasSubstr("--concurrent-node-syncs: \\\"0\\\" is not a whole number from 1"));
  EXPECT_THAT(all, HasSubstr("--kube-api-qps: \\\"many\\\" is not a number from 0.5 to 1000"));
  EXPECT_THAT(all, HasSubstr("--node-status-update-frequency: \\\"5\\\" is no duration"));
  EXPECT_THAT(all, HasSubstr("--logging-format: \\\"xml\\\" is not one of text, json"));
  EXPECT_THAT(all, HasSubstr("--leader-elect: \\\"maybe\\\" is neither true nor false"));
  EXPECT_THAT(all, HasSubstr("--cluster-name: needs a value"));
}

TEST(flags, are_named_in_a_mistake_as_they_were_written) {
  Values values;
  const FlagTable table = table_for(values);
  const auto told = [&table](std::vector<std::string> arguments) {
    return table.parse(arguments).mistakes.list();
  };
  EXPECT_THAT(told({"-v", "5"}), ElementsAre("-v: \"5\" is not 4"));
  EXPECT_THAT(told({"-v=5"}), ElementsAre("-v: \"5\" is not 4"));
  EXPECT_THAT(told({"-verbose"}), ElementsAre("-v: \"erbose\" is not 4"));
  EXPECT_THAT(told({"--v=5"}), ElementsAre("--v: \"5\" is not 4"));
  EXPECT_THAT(told({"-v=4", "--v=5"}), ElementsAre("--v: \"5\" is not 4")) << "the one that counts";
  EXPECT_THAT(told({"-v"}), ElementsAre("-v: needs a value"));
  EXPECT_THAT(told({"-x", "-y=1"}),
              ElementsAre("-x: there is no such flag", "-y=1: there is no such flag"));
  EXPECT_THAT(told({"--leader_elect=maybe"}),
              ElementsAre("--leader_elect: \"maybe\" is neither true nor false"));
}

TEST(flags, refuse_periods_of_nothing_and_numbers_that_are_none) {
  for (const std::string argument :
       {"--node-status-update-frequency=0s", "--node-status-update-frequency=-1s",
        "--kube-api-qps=0", "--kube-api-qps=nan", "--kube-api-qps=inf", "--kube-api-qps=-1",
        "--kube-api-qps=1000.5", "--kube-api-qps=1e-300", "--node-status-update-frequency=87601h",
        "--concurrent-node-syncs=1001", "--concurrent-node-syncs=1e3",
        "--concurrent-node-syncs=99999999999999999999"}) {
    Values values;
    EXPECT_EQ(table_for(values).parse({argument}).mistakes.count(), 1u) << argument;
  }
}

TEST(flags, an_empty_value_is_a_value) {
  Values values;
  EXPECT_THAT(table_for(values).parse({"--cluster-name="}).mistakes.list(), IsEmpty());
  EXPECT_EQ(values.name, "");
}

TEST(flags, help_names_each_flag_its_default_and_its_meaning) {
  Values values;
  const FlagTable table = table_for(values);
  EXPECT_TRUE(table.parse({"--help"}).help);
  EXPECT_TRUE(table.parse({"-h"}).help);

  const std::string help = table.help();
  EXPECT_THAT(help, HasSubstr("isthmus run [flags]"));
  EXPECT_THAT(help, HasSubstr("--node-status-update-frequency"));
  EXPECT_THAT(help, HasSubstr("5m0s"));
  EXPECT_THAT(help, HasSubstr("Workers."));
}

TEST(flags, underscores_in_a_name_are_dashes) {
  Values values;
  const ParsedFlags parsed =
      table_for(values).parse({"--cluster_name=my_name", "--leader_elect=false"});
  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  EXPECT_EQ(values.name, "my_name") << "a value is left as it is";
  EXPECT_FALSE(values.elect);
}

TEST(flags, a_list_grows_with_each_time_it_is_given) {
  FlagTable table("x", "X.");
  std::string list = "*";
  table.list("controllers", list, "Generic", "Controllers.");
  EXPECT_THAT(table.parse({"--controllers=a", "--controllers", "b,c"}).mistakes.list(), IsEmpty());
  EXPECT_EQ(list, "a,b,c");
}

TEST(flags, a_duration_may_be_zero_where_that_means_something) {
  FlagTable table("x", "X.");
  Duration pause = seconds(1);
  table.duration("pause", pause, "Generic", "Pause.");
  EXPECT_THAT(table.parse({"--pause=0s"}).mistakes.list(), IsEmpty());
  EXPECT_EQ(pause, Duration::zero());
  EXPECT_THAT(table.parse({"--pause=-1s"}).mistakes.list(),
              ElementsAre("--pause: \"-1s\" must not be below 0"));
}

TEST(flags, values_from_elsewhere_are_named_by_where_they_stand) {
  Values values;
  ParsedFlags parsed;
  table_for(values).take({{"cluster-name", "prod", "line 1"},
                          {"kube-api-qps", "fast", "line 2"},
                          {"no-such-flag", "1", "line 3"},
                          {"cluster-name", "test", "line 4"}},
                         parsed);
  EXPECT_EQ(values.name, "prod");
  EXPECT_THAT(parsed.given, ElementsAre("cluster-name", "kube-api-qps"));
  EXPECT_THAT(parsed.mistakes.list(),
              ElementsAre(HasSubstr("line 2: \"fast\" is not a number"),
                          "line 3: there is no such flag", "line 4: is given twice"));
}

TEST(flags, those_without_effect_are_told_when_they_were_given) {
  FlagTable table("x", "X.");
  bool old = false;
  std::string name;
  table.boolean("old", old, "Generic", "No effect.").has_effect = false;
  table.text("other", name, "Generic", "No effect.").has_effect = false;
  table.text("name", name, "Generic", "Name.");
  EXPECT_EQ(table.without_effect(table.parse({"--name=x"})), "");
  EXPECT_EQ(table.without_effect(table.parse({"--other=y", "--old"})), "--old, --other");
  table.mark_without_effect(2);
  EXPECT_EQ(table.without_effect(table.parse({"--name=x"})), "--name");
}

TEST(flags, help_keeps_a_group_together_and_a_long_name_apart_from_its_text) {
  FlagTable table("x", "X.");
  std::string text;
  table.text("a", text, "First", "A.");
  table.text("b", text, "Second", "B.");
  table.text("a-name-that-is-longer-than-the-whole-first-column", text, "First", "C.");
  const std::string help = table.help();
  EXPECT_LT(help.find("first-column\n"), help.find("Second:"));
  EXPECT_EQ(help.find("First:"), help.rfind("First:"));
}

}  // namespace
}  // namespace isthmus::app
