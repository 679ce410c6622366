#include "isthmus/infra/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "isthmus/base/virtual_world.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPath = "/etc/isthmus/infra.yaml";
constexpr std::string_view kBasis =
    "listen: [\"unix:/s\"]\nstore: {sqlite: /d}\nadminTokenFile: /admin\n"
    "host: {name: lb1, driver: nft}\n";
constexpr std::string_view kOne =
    "owners: [{name: prod, tokenFile: /prod, pools: [public]}]\n"
    "pools: [{name: public, ranges: [192.0.2.0/28]}]\n";
constexpr std::string_view kTwo =
    "owners: [{name: prod, tokenFile: /prod}, {name: test, tokenFile: /test}]\n"
    "pools: [{name: public, ranges: [192.0.2.0/28]}, {name: office, ranges: [10.0.0.0/24]}]\n";

// Holds pools in memory, and does not let go of those whose addresses are held.
class HeldPools final : public PoolKeeper {
 public:
  Task<Result<std::vector<std::string>>> load_pools(std::vector<api::Pool> said) override {
    ++loads;
    if (refusal) co_return std::unexpected(*refusal);
    std::vector<std::string> changed;
    for (const api::Pool& pool : said) {
      if (std::ranges::find(pools, pool) == pools.end()) changed.push_back(pool.name);
    }
    pools = std::move(said);
    co_return changed;
  }

  std::vector<api::Pool> pools;
  std::optional<Error> refusal;
  int loads = 0;
};

class config_file : public testing::Test {
 protected:
  config_file() {
    for (const char* name : {"admin", "prod", "test"}) {
      put(fmt::format("/{}", name), fmt::format("{}-token\n", name));
    }
    write(kOne);
    Mistakes mistakes;
    running = parse_config(fmt::format("{}{}", kBasis, kOne), kPath, mistakes);
    access.emplace(files, log, running);
    access->load(mistakes);
    EXPECT_EQ(mistakes.list(), std::vector<std::string>{});
    file.emplace(files, kPath, running, *access, &pools, world.loop, metrics, log);
  }
  void put(const std::string& path, std::string_view text) {
    ASSERT_TRUE(files.write(path, text, FileMode::owner_only));
  }
  void write(std::string_view rest) { put(kPath, fmt::format("{}{}", kBasis, rest)); }
  void watch_for(Duration time) {
    EXPECT_EQ(world.run(with_timeout(time, file->keep_loaded())).outcome(), Outcome::deadline);
  }
  // What is in force: who is let in, and which pools there are.
  std::string in_force() {
    std::string text;
    for (const char* name : {"admin", "prod", "test"}) {
      std::string token = fmt::format("Bearer {}-token", name);
      if (access->who(token, false).role != Caller::Role::nobody) text += fmt::format("{} ", name);
    }
    std::vector<std::string> names;
    for (const api::Pool& pool : pools.pools) names.push_back(pool.name);
    return text + fmt::format("| {}", fmt::join(names, " "));
  }

  VirtualWorld world;
  MemoryFiles files;
  Metrics metrics;
  MemoryLogger log;
  HeldPools pools;
  Config running;
  std::optional<Access> access;
  std::optional<ConfigFile> file;
};

TEST_F(config_file, is_in_force_at_once_when_asked) {
  ASSERT_TRUE(world.run(file->load()));
  EXPECT_EQ(in_force(), "admin prod | public");
  EXPECT_EQ(file->trouble(), std::nullopt);
  EXPECT_TRUE(file->restart_needed().empty());
  EXPECT_NE(access->pools_of("prod"), nullptr);
}

TEST_F(config_file, takes_in_owners_and_pools_when_it_changed_and_settled) {
  ASSERT_TRUE(world.run(file->load()));
  watch_for(3s);
  EXPECT_EQ(pools.loads, 1);
  write(kTwo);
  watch_for(kFileCheckPeriod + 1ms);
  EXPECT_EQ(in_force(), "admin prod | public");
  watch_for(kFileCheckPeriod + 1ms);
  EXPECT_EQ(in_force(), "admin prod test | public office");
  EXPECT_EQ(access->pools_of("prod"), nullptr);
  EXPECT_TRUE(log.mentions("pools_changed=\"office\""));
}

TEST_F(config_file, with_mistakes_changes_nothing_and_names_all_of_them_until_it_is_right) {
  ASSERT_TRUE(world.run(file->load()));
  write("owners: [{name: prod, tokenFile: /prod, pools: [nowhere]}]\npools: [{name: public}]\n");
  watch_for(2s);
  EXPECT_EQ(in_force(), "admin prod | public");
  ASSERT_TRUE(file->trouble());
  EXPECT_TRUE(file->trouble()->starts_with("2 mistakes, the first: " + std::string(kPath) +
                                           ": line 5: owners[0].pools[0]"))
      << *file->trouble();
  EXPECT_TRUE(log.mentions("line 6: pools[0].ranges is required"));
  EXPECT_EQ(pools.loads, 1);
  write(kTwo);
  watch_for(2s);
  EXPECT_EQ(file->trouble(), std::nullopt);
  EXPECT_EQ(in_force(), "admin prod test | public office");
}

