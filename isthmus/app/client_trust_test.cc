#include "isthmus/app/client_trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/file_stamp.h"
#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/net/authority_testing.h"

namespace isthmus::app {
namespace {

using kube::testing::FakeApi;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

const kube::ObjectKey kPublished{std::string(PublishedClientCa::kNamespace),
                                 std::string(PublishedClientCa::kName)};

class ClientTrustTest : public testing::Test {
 protected:
  bool trusts(const net::TestAuthority& authority) {
    if (trust.authorities() == nullptr) return false;
    const std::string client = authority.issue({.common_name = "a", .life = minutes(60)}).der;
    return trust.authorities()->verify({client}, world.loop.wall_now()).has_value();
  }
  void write(const std::string& pem) {
    ASSERT_TRUE(files.write("ca.crt", pem, FileMode::world_readable));
  }
  void publish(const std::string& key, const std::string& text) {
    const json::object config_map{
        {"metadata", json::object{{"name", kPublished.name}, {"namespace", kPublished.name_space}}},
        {"data", json::object{{key, text}}}};
    api.put(kube::ConfigMap::resource, compact_json(config_map));
  }

  VirtualWorld world;
  SeededRandom random{1};
  Metrics metrics;
  MemoryLogger log;
  MemoryFiles files;
  FakeApi api{world.loop};
  ClientTrust trust;
  const net::TestAuthority first{world.loop.wall_now()};
  const net::TestAuthority second{world.loop.wall_now()};
  PublishedClientCa published{api, trust, world.loop, random, metrics, log};
  Scope scope{world.loop};
};

TEST_F(ClientTrustTest, a_file_that_is_missing_or_no_pem_is_named) {
  EXPECT_THAT(load_client_ca(files, "ca.crt").error().message, HasSubstr("ca.crt"));
  write("not a certificate");
  EXPECT_THAT(load_client_ca(files, "ca.crt").error().message,
              HasSubstr("ca.crt: no PEM certificate"));
}

TEST_F(ClientTrustTest, a_file_that_changes_counts_without_a_restart) {
  write(first.pem());
  const std::optional<FileStamp> seen = stamp_of(files, "ca.crt");
  trust.set(load_client_ca(files, "ca.crt").value());
  scope.spawn(keep_client_ca_fresh, std::ref(files), "ca.crt", seen, std::ref(trust),
              std::ref(log));
  world.advance(minutes(1));
  EXPECT_TRUE(trusts(first));

  write(second.pem());
  world.advance(kClientCaCheckPeriod);
  EXPECT_TRUE(trusts(second));
  EXPECT_FALSE(trusts(first));

  write("half a file");
  world.advance(minutes(1));
  EXPECT_TRUE(trusts(second)) << "the old authorities stay";
  EXPECT_TRUE(log.mentions("ca.crt"));
}

TEST_F(ClientTrustTest, a_file_that_changed_between_loading_and_looking_counts_as_well) {
  write(first.pem());
  const std::optional<FileStamp> seen = stamp_of(files, "ca.crt");
  trust.set(load_client_ca(files, "ca.crt").value());
  write(second.pem());
  scope.spawn(keep_client_ca_fresh, std::ref(files), "ca.crt", seen, std::ref(trust),
              std::ref(log));
  world.advance(kClientCaCheckPeriod);
  EXPECT_TRUE(trusts(second));
}

TEST_F(ClientTrustTest, what_the_api_server_publishes_counts_at_once) {
  publish("client-ca-file", first.pem());
  publish("requestheader-client-ca-file", "ignored");
  publish("client-ca-file", first.pem());
  EXPECT_EQ(published.check().outcome(), Outcome::lost);
  scope.spawn(&PublishedClientCa::run, &published);
  world.advance(seconds(1));
  EXPECT_TRUE(published.check());
  EXPECT_TRUE(trusts(first));

  publish("client-ca-file", second.pem());
  world.settle();
  EXPECT_TRUE(trusts(second));
}

TEST_F(ClientTrustTest, an_unreadable_authority_leaves_the_old_and_one_that_is_gone_does_not) {
  publish("client-ca-file", first.pem());
  scope.spawn(&PublishedClientCa::run, &published);
  world.advance(seconds(1));

  publish("client-ca-file", "half a PEM");
  world.settle();
  EXPECT_TRUE(trusts(first));
  EXPECT_TRUE(log.mentions("the old authorities"));

  publish("other", "x");
  world.settle();
  EXPECT_FALSE(trusts(first));
  EXPECT_TRUE(log.mentions("nobody is known by a client certificate"));
}

TEST_F(ClientTrustTest, a_config_map_that_does_not_exist_is_an_answer) {
  scope.spawn(&PublishedClientCa::run, &published);
  world.advance(seconds(1));
  EXPECT_TRUE(published.check());
  EXPECT_EQ(trust.authorities(), nullptr);
}

TEST_F(ClientTrustTest, one_that_may_not_be_read_is_told_and_tried_again) {
  publish("client-ca-file", first.pem());
  for (const auto verb : {kube::testing::Verb::watch, kube::testing::Verb::list}) {
    api.inject({.verb = verb, .error = {Outcome::denied, "forbidden", {}}, .times = 2});
  }
  scope.spawn(&PublishedClientCa::run, &published);
  world.advance(std::chrono::milliseconds(100));
  EXPECT_EQ(published.check().outcome(), Outcome::denied);
  EXPECT_THAT(published.check().error().message, HasSubstr("extension-apiserver-authentication"));

  world.advance(minutes(5));
  EXPECT_TRUE(published.check());
  EXPECT_TRUE(trusts(first));
}

}  // namespace
}  // namespace isthmus::app
