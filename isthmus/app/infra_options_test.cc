#include "isthmus/app/infra_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(infra_options, take_a_file_or_a_folder_and_never_both_or_none) {
  MemoryFiles files;
  for (const InfraOptions& options :
       {InfraOptions{}, InfraOptions{.config = "infra.yaml", .directory = "/tmp/x"}}) {
    Mistakes mistakes;
    load_infra_config(files, options, mistakes);
    EXPECT_THAT(mistakes.list(), ElementsAre(HasSubstr("--config and --directory")));
  }
}

TEST(infra_options, a_folder_needs_no_file) {
  MemoryFiles files;
  Mistakes mistakes;
  const infra::Config config = load_infra_config(files, {.directory = "/run/demo"}, mistakes);

  EXPECT_THAT(mistakes.list(), IsEmpty());
  EXPECT_EQ(config.sqlite, "/run/demo/infra.db");
}

TEST(infra_options, a_file_that_is_missing_or_wrong_is_named) {
  MemoryFiles files;
  Mistakes missing;
  load_infra_config(files, {.config = "/etc/infra.yaml"}, missing);
  EXPECT_THAT(missing.list(), ElementsAre(HasSubstr("/etc/infra.yaml")));

  ASSERT_TRUE(files.write("/etc/infra.yaml", "lisen: []\n", FileMode::world_readable));
  Mistakes wrong;
  load_infra_config(files, {.config = "/etc/infra.yaml"}, wrong);
  EXPECT_THAT(wrong.text(), HasSubstr("lisen"));
}

TEST(infra_options, the_table_fills_the_options) {
  InfraOptions options;
  const ParsedFlags parsed =
      infra_flags(options).parse({"--config", "a.yaml", "--logging-format=json", "-v=5"});

  EXPECT_THAT(parsed.mistakes.list(), IsEmpty());
  EXPECT_EQ(options.config, "a.yaml");
  EXPECT_EQ(options.logging_format, "json");
  EXPECT_EQ(options.verbosity, 5);
}

}  // namespace
}  // namespace isthmus::app
