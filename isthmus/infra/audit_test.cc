#include "isthmus/infra/audit.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

TEST(audit, a_line_says_who_did_what_to_which_object) {
  MemoryLogger log;
  Metrics metrics;
  Exchange exchange{.id = "abc-1",
                    .request = {.method = "PUT", .target = "/", .headers = {}, .body = {}},
                    .target = {},
                    .route = find_route("PUT", "/v1/owners/prod/loadbalancers/web").value(),
                    .caller = {Caller::Role::owner, "prod", ""}};
  audit(exchange, {"LoadBalancer", 6, 7, 42}, log, metrics);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(log.lines[0].text,
            "\"audit\" by=\"prod\" verb=\"PUT\" kind=\"LoadBalancer\" owner=\"prod\" name=\"web\" "
            "generationBefore=6 generation=7 revision=42 requestID=\"abc-1\"");
  EXPECT_NE(metrics.text().find("infra_writes_total{kind=\"LoadBalancer\",verb=\"PUT\"} 1"),
            std::string::npos);
}

TEST(audit, a_machine_is_called_by_its_uid) {
  MemoryLogger log;
  Metrics metrics;
  Exchange exchange{.id = "abc-1",
                    .request = {.method = "DELETE", .target = "/", .headers = {}, .body = {}},
                    .target = {},
                    .route = find_route("DELETE", "/v1/instances/m1").value(),
                    .caller = {Caller::Role::admin, "admin", ""}};
  audit(exchange, {"Instance", 0, 2, 42}, log, metrics);
  EXPECT_TRUE(
      log.mentions("verb=\"DELETE\" kind=\"Instance\" uid=\"m1\" generation=2 revision=42"));
}

}  // namespace
}  // namespace isthmus::infra
