#include "isthmus/infra/store/sqlite_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/store/sqlite.h"

namespace isthmus::infra {
namespace {

// A folder of our own that is gone when the test ends, however it ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "isthmus-store-XXXXXX").string();
    ISTHMUS_ASSERT(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

class sqlite_store : public testing::Test {
 protected:
  void put(Store& store, std::string key, std::string value) {
    ASSERT_TRUE(world.run(store.commit({}, {{std::move(key), std::move(value)}})));
  }

  VirtualWorld world;
  TemporaryFolder folder;
  std::string path = folder.file("infra.db");
};

TEST_F(sqlite_store, what_was_committed_is_there_after_a_restart) {
  {
    auto store = open_sqlite_store(path).value();
    put(*store, "a", "1");
    put(*store, "a", "2");
    ASSERT_TRUE(world.run(store->compact(1)));
  }
  auto store = open_sqlite_store(path).value();
  Snapshot snapshot = world.run(store->read({.prefix = ""})).value();
  EXPECT_EQ(snapshot.revision, 2u);
  EXPECT_EQ(snapshot.entries, (std::vector<Entry>{{"a", "2", 2}}));
  EXPECT_EQ(world.run(store->read({.prefix = "", .at = 0})).outcome(), kRevisionGone);
  EXPECT_EQ(world.run(store->read({.prefix = "", .at = 1})).value().entries.size(), 1u);
}

TEST_F(sqlite_store, what_was_committed_survives_a_kill) {
  auto store = open_sqlite_store(path).value();
  put(*store, "a", "1");
  // What a killed process leaves behind: the file and its log as they are now.
  std::string copy = folder.file("copy.db");
  std::filesystem::copy_file(path, copy);
  std::filesystem::copy_file(path + "-wal", copy + "-wal");
  auto survivor = open_sqlite_store(copy).value();
  EXPECT_EQ(world.run(survivor->read({.prefix = ""})).value().entries.size(), 1u);
}

TEST_F(sqlite_store, a_file_that_was_removed_beneath_it_takes_nothing_more) {
  auto store = open_sqlite_store(path).value();
  put(*store, "a", "1");
  std::filesystem::remove(path);
  Result<Revision> lost = world.run(store->commit({}, {{"a", "2"}}));
  ASSERT_EQ(lost.outcome(), Outcome::lost);
  EXPECT_EQ(lost.error().message,
            path + ": the file was removed or replaced while it was in use; restart isthmus infra");
  EXPECT_EQ(world.run(store->compact(1)).outcome(), Outcome::lost);
  Snapshot stands = world.run(store->read({.prefix = ""})).value();
  EXPECT_EQ(stands.entries, (std::vector<Entry>{{"a", "1", 1}}));
}

TEST_F(sqlite_store, a_file_that_was_replaced_takes_nothing_until_it_is_back) {
  auto store = open_sqlite_store(path).value();
  put(*store, "a", "1");
  std::string copy = folder.file("copy.db");
  std::string aside = folder.file("aside.db");
  std::filesystem::copy_file(path, copy);
  std::filesystem::rename(path, aside);
  std::filesystem::rename(copy, path);
  EXPECT_EQ(world.run(store->commit({}, {{"a", "2"}})).outcome(), Outcome::lost);
  std::filesystem::rename(aside, path);
  put(*store, "a", "2");
}

TEST_F(sqlite_store, in_memory_there_is_no_file_to_lose) {
  auto store = open_sqlite_store(":memory:").value();
  put(*store, "a", "1");
  EXPECT_FALSE(std::filesystem::exists(":memory:"));
}

TEST_F(sqlite_store, the_file_is_its_owners_alone) {
  auto store = open_sqlite_store(path).value();
  put(*store, "a", "1");
  struct stat status{};
  for (const std::string& name : {path, path + "-wal"}) {
    ASSERT_EQ(::stat(name.c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
  }
}

TEST_F(sqlite_store, a_second_process_is_refused) {
  auto store = open_sqlite_store(path).value();
  Result<std::unique_ptr<Store>> second = open_sqlite_store(path);
  ASSERT_EQ(second.outcome(), Outcome::busy);
  EXPECT_EQ(second.error().message, path + ": another process has it open");
  put(*store, "a", "1");
}

TEST_F(sqlite_store, a_file_that_is_no_database_is_invalid_and_left_alone) {
  std::string text(5000, '#');
  std::ofstream(path) << text;
  Result<std::unique_ptr<Store>> store = open_sqlite_store(path);
  ASSERT_EQ(store.outcome(), Outcome::invalid);
  EXPECT_EQ(store.error().message, path + ": file is not a database; restore a copy");
  EXPECT_EQ(std::filesystem::file_size(path), text.size());
}

TEST_F(sqlite_store, a_damaged_file_is_invalid) {
  {
    auto store = open_sqlite_store(path).value();
    for (int i = 0; i < 200; ++i) put(*store, "key" + std::to_string(i), std::string(500, 'v'));
  }
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(20 * 4096, '\x5a');
  }
  Result<std::unique_ptr<Store>> store = open_sqlite_store(path);
  ASSERT_EQ(store.outcome(), Outcome::invalid);
  EXPECT_TRUE(store.error().message.starts_with(path)) << store.error().message;
  EXPECT_TRUE(store.error().message.ends_with("restore a copy")) << store.error().message;
}

TEST_F(sqlite_store, another_programs_database_is_invalid_and_left_alone) {
  {
    auto database = sqlite::Database::open(path).value();
    ASSERT_TRUE(database.execute("CREATE TABLE theirs (a)"));
  }
  Result<std::unique_ptr<Store>> store = open_sqlite_store(path);
  ASSERT_EQ(store.outcome(), Outcome::invalid);
  EXPECT_NE(store.error().message.find("another program"), std::string::npos);
  auto database = sqlite::Database::open(path).value();
  EXPECT_EQ(database.query("SELECT count(*) FROM sqlite_schema").value(), "1");
}

TEST_F(sqlite_store, a_newer_versions_file_is_invalid_and_says_what_to_do) {
  {
    auto store = open_sqlite_store(path).value();
  }
  {
    auto database = sqlite::Database::open(path).value();
    ASSERT_TRUE(database.execute("PRAGMA user_version = 99"));
  }
  Result<std::unique_ptr<Store>> store = open_sqlite_store(path);
  ASSERT_EQ(store.outcome(), Outcome::invalid);
  EXPECT_NE(store.error().message.find("of version 99, ours of 1"), std::string::npos)
      << store.error().message;
}

TEST_F(sqlite_store, a_folder_that_does_not_exist_is_named) {
  Result<std::unique_ptr<Store>> store = open_sqlite_store(folder.file("no/such/infra.db"));
  ASSERT_EQ(store.outcome(), Outcome::lost);
  EXPECT_NE(store.error().message.find("no/such/infra.db"), std::string::npos);
}

TEST_F(sqlite_store, every_call_is_observed_with_the_time_it_took) {
  std::vector<std::string> calls;
  auto store = open_sqlite_store(path, [&calls](std::string_view call, Duration took) {
                 EXPECT_GT(took.count(), 0);
                 calls.emplace_back(call);
               }).value();
  put(*store, "a", "1");
  ASSERT_TRUE(world.run(store->read({.prefix = ""})));
  ASSERT_TRUE(world.run(store->compact(1)));
  EXPECT_EQ(calls, (std::vector<std::string>{"commit", "read", "compact"}));
}

}  // namespace
}  // namespace isthmus::infra
