#include "isthmus/app/run_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/net/temporary_directory_testing.h"

namespace isthmus::app {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class RunSetupTest : public testing::Test {
 protected:
  RunSetupTest() {
    options.generic.cloud_provider = "isthmus";
    options.generic.cloud_config = file("cloud.yaml", "url: unix:///run/isthmus/infra.sock\n");
    options.generic.kubeconfig = file("kubeconfig", R"(
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: me}}]
clusters: [{name: test, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: me, user: {token: t0ken}}]
)");
  }

  std::string file(const std::string& name, const std::string& contents) {
    const std::string path = directory.path(name);
    EXPECT_TRUE(world.files().write(path, contents, FileMode::owner_only).has_value());
    return path;
  }
  std::optional<RunSetup> prepare() { return prepare_run(world, options, environment, mistakes); }

  net::TemporaryDirectory directory;
  net::PosixWorld world;
  RunOptions options;
  Environment environment{.host_name = "host1", .in_cluster = {}};
  Mistakes mistakes;
};

TEST_F(RunSetupTest, what_is_read_lands_in_the_setup) {
  options.serving.secure_port = 20258;
  options.node.concurrent_syncs = 3;
  options.election.resource_name = "my-lease";
  const std::optional<RunSetup> setup = prepare();

  EXPECT_THAT(mistakes.list(), IsEmpty());
  ASSERT_TRUE(setup.has_value());
  EXPECT_EQ(setup->cluster.server, "https://127.0.0.1:6443");
  EXPECT_EQ(setup->cloud.provider->scheme(), "isthmus");
  EXPECT_EQ(setup->manager.node.plan.scheme, "isthmus");
  EXPECT_EQ(setup->manager.node_workers, 3u);
  EXPECT_EQ(setup->manager.election.lease.name, "my-lease");
  EXPECT_THAT(setup->manager.election.identity, testing::StartsWith("host1_"));
  ASSERT_TRUE(setup->serving.has_value());
  EXPECT_EQ(setup->serving->address.port, 20258);
}

TEST_F(RunSetupTest, two_processes_on_one_host_have_different_identities) {
  EXPECT_NE(prepare()->manager.election.identity, prepare()->manager.election.identity);
}

TEST_F(RunSetupTest, master_counts_instead_of_the_kubeconfigs_server) {
  options.generic.master = "https://10.0.0.1:443";
  EXPECT_EQ(prepare()->cluster.server, "https://10.0.0.1:443");
}

TEST_F(RunSetupTest, the_node_controller_is_told_what_the_flags_say) {
  const controllers::NodePlanOptions as_usual = prepare()->manager.node.plan;
  EXPECT_TRUE(as_usual.refresh_labels);
  EXPECT_EQ(as_usual.node_ip_filter, controllers::NodeIpFilter::whole_type);
  EXPECT_EQ(as_usual.scheme, "isthmus");
  options.node.labels_refresh = false;
  options.node.ip_per_family = true;
  options.node.match_order = "name";
  const controllers::NodePlanOptions told = prepare()->manager.node.plan;
  EXPECT_FALSE(told.refresh_labels);
  EXPECT_EQ(told.node_ip_filter, controllers::NodeIpFilter::per_family);
  EXPECT_EQ(told.match_order, std::vector{controllers::MatchBy::name});
}