TEST_F(config_file, whose_new_owner_has_no_tokens_changes_nothing) {
  ASSERT_TRUE(world.run(file->load()));
  ASSERT_TRUE(files.remove("/test"));
  write(kTwo);
  watch_for(2s);
  EXPECT_EQ(in_force(), "admin prod | public");
  ASSERT_TRUE(file->trouble());
  EXPECT_NE(file->trouble()->find("/test"), std::string::npos);
  // Whoever writes the token file says so, as after any mistake: by SIGHUP, or a changed file.
  put("/test", "test-token");
  ASSERT_TRUE(world.run(file->load()));
  EXPECT_EQ(in_force(), "admin prod test | public office");
}

TEST_F(config_file, that_would_take_held_addresses_changes_nothing) {
  ASSERT_TRUE(world.run(file->load()));
  pools.refusal = Error{Outcome::invalid, "192.0.2.1 is held by prod/a\n192.0.2.2 by prod/b"};
  write(kTwo);
  EXPECT_EQ(world.run(file->load()).outcome(), Outcome::invalid);
  EXPECT_EQ(in_force(), "admin prod | public");
  EXPECT_TRUE(file->trouble()->starts_with("2 mistakes, the first: " + std::string(kPath)));
  EXPECT_TRUE(log.mentions(std::string(kPath) + ": 192.0.2.2 by prod/b"));
}

TEST_F(config_file, is_tried_again_when_the_store_could_not_take_it) {
  pools.refusal = Error{Outcome::busy, "the store is busy"};
  watch_for(3s);
  EXPECT_EQ(file->trouble(), std::string(kPath) + ": the store is busy");
  pools.refusal.reset();
  watch_for(1s);
  EXPECT_EQ(file->trouble(), std::nullopt);
  EXPECT_EQ(in_force(), "admin prod | public");
}

TEST_F(config_file, names_what_needs_a_restart_and_takes_in_the_rest) {
  put(kPath, fmt::format("listen: [\"unix:/t\"]\nstore: {{sqlite: /e}}\nadminTokenFile: /admin\n"
                         "inventory: /i\nhost: {{name: lb2, driver: nft}}\n{}",
                         kTwo));
  ASSERT_TRUE(world.run(file->load()));
  EXPECT_EQ(in_force(), "admin prod test | public office");
  EXPECT_EQ(file->restart_needed(),
            (std::vector<std::string>{"listen", "store", "inventory", "host"}));
  EXPECT_TRUE(log.mentions("keys=\"listen store inventory host\""));
  write(kTwo);
  ASSERT_TRUE(world.run(file->load()));
  EXPECT_TRUE(file->restart_needed().empty());
}

TEST_F(config_file, without_a_host_pools_wait_for_a_restart) {
  file.emplace(files, kPath, running, *access, nullptr, world.loop, metrics, log);
  write(kTwo);
  ASSERT_TRUE(world.run(file->load()));
  EXPECT_EQ(in_force(), "admin prod test | ");
  EXPECT_EQ(file->restart_needed(), (std::vector<std::string>{"pools"}));
}

TEST_F(config_file, that_is_refused_at_the_start_leaves_nothing_in_force_and_says_so) {
  pools.refusal = Error{Outcome::invalid, "192.0.2.1 is held by prod/a"};
  ASSERT_FALSE(world.run(file->load()));
  EXPECT_TRUE(log.mentions("configuration not loaded, nothing was started"));
  EXPECT_FALSE(log.mentions("stay"));
  pools.refusal.reset();
  ASSERT_TRUE(world.run(file->load()));
  write("");
  pools.refusal = Error{Outcome::invalid, "192.0.2.1 is held by prod/a"};
  ASSERT_FALSE(world.run(file->load()));
  EXPECT_TRUE(log.mentions("the last good owners and pools stay"));
}

TEST_F(config_file, that_is_gone_changes_nothing) {
  ASSERT_TRUE(world.run(file->load()));
  ASSERT_TRUE(files.remove(kPath));
  watch_for(2s);
  EXPECT_EQ(in_force(), "admin prod | public");
  EXPECT_TRUE(file->trouble());
  write(kOne);
  watch_for(2s);
  EXPECT_EQ(file->trouble(), std::nullopt);
}

TEST_F(config_file, what_is_wrong_with_the_store_is_not_said_of_the_file) {
  pools.refusal = Error{Outcome::lost, "pools/public: a damaged record"};
  Result<> loaded = world.run(file->load());
  ASSERT_EQ(loaded.outcome(), Outcome::lost);
  EXPECT_EQ(loaded.error().message, "pools/public: a damaged record");
}

}  // namespace
}  // namespace isthmus::infra
