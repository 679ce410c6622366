#include "isthmus/app/health_slis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(health_slis, keep_the_last_outcome_and_count_all) {
  HealthSlis slis([] { return 1000.5; });
  slis.observe("ping", "healthz", true);
  slis.observe("ping", "healthz", false);
  slis.observe("ping", "healthz", false);

  const std::string text = slis.text();

  EXPECT_THAT(text, HasSubstr("# TYPE kubernetes_healthcheck gauge\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE kubernetes_healthchecks_total counter\n"));
  EXPECT_THAT(text, HasSubstr(R"(kubernetes_healthcheck{name="ping",type="healthz"} 0)"));
  EXPECT_THAT(text, HasSubstr(R"(name="ping",status="success",type="healthz"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(name="ping",status="error",type="healthz"} 2)"));
  EXPECT_THAT(text, HasSubstr("process_start_time_seconds 1000.5\n"));
}

TEST(health_slis, a_reset_forgets_what_was_observed) {
  HealthSlis slis([] { return 1000.0; });
  slis.observe("ping", "healthz", true);
  slis.reset();

  EXPECT_THAT(slis.text(), Not(HasSubstr("ping")));
  EXPECT_THAT(slis.text(), HasSubstr("process_start_time_seconds 1000\n"));
}

}  // namespace
}  // namespace isthmus::app
