#include "isthmus/providers/infra/client.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/infra/server_testing.h"

namespace isthmus::providers::infra {
namespace {

struct client : ::testing::Test {
  VirtualWorld world;
  testing::ScriptedServer server;
  Client asking{server, world.loop};
};

TEST_F(client, reads_what_the_server_says_of_itself) {
  server.greet(testing::whole_server());
  EXPECT_EQ(world.run(asking.server_info()), testing::whole_server());
  server.answer("GET /v1", testing::html_answer(200));
  EXPECT_EQ(world.run(asking.server_info()).outcome(), Outcome::lost);
}

TEST_F(client, passes_on_when_to_come_back) {
  server.answer("GET /v1/instances?limit=1000",
                net::Response{.status = 503, .headers = {{"Retry-After", "9"}}, .body = {}});
  const auto answer = world.run(asking.instances(""));
  EXPECT_EQ(answer.outcome(), Outcome::busy);
  EXPECT_EQ(answer.error().retry_after, std::chrono::seconds(9));
}

}  // namespace
}  // namespace isthmus::providers::infra
