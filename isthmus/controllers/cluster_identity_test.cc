#include "isthmus/controllers/cluster_identity.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/api/namespace.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::controllers {
namespace {

constexpr std::string_view kUid = "6f0c3b1e-0f5a-4c4e-9d55-0a6f2a1f7b11";

class ClusterIdentity : public ::testing::Test {
 protected:
  void have_namespace(std::string_view uid) {
    api.put(kube::Namespace::resource,
            R"({"metadata": {"name": "kube-system", "uid": ")" + std::string(uid) + R"("}})");
  }

  VirtualWorld world;
  kube::testing::FakeApi api{world.loop};
};

TEST_F(ClusterIdentity, is_the_uid_of_the_namespace_kube_system) {
  have_namespace(kUid);
  const Result<cloud::ClusterUid> uid = world.run(read_cluster_uid(api));
  ASSERT_TRUE(uid);
  EXPECT_EQ(uid->text(), kUid);
}

TEST_F(ClusterIdentity, is_not_known_while_the_server_does_not_say) {
  EXPECT_EQ(world.run(read_cluster_uid(api)).outcome(), Outcome::absent);
  have_namespace(kUid);
  api.inject({.verb = kube::testing::Verb::get, .error = {Outcome::denied, "no rights"}});
  EXPECT_EQ(world.run(read_cluster_uid(api)).outcome(), Outcome::denied);
}

TEST_F(ClusterIdentity, is_never_made_of_a_uid_that_is_none) {
  have_namespace("1234");
  EXPECT_EQ(world.run(read_cluster_uid(api)).outcome(), Outcome::lost);
}

TEST_F(ClusterIdentity, is_confirmed_only_while_it_is_the_same) {
  const cloud::ClusterUid ours = cloud::ClusterUid::parse(kUid).value();
  EXPECT_EQ(world.run(confirm_cluster(api, ours)).outcome(), Outcome::absent);
  have_namespace(kUid);
  EXPECT_TRUE(world.run(confirm_cluster(api, ours)));
  api.erase(kube::Namespace::resource, {"", "kube-system"});
  have_namespace("0a6f2a1f-0f5a-4c4e-9d55-6f0c3b1e7b11");
  EXPECT_EQ(world.run(confirm_cluster(api, ours)).outcome(), Outcome::conflict);
}

}  // namespace
}  // namespace isthmus::controllers
