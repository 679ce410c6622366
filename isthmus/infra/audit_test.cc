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

}  // namespace
}  // namespace isthmus::infra
