#include "isthmus/app/component_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/json.h"

namespace isthmus::app {
namespace {

json::value config_of(const RunOptions& options,
                      const std::optional<LeaderMigration>& migration = {}) {
  const Result<json::value> document = parse_json(component_config(options, migration));
  EXPECT_TRUE(document.has_value());
  return document->at("cloudcontrollermanager.config.k8s.io");
}

std::vector<std::string> keys(const json::value& object) {
  std::vector<std::string> names;
  for (const auto& member : object.as_object()) names.emplace_back(member.key());
  return names;
}

// The members of upstream's v0.37, where they stand.
TEST(component_config, has_upstreams_members_by_their_go_names) {
  using testing::UnorderedElementsAre;
  const json::value config = config_of({});
  EXPECT_THAT(keys(config), UnorderedElementsAre("Generic", "KubeCloudShared", "NodeController",
                                                 "NodeLifecycleController", "ServiceController",
                                                 "NodeStatusUpdateFrequency", "Webhook"));
  EXPECT_THAT(keys(config.at("Generic")),
              UnorderedElementsAre("Port", "Address", "MinResyncPeriod", "ClientConnection",
                                   "ControllerStartInterval", "LeaderElection", "Controllers",
                                   "Debugging", "LeaderMigrationEnabled", "LeaderMigration"));
  EXPECT_THAT(keys(config.at("KubeCloudShared")),
              UnorderedElementsAre("CloudProvider", "ExternalCloudVolumePlugin",
                                   "UseServiceAccountCredentials", "AllowUntaggedCloud",
                                   "RouteReconciliationPeriod", "ClusterName", "ClusterCIDR",
                                   "AllocateNodeCIDRs", "CIDRAllocatorType", "ConfigureCloudRoutes",
                                   "NodeSyncPeriod"));
  EXPECT_EQ(config.at("NodeStatusUpdateFrequency"), "5m0s");
  EXPECT_TRUE(config.at_pointer("/Webhook/Webhooks").is_null());
  EXPECT_EQ(config.at_pointer("/Generic/MinResyncPeriod"), "12h0m0s");
}

TEST(component_config, says_what_is_in_force) {
  RunOptions options;
  options.generic.cloud_provider = "isthmus";
  options.generic.controllers = "*, -route";
  options.generic.kube_api_qps = 12.5;
  options.election.leader_elect = false;
  options.node.concurrent_syncs = 3;
  const json::value config = config_of(options);
  EXPECT_EQ(config.at_pointer("/KubeCloudShared/CloudProvider/Name"), "isthmus");
  EXPECT_EQ(config.at_pointer("/Generic/Controllers"), (json::array{"*", "-route"}));
  EXPECT_EQ(config.at_pointer("/Generic/ClientConnection/QPS"), 12.5);
  EXPECT_EQ(config.at_pointer("/Generic/LeaderElection/LeaderElect"), false);
  EXPECT_EQ(config.at_pointer("/NodeController/ConcurrentNodeSyncs"), 3);
}

TEST(component_config, shows_the_migration_that_was_read) {
  RunOptions options;
  options.migration.enable_leader_migration = true;
  const json::value config = config_of(options, default_leader_migration());
  EXPECT_EQ(config.at_pointer("/Generic/LeaderMigrationEnabled"), true);
  EXPECT_EQ(config.at_pointer("/Generic/LeaderMigration/LeaderName"),
            "cloud-provider-extraction-migration");
  EXPECT_EQ(config.at_pointer("/Generic/LeaderMigration/ControllerLeaders/1/Name"),
            "service-lb-controller");
}

}  // namespace
}  // namespace isthmus::app
