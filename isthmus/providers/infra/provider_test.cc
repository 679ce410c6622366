#include "isthmus/providers/infra/provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/infra/server_testing.h"

namespace isthmus::providers::infra {
namespace {

TEST(infra_provider, has_all_that_the_api_has_and_asks_with_its_token) {
  VirtualWorld world;
  MemoryFiles files;
  ASSERT_TRUE(files.write("/token", "s3cret\n", FileMode::owner_only));
  auto owned = std::make_unique<testing::ScriptedServer>();
  testing::ScriptedServer& server = *owned;
  server.greet(testing::whole_server());
  InfraProvider provider(std::move(owned), world.loop, files, {.token_file = "/token"});

  EXPECT_EQ(provider.name(), "isthmus");
  EXPECT_EQ(provider.scheme(), "isthmus");
  const cloud::Capabilities has = provider.capabilities();
  EXPECT_NE(has.instances, nullptr);
  EXPECT_NE(has.load_balancers, nullptr);
  EXPECT_NE(has.target_sets, nullptr);
  EXPECT_TRUE(world.run(provider.check()));
  EXPECT_EQ(server.last.headers.find("Authorization"), "Bearer s3cret");
}

}  // namespace
}  // namespace isthmus::providers::infra
