#include "isthmus/app/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::app {
namespace {

using testing::HasSubstr;
using testing::Not;

class HealthChecksTest : public testing::Test {
 protected:
  net::Response get(const std::string& target) {
    return checks.answer(net::parse_target(target).value());
  }

  MemoryLogger log;
  HealthSlis slis{[] { return 1000.0; }};
  Result<> election;
  Result<> watch;
  HealthChecks checks{{{"leaderElection", Probe::liveness, [this] { return election; }},
                       {"watch-nodes", Probe::readiness, [this] { return watch; }}},
                      slis,
                      log};
};

TEST_F(HealthChecksTest, says_ok_in_two_letters_when_all_is_well) {
  for (const std::string path : {"/healthz", "/livez", "/readyz"}) {
    const net::Response response = get(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_EQ(response.body, "ok") << path;
  }
}

TEST_F(HealthChecksTest, lists_its_checks_when_asked_to_be_verbose) {
  EXPECT_EQ(get("/livez?verbose").body, "[+]ping ok\n[+]leaderElection ok\nlivez check passed\n");
  EXPECT_THAT(get("/readyz?verbose").body, HasSubstr("[+]watch-nodes ok"));
}

TEST_F(HealthChecksTest, a_watch_that_is_not_there_makes_it_unready_but_not_dead) {
  watch = fail(Outcome::lost, "no list yet from https://10.0.0.1");

  EXPECT_EQ(get("/livez").status, 200);
  EXPECT_EQ(get("/healthz").status, 200);
  const net::Response response = get("/readyz");
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.body,
            "[+]ping ok\n[+]leaderElection ok\n[-]watch-nodes failed: reason withheld\n"
            "readyz check failed\n");
  EXPECT_THAT(response.body, Not(HasSubstr("10.0.0.1")));
  EXPECT_TRUE(log.mentions("10.0.0.1")) << "the reason is for the log";
}

TEST_F(HealthChecksTest, tells_the_log_of_changes_and_not_of_every_probe) {
  watch = fail(Outcome::lost, "no list yet");
  get("/readyz");
  get("/readyz");
  watch = {};
  get("/readyz");
  get("/readyz");
  watch = fail(Outcome::lost, "cut");
  get("/readyz");

  ASSERT_EQ(log.lines.size(), 3U);
  EXPECT_THAT(log.lines[0].text, HasSubstr("no list yet"));
  EXPECT_THAT(log.lines[1].text, HasSubstr("ok again"));
  EXPECT_THAT(log.lines[2].text, HasSubstr("cut"));
}

TEST_F(HealthChecksTest, leaves_out_what_is_excluded) {
  election = fail(Outcome::lost, "not renewed");

  EXPECT_EQ(get("/livez").status, 500);
  EXPECT_EQ(get("/livez?exclude=leaderElection").status, 200);
  EXPECT_EQ(get("/livez?exclude=other").status, 500);
}

TEST_F(HealthChecksTest, answers_for_one_check_alone) {
  watch = fail(Outcome::lost, "no list yet");

  EXPECT_EQ(get("/readyz/leaderElection").body, "ok");
  EXPECT_EQ(get("/readyz/watch-nodes").status, 500);
  EXPECT_EQ(get("/readyz/nothing").status, 404);
  EXPECT_EQ(get("/livez/watch-nodes").status, 404) << "a readiness check is no liveness check";
}

TEST_F(HealthChecksTest, are_counted_by_what_asked_for_them) {
  election = fail(Outcome::lost, "not renewed");
  get("/livez");
  election = {};
  get("/livez");
  get("/readyz");

  const std::string text = slis.text();
  EXPECT_THAT(text, HasSubstr(R"(kubernetes_healthcheck{name="leaderElection",type="livez"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(kubernetes_healthchecks_total{name="leaderElection",)"
                              R"(status="error",type="livez"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(kubernetes_healthcheck{name="watch-nodes",type="readyz"} 1)"));
  EXPECT_THAT(text, Not(HasSubstr(R"(name="watch-nodes",type="livez")")));
}

TEST_F(HealthChecksTest, are_served_under_the_names_of_the_probes_only) {
  for (const char* path : {"/healthz", "/livez", "/readyz", "/livez/ping"}) {
    EXPECT_TRUE(HealthChecks::serves(path)) << path;
  }
  for (const char* path : {"/", "/healthzz", "/metrics", "/statusz"}) {
    EXPECT_FALSE(HealthChecks::serves(path)) << path;
  }
}

}  // namespace
}  // namespace isthmus::app