TEST_F(RunSetupTest, the_service_controller_is_told_what_the_flags_say) {
  using testing::ElementsAre;
  const ManagerOptions as_usual = prepare()->manager;
  EXPECT_THAT(as_usual.controllers,
              ElementsAre("cloud-node-controller", "cloud-node-lifecycle-controller",
                          "node-route-controller", "service-lb-controller"));
  EXPECT_THAT(as_usual.service.plan.classes, ElementsAre("isthmus.dev/lb"));
  EXPECT_TRUE(as_usual.service.plan.serves_unclassed);
  EXPECT_EQ(as_usual.service.plan.node_health, controllers::NodeHealth::automatic);
  EXPECT_TRUE(as_usual.service.shares_targets);
  EXPECT_EQ(as_usual.service_workers, 10U);

  options.generic.controllers = "service";
  options.service.load_balancer_classes = "example.com/a, isthmus.dev/lb";
  options.service.serve_unclassed = false;
  options.service.node_health = "kubelet";
  options.service.target_sets = false;
  options.service.drift_period = std::chrono::minutes(3);
  options.service.orphan_grace = std::chrono::minutes(4);
  options.service.concurrent_syncs = 3;
  const ManagerOptions told = prepare()->manager;
  EXPECT_THAT(told.controllers, ElementsAre("service-lb-controller"));
  EXPECT_THAT(told.service.plan.classes, ElementsAre("example.com/a", "isthmus.dev/lb"));
  EXPECT_FALSE(told.service.plan.serves_unclassed);
  EXPECT_EQ(told.service.plan.node_health, controllers::NodeHealth::kubelet);
  EXPECT_FALSE(told.service.shares_targets);
  EXPECT_EQ(told.service.drift_every, std::chrono::minutes(3));
  EXPECT_EQ(told.service.orphan_grace, std::chrono::minutes(4));
  EXPECT_EQ(told.service_workers, 3U);
}

TEST_F(RunSetupTest, flags_that_name_no_controller_and_no_class_are_refused) {
  options.generic.controllers = "nodes";
  options.service.load_balancer_classes = "a b";
  EXPECT_FALSE(prepare().has_value());
  EXPECT_THAT(mistakes.text(), HasSubstr("--controllers: \"nodes\": is no controller"));
  EXPECT_THAT(mistakes.text(), HasSubstr("--load-balancer-classes: \"a b\""));

  mistakes = {};
  options.generic.controllers = "*";
  options.service.load_balancer_classes = "";
  options.service.serve_unclassed = false;
  EXPECT_FALSE(prepare().has_value());
  EXPECT_THAT(mistakes.text(), HasSubstr("serve no Service at all"));
}

TEST_F(RunSetupTest, a_wrong_master_is_named_as_such_wherever_the_rest_comes_from) {
  for (const std::string master : {"ftp://x", "http://api.example:6443", "https://"}) {
    options.generic.master = master;
    mistakes = {};
    EXPECT_FALSE(prepare().has_value()) << master;
    EXPECT_THAT(mistakes.text(), testing::StartsWith("--master: ")) << master;
  }
}

TEST_F(RunSetupTest, an_ipv6_bind_address_needs_no_brackets) {
  options.serving.bind_address = "::1";
  const std::optional<RunSetup> setup = prepare();
  ASSERT_TRUE(setup.has_value()) << mistakes.text();
  EXPECT_THAT(setup->serving->address.host_or_path, HasSubstr("::1"));
}

TEST_F(RunSetupTest, port_zero_serves_nothing) {
  options.serving.secure_port = 0;
  EXPECT_FALSE(prepare()->serving.has_value());
}

TEST_F(RunSetupTest, the_default_migration_takes_upstreams_lease_for_three_controllers) {
  EXPECT_FALSE(prepare()->manager.migration.has_value());
  options.migration.enable_leader_migration = true;
  const std::optional<RunSetup> setup = prepare();
  ASSERT_TRUE(setup.has_value()) << mistakes.text();
  const ManagerOptions& manager = setup->manager;
  ASSERT_TRUE(manager.migration.has_value());
  EXPECT_EQ(manager.migration->election.lease.name, "cloud-provider-extraction-migration");
  EXPECT_EQ(manager.migration->election.lease.name_space, manager.election.lease.name_space);
  EXPECT_EQ(manager.migration->election.identity, manager.election.identity);
  EXPECT_TRUE(manager.migration->controllers.contains("service-lb-controller"));
  EXPECT_FALSE(manager.migration->controllers.contains("cloud-node-controller"));
}

