#include "isthmus/app/flag_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/run_options.h"

namespace isthmus::app {
namespace {

using ::testing::HasSubstr;

TEST(flag_reference, a_section_has_a_table_for_each_group_with_the_default_of_each_flag) {
  FlagTable table("isthmus test [flags]", "Tests.");
  std::string name = "a";
  bool is_on = true;
  std::string other;
  table.text("name", name, "First flags", "One of a|b.");
  table.boolean("on", is_on, "Second flags", "Whether.");
  table.text("o", other, "First flags", "Short.");
  EXPECT_EQ(flag_section("isthmus test", table),
            "\n## isthmus test\n"
            "\n### First flags\n\n| Flag | Default | Meaning |\n|---|---|---|\n"
            "| `--name` | `a` | One of a\\|b. |\n"
            "| `-o` |  | Short. |\n"
            "\n### Second flags\n\n| Flag | Default | Meaning |\n|---|---|---|\n"
            "| `--on` | `true` | Whether. |\n");
}

TEST(flag_reference, flags_without_effect_stand_together_at_the_end) {
  FlagTable table("isthmus test [flags]", "Tests.");
  std::string old;
  std::string name;
  table.text("old", old, "Flags", "Nothing.").has_effect = false;
  table.text("name", name, "Flags", "Something.");
  EXPECT_THAT(flag_section("isthmus test", table),
              HasSubstr("| `--name` |  | Something. |\n\n### Accepted, without effect\n\n"));
}

TEST(flag_reference, what_another_subcommand_has_as_well_is_not_repeated) {
  FlagTable run("isthmus run [flags]", "Runs.");
  FlagTable plan("isthmus plan [flags]", "Plans.");
  std::string name;
  for (FlagTable* table : {&run, &plan}) table->text("name", name, "Flags", "Whose.");
  plan.text("output", name, "What to show", "How.");
  EXPECT_EQ(flag_section("isthmus plan", plan, "isthmus run", run),
            "\n## isthmus plan\n\nThe flags of isthmus run, and:\n"
            "\n### What to show\n\n| Flag | Default | Meaning |\n|---|---|---|\n"
            "| `--output` |  | How. |\n");
}

TEST(flag_reference, every_flag_of_run_is_on_the_page) {
  RunOptions options;
  const FlagTable table = run_flags(options);
  const std::string page = flag_reference();
  for (const Flag& flag : table.flags()) {
    EXPECT_THAT(page, HasSubstr((flag.name.size() == 1 ? "| `-" : "| `--") + flag.name + "` |"));
  }
}

}  // namespace
}  // namespace isthmus::app
