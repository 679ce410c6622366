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
    options.cloud_provider = "isthmus";
    options.cloud_config = file("cloud.yaml", "url: unix:///run/isthmus/infra.sock\n");
    options.kubeconfig = file("kubeconfig", R"(
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
  options.secure_port = 20258;
  options.concurrent_node_syncs = 3;
  options.leader_elect_resource_name = "my-lease";
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
  options.master = "https://10.0.0.1:443";
  EXPECT_EQ(prepare()->cluster.server, "https://10.0.0.1:443");
}

TEST_F(RunSetupTest, the_node_controller_is_told_what_the_flags_say) {
  const controllers::NodePlanOptions as_usual = prepare()->manager.node.plan;
  EXPECT_TRUE(as_usual.refresh_labels);
  EXPECT_EQ(as_usual.node_ip_filter, controllers::NodeIpFilter::whole_type);
  EXPECT_EQ(as_usual.scheme, "isthmus");
  options.node_labels_refresh = false;
  options.node_ip_per_family = true;
  options.node_match_order = "name";
  const controllers::NodePlanOptions told = prepare()->manager.node.plan;
  EXPECT_FALSE(told.refresh_labels);
  EXPECT_EQ(told.node_ip_filter, controllers::NodeIpFilter::per_family);
  EXPECT_EQ(told.match_order, std::vector{controllers::MatchBy::name});
}

TEST_F(RunSetupTest, the_service_controller_is_told_what_the_flags_say) {
  using testing::ElementsAre;
  const ManagerOptions as_usual = prepare()->manager;
  EXPECT_THAT(as_usual.controllers, ElementsAre("cloud-node-controller", "service-lb-controller"));
  EXPECT_THAT(as_usual.service.plan.classes, ElementsAre("isthmus.dev/lb"));
  EXPECT_TRUE(as_usual.service.plan.serves_unclassed);
  EXPECT_EQ(as_usual.service.plan.node_health, controllers::NodeHealth::automatic);
  EXPECT_TRUE(as_usual.service.shares_targets);
  EXPECT_EQ(as_usual.service_workers, 10U);

  options.controllers = "service";
  options.load_balancer_classes = "example.com/a, isthmus.dev/lb";
  options.serve_unclassed_services = false;
  options.lb_node_health = "kubelet";
  options.lb_target_sets = false;
  options.load_balancer_drift_period = std::chrono::minutes(3);
  options.load_balancer_orphan_grace = std::chrono::minutes(4);
  options.concurrent_service_syncs = 3;
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
  options.controllers = "nodes";
  options.load_balancer_classes = "a b";
  EXPECT_FALSE(prepare().has_value());
  EXPECT_THAT(mistakes.text(), HasSubstr("--controllers: \"nodes\": is no controller"));
  EXPECT_THAT(mistakes.text(), HasSubstr("--load-balancer-classes: \"a b\""));

  mistakes = {};
  options.controllers = "*";
  options.load_balancer_classes = "";
  options.serve_unclassed_services = false;
  EXPECT_FALSE(prepare().has_value());
  EXPECT_THAT(mistakes.text(), HasSubstr("serve no Service at all"));
}

TEST_F(RunSetupTest, a_wrong_master_is_named_as_such_wherever_the_rest_comes_from) {
  for (const std::string master : {"ftp://x", "http://api.example:6443", "https://"}) {
    options.master = master;
    mistakes = {};
    EXPECT_FALSE(prepare().has_value()) << master;
    EXPECT_THAT(mistakes.text(), testing::StartsWith("--master: ")) << master;
  }
}

TEST_F(RunSetupTest, an_ipv6_bind_address_needs_no_brackets) {
  options.bind_address = "::1";
  const std::optional<RunSetup> setup = prepare();
  ASSERT_TRUE(setup.has_value()) << mistakes.text();
  EXPECT_THAT(setup->serving->address.host_or_path, HasSubstr("::1"));
}

TEST_F(RunSetupTest, port_zero_serves_nothing) {
  options.secure_port = 0;
  EXPECT_FALSE(prepare()->serving.has_value());
}

TEST_F(RunSetupTest, mistakes_of_all_files_are_reported_together) {
  options.kubeconfig = directory.path("none");
  options.cloud_config = file("bad.yaml", "urll: x\n");
  options.tls_cert_file = directory.path("none.crt");
  options.tls_private_key_file = directory.path("none.key");
  options.node_match_order = "name,serial";
  options.bind_address = "not an address";

  EXPECT_FALSE(prepare().has_value());

  const std::string text = mistakes.text();
  EXPECT_THAT(text, HasSubstr("--kubeconfig"));
  EXPECT_THAT(text, HasSubstr("urll"));
  EXPECT_THAT(text, HasSubstr("none.crt"));
  EXPECT_THAT(text, HasSubstr("serial"));
  EXPECT_THAT(text, HasSubstr("--bind-address"));
}

TEST_F(RunSetupTest, outside_a_cluster_the_missing_kubeconfig_is_named) {
  options.kubeconfig = "";
  EXPECT_FALSE(prepare().has_value());
  EXPECT_THAT(mistakes.text(), HasSubstr("--kubeconfig is not given"));
  EXPECT_THAT(mistakes.text(), HasSubstr("KUBERNETES_SERVICE_HOST"));
}

}  // namespace
}  // namespace isthmus::app
