#include "isthmus/app/operator_endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/kept_answer_testing.h"
#include "isthmus/base/json.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus::app {
namespace {

using testing::HasSubstr;
using testing::Not;

class OperatorEndpointsTest : public testing::Test {
 protected:
  net::Response ask(std::string method, std::string target) {
    KeptAnswer writer;
    net::Request request{.method = std::move(method), .target = std::move(target)};
    EXPECT_TRUE(world.run(endpoints.serve(std::move(request), {}, writer)));
    return writer.response;
  }
  net::Response get(std::string target) { return ask("GET", std::move(target)); }

  VirtualWorld world;
  Metrics metrics;
  MemoryLogger log;
  OperatorEndpoints endpoints{
      {.checks = {{"leaderElection", Probe::liveness, [] { return Result<>{}; }}},
       .config = [] { return std::string(R"({"cloudcontrollermanager.config.k8s.io":{}})"); },
       .process_start = [] { return 1000.0; }},
      metrics,
      log};
};

TEST_F(OperatorEndpointsTest, the_probes_and_their_single_checks_are_there) {
  EXPECT_EQ(get("/healthz").body, "ok");
  EXPECT_EQ(get("/livez/leaderElection").body, "ok");
  EXPECT_EQ(get("/readyz?verbose").body, "[+]ping ok\n[+]leaderElection ok\nreadyz check passed\n");
}

TEST_F(OperatorEndpointsTest, metrics_come_in_the_text_format_of_prometheus) {
  metrics.counter("isthmus_test_total", "A test.").add();

  const net::Response response = get("/metrics");

  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr("isthmus_test_total 1"));
  EXPECT_EQ(response.headers.find("content-type"), Metrics::kContentType);
}

TEST_F(OperatorEndpointsTest, the_indicators_of_the_checks_can_be_read_and_reset) {
  get("/healthz");
  EXPECT_THAT(get("/metrics/slis").body,
              HasSubstr(R"(kubernetes_healthcheck{name="leaderElection",type="healthz"} 1)"));
  EXPECT_THAT(get("/metrics").body, Not(HasSubstr("kubernetes_healthcheck")));

  EXPECT_EQ(ask("DELETE", "/metrics/slis").body, "metrics reset\n");

  EXPECT_THAT(get("/metrics/slis").body, Not(HasSubstr("leaderElection")));
}

TEST_F(OperatorEndpointsTest, the_configuration_and_the_version_come_as_json) {
  const net::Response config = get("/configz");
  EXPECT_EQ(config.headers.find("Content-Type"), "application/json");
  EXPECT_TRUE(
      parse_json(config.body)->as_object().contains("cloudcontrollermanager.config.k8s.io"));

  const json::value version = parse_json(get("/version").body).value();
  EXPECT_TRUE(version.as_object().at("gitVersion").as_string().starts_with("v"));
  EXPECT_TRUE(version.as_object().contains("major"));
}

TEST_F(OperatorEndpointsTest, other_paths_methods_and_broken_targets_are_refused) {
  for (const char* path : {"/", "/healthzz", "/debug/pprof/", "/statusz", "/metrics/"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
  EXPECT_EQ(ask("POST", "/healthz").status, 405);
  EXPECT_EQ(ask("DELETE", "/metrics").headers.find("Allow"), "GET, HEAD");
  EXPECT_EQ(ask("PUT", "/metrics/slis").headers.find("Allow"), "GET, HEAD, DELETE");
  EXPECT_EQ(get("/healthz?%zz").status, 400);
}

}  // namespace
}  // namespace isthmus::app
