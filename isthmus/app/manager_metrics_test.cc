// The metrics of an idle manager against those that dashboards and alerts for Kubernetes' cloud
// controller managers expect: names, types, labels, buckets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/app/health_slis.h"
#include "isthmus/app/manager.h"
#include "isthmus/app/process_metrics.h"
#include "isthmus/app/version.h"
#include "isthmus/base/ip.h"
#include "isthmus/base/text.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/api/namespace.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/rest_metrics.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::app {
namespace {

using Labels = std::set<std::string>;

struct Family {
  std::string type;
  std::set<Labels> labels;          // Names; of each kind of series.
  std::vector<std::string> bounds;  // Of a histogram, without +Inf.

  bool operator==(const Family&) const = default;
};
using Families = std::map<std::string, Family>;

// "a_bucket" and "a_sum" belong to the histogram "a".
std::string family_of(std::string_view series, const Families& families) {
  for (const std::string_view suffix : {"_bucket", "_sum", "_count"}) {
    if (!series.ends_with(suffix)) continue;
    const std::string stem(series.substr(0, series.size() - suffix.size()));
    if (const auto found = families.find(stem);
        found != families.end() && found->second.type == "histogram") {
      return stem;
    }
  }
  return std::string(series);
}

// Reads a line such as `a_bucket{host="x",le="0.5"} 7`.
void read_series(std::string_view line, Families& families) {
  const std::size_t brace = line.find('{');
  const std::string_view name = line.substr(0, std::min(brace, line.find(' ')));
  Family& family = families[family_of(name, families)];
  Labels labels;
  std::string bound;
  if (brace != line.npos) {
    std::string_view rest = line.substr(brace + 1, line.rfind('}') - brace - 1);
    while (!rest.empty()) {
      const std::size_t equals = rest.find("=\"");
      const std::size_t end = rest.find('"', equals + 2);
      const std::string label(rest.substr(0, equals));
      if (label == "le") {
        bound = rest.substr(equals + 2, end - equals - 2);
      } else {
        labels.insert(label);
      }
      rest.remove_prefix(std::min(end + 2, rest.size()));
    }
  }
  family.labels.insert(labels);
  const bool is_new = std::ranges::find(family.bounds, bound) == family.bounds.end();
  if (!bound.empty() && bound != "+Inf" && is_new) family.bounds.push_back(bound);
}

Families parse(std::string_view text) {
  Families families;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("# TYPE ")) {
      const std::vector<std::string_view> words = split(line, ' ');
      families[std::string(words[2])].type = words[3];
    } else if (!line.empty() && !line.starts_with('#')) {
      read_series(line, families);
    }
  }
  return families;
}

std::vector<double> numbers(const std::vector<std::string>& bounds) {
  std::vector<double> values;
  for (const std::string& bound : bounds) values.push_back(std::stod(bound));
  return values;
}

struct Expected {
  const char* name;
  const char* type;
  Labels labels = {};
  std::vector<double> bounds = {};
};

