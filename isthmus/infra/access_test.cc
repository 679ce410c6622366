#include "isthmus/infra/access.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;
using Role = Caller::Role;

class access_test : public testing::Test {
 protected:
  access_test() {
    config.admin_token_file = "/admin";
    config.owners = {{"prod", "/prod"}, {"test", "/test"}};
    write("/admin", "admin-token\n");
    write("/prod", "old-prod-token\nnew-prod-token\n");
    write("/test", "  test-token  ");
  }
  void write(const std::string& path, std::string_view text) {
    ASSERT_TRUE(files.write(path, text, FileMode::owner_only));
  }
  std::vector<std::string> load(Access& access) {
    Mistakes mistakes;
    access.load(mistakes);
    return mistakes.list();
  }
  static std::string name(const Access& access, std::string_view authorization) {
    return access.who(authorization, false).name;
  }

  VirtualWorld world;
  MemoryFiles files;
  MemoryLogger log;
  Config config;
};

TEST_F(access_test, a_token_tells_who_asks) {
  Access access(files, log, config);
  ASSERT_EQ(load(access), std::vector<std::string>{});
  EXPECT_EQ(access.who("Bearer admin-token", false).role, Role::admin);
  EXPECT_EQ(name(access, "Bearer old-prod-token"), "prod");
  EXPECT_EQ(name(access, "bearer new-prod-token"), "prod");
  EXPECT_EQ(name(access, "Bearer test-token"), "test");
}

TEST_F(access_test, everybody_else_is_nobody_and_is_told_why) {
  Access access(files, log, config);
  load(access);
  for (std::string_view wrong : {"Bearer prod", "Bearer ", "Bearer", "Basic admin-token",
                                 "admin-token", "", "Bearer old-prod-token new-prod-token"}) {
    Caller caller = access.who(wrong, true);
    EXPECT_EQ(caller.role, Role::nobody) << wrong;
    EXPECT_FALSE(caller.why.empty());
  }
  EXPECT_EQ(access.who(std::nullopt, true).role, Role::nobody);
}

TEST_F(access_test, without_owners_a_unix_socket_is_enough_to_read) {
  config.owners.clear();
  Access access(files, log, config);
  load(access);
  EXPECT_EQ(access.who(std::nullopt, true).role, Role::owner);
  EXPECT_EQ(access.who(std::nullopt, true).name, "local");
  EXPECT_EQ(access.who(std::nullopt, false).role, Role::nobody);
  EXPECT_EQ(access.who("Bearer admin-token", true).role, Role::admin);
  EXPECT_EQ(access.who("Bearer other", true).role, Role::nobody);
}

TEST_F(access_test, names_the_owners_of_the_configuration_or_local_where_there_are_none) {
  Access access(files, log, config);
  load(access);
  EXPECT_TRUE(access.names("prod"));
  EXPECT_FALSE(access.names("local"));
  EXPECT_FALSE(access.names("admin")) << "the administrator is no owner";
  config.owners.clear();
  access.replace(config);
  EXPECT_TRUE(access.names("local"));
  EXPECT_FALSE(access.names("prod"));
}

TEST_F(access_test, bad_token_files_are_named_together_and_no_token_is_shown) {
  write("/admin", "\n \n");
  write("/prod", "two words\n");
  ASSERT_TRUE(files.remove("/test"));
  Access access(files, log, config);
  std::vector<std::string> mistakes = load(access);
  ASSERT_EQ(mistakes.size(), 3u);
  EXPECT_EQ(mistakes[0], "/admin: holds no token");
  EXPECT_EQ(mistakes[1].find("two words"), std::string::npos);
  EXPECT_NE(mistakes[2].find("/test"), std::string::npos);
}

TEST_F(access_test, two_holders_of_one_token_could_not_be_told_apart) {
  write("/test", "new-prod-token\n");
  Access access(files, log, config);
  EXPECT_EQ(load(access), (std::vector<std::string>{"/test: holds a token that is also in /prod"}));
}

TEST_F(access_test, a_changed_file_is_read_again_and_a_bad_one_keeps_the_old_tokens) {
  Access access(files, log, config);
  load(access);
  write("/prod", "newest-token\n");
  EXPECT_EQ(world.run(with_timeout(2s, access.keep_loaded())).outcome(), Outcome::deadline);
  EXPECT_EQ(name(access, "Bearer newest-token"), "prod");
  EXPECT_EQ(name(access, "Bearer old-prod-token"), "");

  write("/prod", "");
  EXPECT_EQ(world.run(with_timeout(10s, access.keep_loaded())).outcome(), Outcome::deadline);
  EXPECT_EQ(name(access, "Bearer newest-token"), "prod");
  EXPECT_EQ(access.in_trouble(), (std::vector<std::string>{"prod"}));
  EXPECT_EQ(log.lines.size(), 2u);
  EXPECT_TRUE(log.mentions("holds no token"));
  EXPECT_FALSE(log.mentions("newest-token"));
}

