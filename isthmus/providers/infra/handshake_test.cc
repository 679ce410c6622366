#include "isthmus/providers/infra/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/infra/server_testing.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct handshake : ::testing::Test {
  handshake() { server.greet(info); }
  void change(const std::function<void(api::ServerInfo&)>& how) {
    how(info);
    server.greet(info);
  }
  Result<std::string> owner(Handshake& asked) {
    return world.run(asked.owner(api::capability::load_balancers));
  }

  VirtualWorld world;
  api::ServerInfo info = testing::whole_server();
  testing::ScriptedServer server;
  Client client{server, world.loop};
  Handshake hands{client, "isthmus", ""};
};

TEST_F(handshake, is_made_once) {
  EXPECT_TRUE(world.run(hands.needs(api::capability::instances)));
  EXPECT_EQ(owner(hands), "prod");
  EXPECT_THAT(server.seen, SizeIs(1));
}

TEST_F(handshake, is_refused_to_a_server_of_another_version_or_scheme) {
  change([](api::ServerInfo& said) { said.protocol_version = "v2"; });
  EXPECT_EQ(world.run(hands.shake()).outcome(), Outcome::unsupported);
  EXPECT_EQ(owner(hands).outcome(), Outcome::unsupported);
  change([](api::ServerInfo& said) {
    said.protocol_version = "v1";
    said.provider_id_scheme = "other";
  });
  const Result<> refused = world.run(hands.shake());
  EXPECT_EQ(refused.outcome(), Outcome::invalid);
  EXPECT_THAT(refused.error().message, HasSubstr("other://"));
}

// What is asked for is not wrong, and is to be asked for again.
TEST_F(handshake, with_a_server_of_another_scheme_is_no_answer_to_who_asks_for_something) {
  change([](api::ServerInfo& said) { said.provider_id_scheme = "other"; });
  const Result<> needed = world.run(hands.needs(api::capability::instances));
  EXPECT_EQ(needed.outcome(), Outcome::lost);
  EXPECT_THAT(needed.error().message, HasSubstr("other://"));
  EXPECT_EQ(owner(hands).outcome(), Outcome::lost);
  change([](api::ServerInfo& said) { said.provider_id_scheme = "isthmus"; });
  EXPECT_EQ(owner(hands), "prod");
}

TEST_F(handshake, names_what_the_server_lacks_and_asks_again_whether_it_still_does) {
  change([](api::ServerInfo& said) { said.capabilities = {"instances"}; });
  EXPECT_TRUE(world.run(hands.shake()));
  const Result<std::string> lacking = owner(hands);
  EXPECT_EQ(lacking.outcome(), Outcome::unsupported);
  EXPECT_THAT(lacking.error().message, HasSubstr("its configuration has no host"));
  change([](api::ServerInfo& said) { said.capabilities.emplace_back("loadBalancers"); });
  EXPECT_EQ(owner(hands), "prod");
}

TEST_F(handshake, of_an_administrator_needs_a_configuration_that_says_who_we_are) {
  change([](api::ServerInfo& said) { said.owner.clear(); });
  const Result<std::string> nobody = owner(hands);
  EXPECT_EQ(nobody.outcome(), Outcome::denied);
  EXPECT_THAT(nobody.error().message, HasSubstr("owner: NAME"));
  Handshake told(client, "isthmus", "test");
  EXPECT_EQ(owner(told), "test");
}

TEST_F(handshake, tells_a_token_of_somebody_else_from_the_owner_that_is_configured) {
  Handshake told(client, "isthmus", "test");
  const Result<> refused = world.run(told.shake());
  EXPECT_EQ(refused.outcome(), Outcome::denied);
  EXPECT_THAT(refused.error().message, HasSubstr("prod"));
}

TEST_F(handshake, is_made_anew_when_it_is_forgotten) {
  EXPECT_EQ(owner(hands), "prod");
  hands.has_no_preferences();
  change([](api::ServerInfo& said) { said.owner = "other"; });
  EXPECT_EQ(owner(hands), "prod");
  hands.forget();
  EXPECT_FALSE(hands.takes_preferences());
  EXPECT_EQ(owner(hands), "other");
  EXPECT_TRUE(hands.takes_preferences());
}

TEST_F(handshake, that_failed_leaves_nothing_known) {
  EXPECT_TRUE(world.run(hands.shake()));
  server.answer("GET /v1", fail(Outcome::lost, "no connection"));
  EXPECT_EQ(world.run(hands.shake()).outcome(), Outcome::lost);
  EXPECT_EQ(owner(hands).outcome(), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::providers::infra