TEST_F(RunSetupTest, what_a_migration_gives_to_another_component_does_not_run_here) {
  options.migration = {.enable_leader_migration = true,
                       .leader_migration_config = file("m.yaml", R"(
apiVersion: controllermanager.config.k8s.io/v1
kind: LeaderMigrationConfiguration
leaderName: moving
controllerLeaders: [{name: service, component: kube-controller-manager}]
)")};
  const std::optional<RunSetup> setup = prepare();
  ASSERT_TRUE(setup.has_value()) << mistakes.text();
  EXPECT_THAT(setup->manager.migration->elsewhere, testing::ElementsAre("service-lb-controller"));
  EXPECT_THAT(setup->manager.migration->controllers, IsEmpty());
  EXPECT_EQ(setup->manager.migration->election.lease.name, "moving");
}

TEST_F(RunSetupTest, mistakes_of_a_migration_file_are_named_by_its_lines) {
  options.migration = {.enable_leader_migration = true,
                       .leader_migration_config = file("m.yaml", R"(
apiVersion: controllermanager.config.k8s.io/v1
kind: LeaderMigrationConfiguration
leaderName: cloud-controller-manager
)")};
  EXPECT_FALSE(prepare().has_value());
  EXPECT_THAT(mistakes.text(), HasSubstr("must not be that of --leader-elect-resource-name"));

  mistakes = {};
  options.migration.leader_migration_config = directory.path("none.yaml");
  EXPECT_FALSE(prepare().has_value());
  EXPECT_THAT(mistakes.text(), HasSubstr("none.yaml"));
}

TEST_F(RunSetupTest, the_default_migration_does_not_share_the_main_lease_either) {
  options.migration.enable_leader_migration = true;
  options.election.resource_name = "cloud-provider-extraction-migration";
  EXPECT_FALSE(prepare().has_value());
  EXPECT_THAT(
      mistakes.list(),
      testing::ElementsAre(
          "--enable-leader-migration: the lease must not be that of --leader-elect-resource-name"));
}

TEST_F(RunSetupTest, the_lease_is_given_up_at_the_end_unless_its_gate_says_no) {
  EXPECT_TRUE(prepare()->manager.election.release_on_exit);
  options.generic.feature_gates = *FeatureGates::parse(std::string(kReleaseGate) + "=false");
  EXPECT_FALSE(prepare()->manager.election.release_on_exit);
}

TEST_F(RunSetupTest, the_clients_and_the_start_are_as_the_flags_say) {
  EXPECT_FALSE(prepare()->own_accounts);
  options.generic.use_service_account_credentials = true;
  options.generic.controller_start_interval = std::chrono::seconds(3);
  const std::optional<RunSetup> setup = prepare();
  EXPECT_TRUE(setup->own_accounts);
  EXPECT_EQ(setup->manager.start_interval, std::chrono::seconds(3));
  EXPECT_THAT(setup->component_config, HasSubstr("\"UseServiceAccountCredentials\":true"));
}

TEST_F(RunSetupTest, mistakes_of_all_files_are_reported_together) {
  options.generic.kubeconfig = directory.path("none");
  options.generic.cloud_config = file("bad.yaml", "urll: x\n");
  options.serving.tls.cert_file = directory.path("none.crt");
  options.serving.tls.private_key_file = directory.path("none.key");
  options.node.match_order = "name,serial";

  EXPECT_FALSE(prepare().has_value());

  const std::string text = mistakes.text();
  EXPECT_THAT(text, HasSubstr("--kubeconfig"));
  EXPECT_THAT(text, HasSubstr("urll"));
  EXPECT_THAT(text, HasSubstr("none.crt"));
  EXPECT_THAT(text, HasSubstr("serial"));
}

TEST_F(RunSetupTest, a_cloud_configuration_that_is_not_there_is_named_once) {
  options.generic.cloud_config = directory.path("nope.yaml");
  EXPECT_FALSE(prepare().has_value());
  EXPECT_EQ(mistakes.text(),
            "--cloud-config: " + directory.path("nope.yaml") + ": No such file or directory");
}

TEST_F(RunSetupTest, outside_a_cluster_the_missing_kubeconfig_is_named) {
  options.generic.kubeconfig = "";
  EXPECT_FALSE(prepare().has_value());
  EXPECT_THAT(mistakes.text(), HasSubstr("--kubeconfig is not given"));
  EXPECT_THAT(mistakes.text(), HasSubstr("KUBERNETES_SERVICE_HOST"));
}

}  // namespace
}  // namespace isthmus::app
