#include "isthmus/app/controller_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::app {
namespace {

using testing::ElementsAre;
using testing::Key;

kube::ClusterConfig cluster() {
  return {.server = "https://127.0.0.1:6443",
          .tls = {.certificate_pem = "certificate", .private_key_pem = Secret("key")},
          .token = Secret("t0ken"),
          .token_file = "/token"};
}

TEST(controller_clients, there_is_one_for_each_client_name_of_upstreams) {
  net::PosixWorld world;
  kube::testing::FakeApi root(world.loop());
  Metrics metrics;
  MemoryLogger log;
  kube::ClusterConfig anybody = without_identity(cluster());
  for (const auto identity :
       {ControllerClients::Identity::shared, ControllerClients::Identity::own_account}) {
    auto clients = ControllerClients::open(world, anybody, identity, root, metrics, log);
    ASSERT_TRUE(clients.has_value()) << clients.error().message;
    EXPECT_THAT((*clients)->apis(), ElementsAre(Key("node-controller"), Key("route-controller"),
                                                Key("service-controller")));
  }
}

// A certificate would say who we are, and the server would never look at the token.
TEST(controller_clients, an_account_shows_neither_certificate_nor_token_of_the_configuration) {
  const kube::ClusterConfig nobody = without_identity(cluster());
  EXPECT_EQ(nobody.server, "https://127.0.0.1:6443");
  EXPECT_EQ(nobody.tls.certificate_pem, "");
  EXPECT_TRUE(nobody.tls.private_key_pem.empty());
  EXPECT_TRUE(nobody.token.empty());
  EXPECT_EQ(nobody.token_file, "");
}

}  // namespace
}  // namespace isthmus::app
