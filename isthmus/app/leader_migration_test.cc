#include "isthmus/app/leader_migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/controller_names.h"

namespace isthmus::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string file_of(const std::string& version, const std::string& rest) {
  return "apiVersion: controllermanager.config.k8s.io/" + version +
         "\nkind: LeaderMigrationConfiguration\nleaderName: moving\n" + rest;
}

Result<LeaderMigration> parse(const std::string& text) {
  return parse_leader_migration(text, "/m.yaml");
}

std::string mistake(const std::string& text) {
  const Result<LeaderMigration> read = parse(text);
  EXPECT_EQ(read.outcome(), Outcome::invalid) << text;
  return read ? "" : read.error().message;
}

TEST(leader_migration, every_version_is_read) {
  for (const std::string version : {"v1alpha1", "v1beta1"}) {
    const auto read = parse(file_of(version, "resourceLock: leases\ncontrollerLeaders: []\n"));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->lease, "moving");
  }
  EXPECT_TRUE(parse(file_of("v1", "controllerLeaders: []\n")));
  EXPECT_TRUE(parse(R"({"apiVersion": "controllermanager.config.k8s.io/v1",
      "kind": "LeaderMigrationConfiguration", "leaderName": "moving"})"));
}

TEST(leader_migration, names_aliases_and_old_names_mean_the_same_controller) {
  for (const std::string name : {"service-lb-controller", "service", "service-controller"}) {
    const auto read =
        parse(file_of("v1", "controllerLeaders: [{name: " + name + ", component: '*'}]"));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_THAT(read->ours(), ElementsAre("service-lb-controller"));
  }
  for (const std::string name : {"node-route-controller", "route", "route-controller"}) {
    const auto read =
        parse(file_of("v1", "controllerLeaders: [{name: " + name + ", component: '*'}]"));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_THAT(read->ours(), ElementsAre("node-route-controller"));
  }
}

TEST(leader_migration, the_component_says_where_a_controller_runs) {
  const auto read = parse(file_of("v1", R"(controllerLeaders:
- {name: service, component: cloud-controller-manager}
- {name: route, component: kube-controller-manager}
- {name: cloud-node-lifecycle, component: "*"}
- {name: node-ipam-controller, component: kube-controller-manager}
)"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->ours(),
              ElementsAre("cloud-node-lifecycle-controller", "service-lb-controller"));
  EXPECT_THAT(read->others(), ElementsAre("node-route-controller"));
}

TEST(leader_migration, the_default_names_only_controllers_that_exist) {
  const LeaderMigration usual = default_leader_migration();
  EXPECT_EQ(usual.lease, "cloud-provider-extraction-migration");
  EXPECT_THAT(usual.others(), IsEmpty());
  for (const std::string& name : usual.ours()) {
    ASSERT_NE(find_controller(name), nullptr) << name;
    EXPECT_EQ(find_controller(name)->name, name);
  }
  const auto as_upstream_writes_it = parse(R"(
apiVersion: controllermanager.config.k8s.io/v1beta1
kind: LeaderMigrationConfiguration
leaderName: cloud-provider-extraction-migration
resourceLock: leases
controllerLeaders:
- {name: route-controller, component: "*"}
- {name: service-controller, component: "*"}
- {name: cloud-node-lifecycle-controller, component: "*"}
)");
  ASSERT_TRUE(as_upstream_writes_it);
  EXPECT_EQ(*as_upstream_writes_it, usual);
}

TEST(leader_migration, every_mistake_is_named_by_line_and_key) {
  const std::string text = mistake(R"(apiVersion: controllermanager.config.k8s.io/v2
kind: LeaderMigration
leaderNam: x
resourceLock: endpoints
controllerLeaders:
- {name: nodes, component: "*"}
- {name: service}
- {name: route, component: "*", lock: x}
- {name: node-route-controller, component: "*"}
- {name: nodeipam, component: cloud-controller-manager}
)");
  for (const std::string line :
       {"/m.yaml: line 1: apiVersion", "/m.yaml: line 2: kind", "leaderName is required",
        "line 3: unknown key \"leaderNam\"", "line 4: resourceLock",
        "line 6: controllerLeaders[0].name", "line 7: controllerLeaders[1].component",
        "line 8: controllerLeaders[2]: unknown key \"lock\"", "line 9: controllerLeaders[3].name",
        "line 10: controllerLeaders[4].name"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(leader_migration, a_lock_is_named_in_old_versions_and_only_there) {
  EXPECT_THAT(mistake(file_of("v1beta1", "")), HasSubstr("resourceLock"));
  EXPECT_THAT(mistake(file_of("v1", "resourceLock: leases\n")), HasSubstr("resourceLock"));
}

TEST(leader_migration, a_lease_that_no_server_would_take_is_refused) {
  EXPECT_THAT(mistake("apiVersion: controllermanager.config.k8s.io/v1\n"
                      "kind: LeaderMigrationConfiguration\nleaderName: Bad_Name\n"),
              HasSubstr("line 3: leaderName"));
}

TEST(leader_migration, what_is_no_yaml_map_is_refused) {
  EXPECT_THAT(mistake(""), HasSubstr("/m.yaml"));
  EXPECT_THAT(mistake("- a\n"), HasSubstr("/m.yaml"));
  EXPECT_THAT(mistake("{"), HasSubstr("/m.yaml"));
}

}  // namespace
}  // namespace isthmus::app
