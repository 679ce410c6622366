#include "isthmus/base/files.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus {
namespace {

using testing::HasSubstr;

TEST(memory_files, read_back_what_was_written) {
  MemoryFiles files;
  ASSERT_TRUE(files.write("/etc/a", "text", FileMode::owner_only));
  EXPECT_EQ(files.read("/etc/a", 4), "text");
  ASSERT_TRUE(files.write("/etc/a", "", FileMode::world_readable));
  EXPECT_EQ(files.read("/etc/a", 4), "");
}

TEST(memory_files, say_which_file_is_missing_or_too_large) {
  MemoryFiles files;
  ASSERT_TRUE(files.write("/etc/a", "text", FileMode::owner_only));
  EXPECT_EQ(files.read("/etc/a", 3).error(),
            (Error{Outcome::invalid, "/etc/a: larger than 3 bytes", {}}));
  EXPECT_EQ(files.read("/etc/b", 3).error(), (Error{Outcome::absent, "/etc/b: no such file", {}}));
  EXPECT_EQ(files.stamp("/etc/b").outcome(), Outcome::absent);
  EXPECT_EQ(files.remove("/etc/b").outcome(), Outcome::absent);
}

TEST(memory_files, every_write_moves_the_stamp) {
  MemoryFiles files;
  ASSERT_TRUE(files.write("/etc/a", "text", FileMode::owner_only));
  const Result<FileStamp> first = files.stamp("/etc/a");
  EXPECT_EQ(files.stamp("/etc/a"), first);
  ASSERT_TRUE(files.write("/etc/a", "text", FileMode::owner_only));
  EXPECT_NE(files.stamp("/etc/a"), first);
}

TEST(memory_files, a_removed_file_is_absent) {
  MemoryFiles files;
  ASSERT_TRUE(files.write("/etc/a", "text", FileMode::owner_only));
  ASSERT_TRUE(files.remove("/etc/a"));
  EXPECT_EQ(files.read("/etc/a", 4).outcome(), Outcome::absent);
}

TEST(memory_files, a_broken_path_fails_until_it_is_mended) {
  MemoryFiles files;
  ASSERT_TRUE(files.write("/etc/a", "text", FileMode::owner_only));
  files.break_path("/etc/a", Outcome::denied);
  EXPECT_EQ(files.read("/etc/a", 4).outcome(), Outcome::denied);
  EXPECT_EQ(files.write("/etc/a", "new", FileMode::owner_only).outcome(), Outcome::denied);
  files.break_path("/etc/a", Outcome::ok);
  EXPECT_EQ(files.read("/etc/a", 4), "text");
}

}  // namespace
}  // namespace isthmus