TEST_F(access_test, a_file_with_somebody_elses_token_keeps_the_old_ones_until_that_is_over) {
  Access access(files, log, config);
  load(access);
  write("/prod", "admin-token\n");
  EXPECT_EQ(world.run(with_timeout(2s, access.keep_loaded())).outcome(), Outcome::deadline);
  EXPECT_EQ(access.who("Bearer admin-token", false).role, Role::admin);
  EXPECT_EQ(name(access, "Bearer old-prod-token"), "prod");
  EXPECT_EQ(access.in_trouble(), (std::vector<std::string>{"prod"}));
  EXPECT_TRUE(log.mentions("/prod: holds a token that is also in /admin"));

  write("/admin", "another-admin-token\n");
  EXPECT_EQ(world.run(with_timeout(2s, access.keep_loaded())).outcome(), Outcome::deadline);
  EXPECT_EQ(name(access, "Bearer admin-token"), "prod");
  EXPECT_EQ(name(access, "Bearer another-admin-token"), "admin");
  EXPECT_TRUE(access.in_trouble().empty());
}

TEST_F(access_test, two_files_may_swap_their_tokens_in_one_step) {
  Access access(files, log, config);
  load(access);
  write("/admin", "test-token");
  write("/test", "admin-token");
  access.reload_all();
  EXPECT_EQ(name(access, "Bearer test-token"), "admin");
  EXPECT_EQ(name(access, "Bearer admin-token"), "test");
  EXPECT_TRUE(access.in_trouble().empty());
}

TEST_F(access_test, owners_come_and_go_and_who_stays_keeps_their_tokens) {
  Access access(files, log, config);
  load(access);
  // Nobody looks at the file of who stays.
  ASSERT_TRUE(files.remove("/prod"));
  write("/new", "a-new-token");
  config.owners = {{"prod", "/prod"}, {"new", "/new"}};
  Mistakes mistakes;
  access.check(config, mistakes);
  EXPECT_EQ(mistakes.list(), std::vector<std::string>{});
  EXPECT_EQ(name(access, "Bearer a-new-token"), "");
  access.replace(config);
  EXPECT_EQ(name(access, "Bearer a-new-token"), "new");
  EXPECT_EQ(name(access, "Bearer new-prod-token"), "prod");
  EXPECT_EQ(name(access, "Bearer test-token"), "");
  EXPECT_EQ(access.who("Bearer admin-token", false).role, Role::admin);
}

TEST_F(access_test, a_newcomer_with_a_bad_file_is_told_before_and_takes_nothing_from_others) {
  Access access(files, log, config);
  load(access);
  write("/thief", "new-prod-token\n");
  config.owners = {{"prod", "/prod"}, {"test", "/test"}, {"thief", "/thief"}, {"none", "/none"}};
  Mistakes mistakes;
  access.check(config, mistakes);
  ASSERT_EQ(mistakes.list().size(), 2u);
  EXPECT_NE(mistakes.list()[0].find("/none"), std::string::npos);
  EXPECT_EQ(mistakes.list()[1], "/thief: holds a token that is also in /prod");

  access.replace(config);
  EXPECT_EQ(name(access, "Bearer new-prod-token"), "prod");
  EXPECT_EQ(access.in_trouble(), (std::vector<std::string>{"thief", "none"}));
  write("/thief", "own-token\n");
  EXPECT_EQ(world.run(with_timeout(2s, access.keep_loaded())).outcome(), Outcome::deadline);
  EXPECT_EQ(name(access, "Bearer own-token"), "thief");
}

TEST_F(access_test, a_token_may_move_to_another_owner_when_its_own_goes) {
  Access access(files, log, config);
  load(access);
  config.owners = {{"renamed", "/prod"}, {"test", "/test"}};
  Mistakes mistakes;
  access.check(config, mistakes);
  EXPECT_TRUE(mistakes.empty());
  access.replace(config);
  EXPECT_EQ(name(access, "Bearer new-prod-token"), "renamed");
}

TEST_F(access_test, the_first_owners_lock_local_out_and_that_is_told) {
  Config none;
  Access access(files, log, none);
  EXPECT_EQ(access.who(std::nullopt, true).name, "local");
  access.replace(none);
  EXPECT_FALSE(log.mentions("nobody is the owner local any more"));
  write("/first", "first-token");
  Config some;
  some.owners = {{"first", "/first"}};
  access.replace(some);
  EXPECT_EQ(access.who(std::nullopt, true).role, Caller::Role::nobody);
  EXPECT_TRUE(log.mentions("nobody is the owner local any more"));
}

TEST_F(access_test, owners_use_their_own_pools_or_all) {
  config.owners[0].pools = PoolNames{"public"};
  Access access(files, log, config);
  load(access);
  std::shared_ptr<const PoolNames> before = access.pools_of("prod");
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(access.pools_of("test"), nullptr);
  EXPECT_EQ(access.pools_of("nobody"), nullptr);
  config.owners[0].pools = PoolNames{"office"};
  access.replace(config);
  EXPECT_EQ(*access.pools_of("prod"), (PoolNames{"office"}));
  EXPECT_EQ(*before, (PoolNames{"public"}));
}

TEST_F(access_test, owners_route_what_they_are_given_or_nothing) {
  const std::vector<IpPrefix> pods{parse_prefix("10.244.0.0/16").value()};
  config.owners[0].destinations = pods;
  Access access(files, log, config);
  load(access);
  std::shared_ptr<const std::vector<IpPrefix>> before = access.destinations_of("prod");
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(access.destinations_of("test"), nullptr);
  EXPECT_EQ(access.destinations_of("nobody"), nullptr);
  config.owners[0].destinations.reset();
  access.replace(config);
  EXPECT_EQ(access.destinations_of("prod"), nullptr);
  EXPECT_EQ(*before, pods);
}

}  // namespace
}  // namespace isthmus::infra
