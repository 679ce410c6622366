#include "isthmus/net/posix_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isthmus/net/temporary_directory_testing.h"

namespace isthmus::net {
namespace {

constexpr std::size_t kLimit = 1024;

TEST(posix_files, what_was_written_is_read_back_with_the_mode_asked_for) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("a");
  PosixFiles files;
  ASSERT_TRUE(files.write(path, "first", FileMode::world_readable));
  ASSERT_TRUE(files.write(path, "second", FileMode::owner_only));
  EXPECT_EQ(files.read(path, kLimit).value(), "second");
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST(posix_files, a_write_that_fails_leaves_the_old_contents_and_no_litter) {
  const TemporaryDirectory directory;
  PosixFiles files;
  ASSERT_EQ(::mkdir(directory.path("taken").c_str(), 0700), 0);
  EXPECT_EQ(files.write(directory.path("taken"), "x", FileMode::owner_only).outcome(),
            Outcome::invalid);
  EXPECT_EQ(files.write(directory.path("none/x"), "x", FileMode::owner_only).outcome(),
            Outcome::absent);
  EXPECT_EQ(::rmdir(directory.path("taken").c_str()), 0);
  EXPECT_TRUE(directory.is_empty());
}

TEST(posix_files, a_file_is_read_up_to_its_limit_and_not_beyond) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("a");
  PosixFiles files;
  const std::string contents(10'000, 'x');
  ASSERT_TRUE(files.write(path, contents, FileMode::owner_only));
  EXPECT_EQ(files.read(path, 10'000).value(), contents);
  EXPECT_EQ(files.read(path, std::string::npos).value(), contents);
  const auto too_large = files.read(path, 9'999);
  ASSERT_EQ(too_large.outcome(), Outcome::invalid);
  EXPECT_EQ(too_large.error().message, path + ": is larger than 9999 bytes");
}

TEST(posix_files, a_file_without_a_size_is_read_to_its_end) {
  PosixFiles files;
  const auto status = files.read("/proc/self/status", 1 << 20);
  ASSERT_TRUE(status);
  EXPECT_NE(status->find("VmRSS"), std::string::npos);
}

TEST(posix_files, what_is_missing_or_no_file_is_named) {
  const TemporaryDirectory directory;
  PosixFiles files;
  const auto missing = files.read(directory.path("none"), kLimit);
  ASSERT_EQ(missing.outcome(), Outcome::absent);
  EXPECT_EQ(missing.error().message, directory.path("none") + ": No such file or directory");
  EXPECT_EQ(files.stamp(directory.path("none")).outcome(), Outcome::absent);
  EXPECT_EQ(files.remove(directory.path("none")).outcome(), Outcome::absent);
  EXPECT_EQ(files.read(directory.path(""), kLimit).outcome(), Outcome::invalid);
  ASSERT_EQ(::mkfifo(directory.path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(files.read(directory.path("fifo"), kLimit).outcome(), Outcome::invalid);
}

TEST(posix_files, a_replaced_file_has_another_stamp_even_behind_a_link) {
  const TemporaryDirectory directory;
  PosixFiles files;
  ASSERT_TRUE(files.write(directory.path("v1"), "same", FileMode::owner_only));
  ASSERT_TRUE(files.write(directory.path("v2"), "same", FileMode::owner_only));
  const std::string link = directory.path("link");
  ASSERT_EQ(::symlink("v1", link.c_str()), 0);
  const auto before = files.stamp(link);
  EXPECT_EQ(files.stamp(link).value(), before.value());
  ASSERT_TRUE(files.remove(link));
  ASSERT_EQ(::symlink("v2", link.c_str()), 0);
  EXPECT_NE(files.stamp(link).value(), before.value());
  EXPECT_EQ(files.read(link, kLimit).value(), "same");
}

}  // namespace
}  // namespace isthmus::net