const std::vector<double> kDelays = {1, 4, 16, 64, 256, 1024};
const std::vector<double> kRounds = exponential_buckets(0.001, 2, 15);
const std::vector<double> kQueue = exponential_buckets(1e-8, 10, 10);
const std::vector<double> kRest = {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
const std::vector<double> kBytes = {64,    256,    512,     1024,    4096,    16384,
                                    65536, 262144, 1048576, 4194304, 16777216};

// Finer at its lower end than upstream's 1, 2, 4, … 16384, whose bounds are all there: one change
// of the Nodes is one call and takes milliseconds.
const std::vector<double> kNodeSync = exponential_buckets(0.015625, 2, 21);

const std::vector<Expected> kUpstreams = {
    {"node_controller_cloud_provider_taint_removal_delay_seconds", "histogram", {}, kDelays},
    {"node_controller_initial_node_sync_delay_seconds", "histogram", {}, kDelays},
    {"cloud_node_lifecycle_controller_monitor_nodes_duration_seconds", "histogram", {}, kRounds},
    {"cloud_node_lifecycle_controller_cloud_provider_calls_total",
     "counter",
     {"operation", "result"}},
    {"service_controller_loadbalancer_sync_total", "counter"},
    {"service_controller_nodesync_error_total", "counter"},
    {"service_controller_nodesync_latency_seconds", "histogram", {}, kNodeSync},
    {"service_controller_update_loadbalancer_host_latency_seconds", "histogram", {}, kNodeSync},
    {"route_controller_route_sync_total", "counter", {"outcome", "trigger"}},
    {"running_managed_controllers", "gauge", {"name", "manager"}},
    {"leader_election_master_status", "gauge", {"name"}},
    {"leader_election_slowpath_total", "counter", {"name"}},
    {"workqueue_depth", "gauge", {"name"}},
    {"workqueue_adds_total", "counter", {"name"}},
    {"workqueue_retries_total", "counter", {"name"}},
    {"workqueue_queue_duration_seconds", "histogram", {"name"}, kQueue},
    {"workqueue_work_duration_seconds", "histogram", {"name"}, kQueue},
    {"workqueue_unfinished_work_seconds", "gauge", {"name"}},
    {"workqueue_longest_running_processor_seconds", "gauge", {"name"}},
    {"rest_client_requests_total", "counter", {"code", "method", "host"}},
    {"rest_client_request_duration_seconds", "histogram", {"verb", "host"}, kRest},
    {"rest_client_rate_limiter_duration_seconds", "histogram", {"verb", "host"}, kRest},
    {"rest_client_request_size_bytes", "histogram", {"verb", "host"}, kBytes},
    {"rest_client_response_size_bytes", "histogram", {"verb", "host"}, kBytes},
    {"kubernetes_build_info",
     "gauge",
     {"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version",
      "compiler", "platform"}},
    {"process_cpu_seconds_total", "counter"},
    {"process_max_fds", "gauge"},
    {"process_resident_memory_bytes", "gauge"},
    {"process_start_time_seconds", "gauge"},
    {"process_virtual_memory_bytes", "gauge"},
    {"process_virtual_memory_max_bytes", "gauge"},
};

// What upstream does not tell: calls to the cloud, and what came of the controllers' work.
const std::vector<Expected> kOurs = {
    {"isthmus_cloud_breaker_state", "gauge", {"provider"}},
    {"isthmus_cloud_calls_total", "counter", {"provider", "operation", "outcome"}},
    {"isthmus_cloud_call_duration_seconds",
     "histogram",
     {"provider", "operation"},
     exponential_buckets(0.005, 2, 14)},
    {"isthmus_reconcile_total", "counter", {"controller", "outcome"}},
    {"isthmus_load_balancer_repairs_total", "counter", {"kind"}},
    {"isthmus_node_deletions_withheld", "gauge", {"condition"}},
};

// Of upstream's, those that do not exist here; docs/reference/differences.md says why.
const std::set<std::string> kNotProvided = {
    "cloud_provider_webhook_request_total",
    "cloud_provider_webhook_request_duration_seconds",
    "rest_client_request_retries_total",
    "kubernetes_feature_enabled",
    "process_open_fds",
};

// A manager with all its controllers that leads and has little to do: one Node is not Ready.
class ManagerMetricsTest : public testing::Test {
 protected:
  Families expose() {
    export_build_info(metrics);
    ProcessMetrics process(world.loop, files, metrics);
    kube::RestMetrics rest("10.0.0.1:6443", metrics);
    const kube::RestCall call = rest.begin({}, world.loop.now());
    rest.end(call, world.loop.now(), 200, 0);
    auto provider = std::make_unique<providers::fake::FakeProvider>("isthmus");
    provider->add("m1", "node1");
    api.put(kube::Node::resource, R"({"metadata": {"name": "node1"},
        "spec": {"providerID": "isthmus://m1"},
        "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})");
    cloud::Stack cloud(std::move(provider), cloud::GuardLimits{}, gate, world.loop, metrics, log);
    Manager manager({world.loop, random, metrics, log, api, api, api, api, cloud, gate}, options());
    api.put(kube::Namespace::resource, R"({"metadata": {"name": "kube-system"}})");
    Signal stopping;
    Scope scope(world.loop);
    scope.spawn(&Manager::run, &manager, std::ref(stopping));
    world.advance(std::chrono::minutes(2));
    return parse(metrics.text());
  }

  static ManagerOptions options() {
    ManagerOptions options;
    for (const ControllerName& each : controller_names()) {
      options.controllers.emplace(each.name);
    }
    options.election.lease = {.name_space = "kube-system", .name = "cloud-controller-manager"};
    options.election.identity = "a";
    options.node.plan.scheme = "isthmus";
    options.route.plan.cluster_cidrs = {parse_prefix("10.244.0.0/16").value()};
    return options;
  }

  VirtualWorld world;
  SeededRandom random{1};
  MemoryFiles files;
  Metrics metrics;
  MemoryLogger log;
  WriteGate gate{metrics};
  kube::testing::FakeApi api{world.loop};
};

void expect_all(const std::vector<Expected>& all, const Families& families) {
  for (const Expected& expected : all) {
    const auto found = families.find(expected.name);
    if (found == families.end()) {
      ADD_FAILURE() << expected.name << " is missing";
      continue;
    }
    EXPECT_EQ(found->second.type, expected.type) << expected.name;
    EXPECT_EQ(found->second.labels, std::set<Labels>{expected.labels}) << expected.name;
    const std::vector<double> bounds = numbers(found->second.bounds);
    ASSERT_EQ(bounds.size(), expected.bounds.size()) << expected.name;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      EXPECT_NEAR(bounds[i], expected.bounds[i], expected.bounds[i] * 1e-6) << expected.name;
    }
  }
}

TEST_F(ManagerMetricsTest, have_upstreams_names_types_labels_and_buckets_from_the_start) {
  expect_all(kUpstreams, expose());
}

TEST_F(ManagerMetricsTest, tell_of_the_cloud_and_of_the_controllers_what_upstream_does_not) {
  expect_all(kOurs, expose());
}

TEST_F(ManagerMetricsTest, that_upstream_has_not_carry_our_name_and_what_they_mean) {
  std::set<std::string> upstreams;
  for (const Expected& expected : kUpstreams) upstreams.insert(expected.name);
  for (const auto& [name, family] : expose()) {
    if (upstreams.contains(name)) continue;
    EXPECT_FALSE(kNotProvided.contains(name)) << name << " exists after all";
    EXPECT_TRUE(name.starts_with("isthmus_")) << name;
    EXPECT_NE(family.type, "") << name;
  }
  EXPECT_THAT(metrics.text(),
              testing::Not(testing::HasSubstr("# HELP isthmus_loop_turn_seconds \n")));
}

TEST(health_slis, have_upstreams_names_types_and_labels) {
  HealthSlis slis([] { return 1000.0; });
  slis.observe("ping", "livez", true);
  const Families expected = {
      {"kubernetes_healthcheck", {"gauge", {{"name", "type"}}, {}}},
      {"kubernetes_healthchecks_total", {"counter", {{"name", "type", "status"}}, {}}},
      {"process_start_time_seconds", {"gauge", {{}}, {}}}};
  EXPECT_EQ(parse(slis.text()), expected);
}

}  // namespace
}  // namespace isthmus::app
