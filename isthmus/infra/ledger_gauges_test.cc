#include "isthmus/infra/ledger_gauges.h"

#include <gtest/gtest.h>

#include "isthmus/infra/object_api_testing.h"

namespace isthmus::infra {
namespace {

class ledger_gauges : public ObjectApiFixture {
 protected:
  LedgerGauges gauges{ledger, object_metrics};
};

TEST_F(ledger_gauges, show_pools_by_use_and_who_waits_for_the_host) {
  put_balancer("web");
  put_balancer("api");
  report("web", "Ready", api::ConditionStatus::is_true);
  ledger.found_in_kernel({{{"prod", "lost"}, {7, {ip("192.0.2.6")}}}}, {});
  ask("GET", "/v1/pools");
  std::string text = object_metrics.text();
  for (std::string_view line :
       {"infra_load_balancers_lagging 1", "infra_load_balancers_leaving 0",
        "infra_pool_addresses{family=\"IPv4\",pool=\"public\",state=\"held\"} 3",
        "infra_pool_addresses{family=\"IPv4\",pool=\"private\",state=\"free\"} 4",
        "infra_writes_total{kind=\"LoadBalancer\",verb=\"PUT\"} 2"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST_F(ledger_gauges, show_nothing_of_a_pool_that_is_gone) {
  auto free = [this] {
    ask("GET", "/v1/pools");
    const std::string text = object_metrics.text();
    const std::string series =
        "infra_pool_addresses{family=\"IPv4\",pool=\"private\",state=\"free\"} ";
    const std::size_t at = text.find(series);
    return at == std::string::npos ? "" : text.substr(at + series.size(), 1);
  };
  EXPECT_EQ(free(), "4");
  ASSERT_TRUE(world.run(ledger.load_pools({a_pool("public", {"192.0.2.0/29"})})));
  EXPECT_EQ(free(), "0");
  ASSERT_TRUE(world.run(
      ledger.load_pools({a_pool("private", {"10.9.0.0/31"}), a_pool("public", {"192.0.2.0/29"})})));
  EXPECT_EQ(free(), "2");
}

}  // namespace
}  // namespace isthmus::infra
