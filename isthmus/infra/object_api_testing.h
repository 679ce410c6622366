// A server with a host for load balancers, in memory, and ways to ask it: beside the admin and the
// owner "prod" of http_api_testing.h there is the owner "test", who may use the pool "public" only.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/infra/balancer_view.h"
#include "isthmus/infra/http_api_testing.h"
#include "isthmus/infra/ledger.h"
#include "isthmus/infra/ledger_testing.h"

namespace isthmus::infra {

// Knows what a test has told it.
class ToldView final : public BalancerView {
 public:
  std::vector<api::TargetStatus> target_health(const ObjectName& name) const override {
    auto found = told.find(name);
    return found == told.end() ? std::vector<api::TargetStatus>{} : found->second;
  }
  std::map<ObjectName, std::vector<api::TargetStatus>> told;
};

inline Config with_two_owners() {
  Config config = with_tokens();
  OwnerConfig test;
  test.name = "test";
  test.token_file = "/test";
  test.pools = PoolNames{"public"};
  config.owners.push_back(std::move(test));
  return config;
}

class ObjectApiFixture : public HttpApiFixture {
 protected:
  ObjectApiFixture() {
    EXPECT_TRUE(files.write("/test", "test-token", FileMode::owner_only));
    Mistakes mistakes;
    owners.load(mistakes);
    EXPECT_TRUE(mistakes.empty()) << mistakes.text();
    EXPECT_TRUE(world.run(ledger.load_pools(
        {a_pool("private", {"10.9.0.0/30"}), a_pool("public", {"192.0.2.0/29"})})));
    ledger.found_in_kernel({}, {});
  }

  net::HttpHandler& served() override { return api; }

  static std::string path(std::string_view name, std::string_view owner = "prod") {
    return fmt::format("/v1/owners/{}/loadbalancers/{}", owner, name);
  }
  static std::string set_path(std::string_view name) {
    return fmt::format("/v1/owners/prod/targetsets/{}", name);
  }
  static std::string body(int port = 80, std::string_view more = R"("pool":"public",)") {
    return fmt::format(R"({{"spec":{{{}"listeners":[{{"port":{},"targetGroup":"g"}}],)"
                       R"("targetGroups":[{{"name":"g","targets":[{{"address":"10.0.0.1",)"
                       R"("port":8080}}]}}]}}}})",
                       more, port);
  }
  static std::string set_body(std::string_view address = "10.0.0.1") {
    return fmt::format(R"({{"spec":{{"targets":[{{"name":"n1","addresses":["{}"]}}]}}}})", address);
  }
  net::Response put_balancer(std::string_view name, int port = 80, net::Headers headers = {}) {
    return ask("PUT", path(name), body(port), std::move(headers), "owner-token");
  }
  // As the host would, for its present generation.
  void report(const std::string& name, std::string_view type, api::ConditionStatus status) {
    auto snapshot = world.run(ledger.latest()).value();
    const ObjectName key{"prod", name};
    const BalancerRecord* record = snapshot->balancer(key);
    ASSERT_NE(record, nullptr);
    api::LoadBalancerStatus found;
    found.observed_generation = found.applied_generation = record->metadata.generation;
    found.conditions = {{.type = std::string(type),
                         .status = status,
                         .reason = "Said",
                         .message = "",
                         .last_transition = world.loop.wall_now(),
                         .observed_generation = record->metadata.generation}};
    ASSERT_TRUE(world.run(ledger.report({{key, found}})));
  }
  // What the API is made of.
  HttpApi::Parts parts() {
    return {.store = *store,
            .instances = instances,
            .access = owners,
            .inventory = nullptr,
            .random = random,
            .metrics = object_metrics,
            .log = log,
            .version = "1.2",
            .ledger = &ledger,
            .view = &view,
            .driver = "nft",
            .clock = &world.loop};
  }
  static api::LoadBalancer balancer_in(const net::Response& response) {
    Result<api::LoadBalancer> read = api::decode_load_balancer(response.body);
    EXPECT_TRUE(read) << response.body;
    return read.value_or(api::LoadBalancer{});
  }

  Access owners{files, log, with_two_owners()};
  Ledger ledger{*store, world.loop, random, "lb1"};
  ToldView view;
  Metrics object_metrics;
  HttpApi api{parts()};
};

}  // namespace isthmus::infra
