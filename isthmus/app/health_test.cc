#include "isthmus/app/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::app {
namespace {

using testing::HasSubstr;
using testing::Not;

// Keeps the one answer a handler gives.
class KeptAnswer final : public net::ResponseWriter {
 public:
  Task<Result<>> respond(net::Response answer) override {
    response = std::move(answer);
    co_return Result<>{};
  }
  Task<Result<>> begin(int, net::Headers) override { co_return fail(Outcome::lost, "unused"); }
  Task<Result<>> chunk(std::string) override { co_return fail(Outcome::lost, "unused"); }
  Task<Result<>> finish() override { co_return fail(Outcome::lost, "unused"); }
  Task<Result<>> closed() override { co_return fail(Outcome::lost, "unused"); }

  net::Response response;
};

class OperatorEndpointsTest : public testing::Test {
 protected:
  net::Response get(std::string target, bool is_local = true, std::string method = "GET") {
    KeptAnswer writer;
    net::Request request{.method = std::move(method), .target = std::move(target)};
    net::Peer peer{.address = "127.0.0.1:1", .is_local = is_local};
    Result<> served = world.run(endpoints.serve(std::move(request), peer, writer));
    EXPECT_TRUE(served.has_value());
    return writer.response;
  }

  VirtualWorld world;
  Metrics metrics;
  MemoryLogger log;
  Result<> election;
  Result<> watch;
  OperatorEndpoints endpoints{metrics,
                              log,
                              {{"leaderElection", Probe::liveness, [this] { return election; }},
                               {"watch-nodes", Probe::readiness, [this] { return watch; }}}};
};

TEST_F(OperatorEndpointsTest, says_ok_in_two_letters_when_all_is_well) {
  for (const std::string path : {"/healthz", "/livez", "/readyz"}) {
    const net::Response response = get(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_EQ(response.body, "ok") << path;
  }
}

TEST_F(OperatorEndpointsTest, lists_its_checks_when_asked_to_be_verbose) {
  EXPECT_EQ(get("/livez?verbose").body, "[+]ping ok\n[+]leaderElection ok\nlivez check passed\n");
  EXPECT_THAT(get("/readyz?verbose").body, HasSubstr("[+]watch-nodes ok"));
}

TEST_F(OperatorEndpointsTest, a_watch_that_is_not_there_makes_it_unready_but_not_dead) {
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

TEST_F(OperatorEndpointsTest, tells_the_log_of_changes_and_not_of_every_probe) {
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

TEST_F(OperatorEndpointsTest, leaves_out_what_is_excluded) {
  election = fail(Outcome::lost, "not renewed");

  EXPECT_EQ(get("/livez").status, 500);
  EXPECT_EQ(get("/livez?exclude=leaderElection").status, 200);
  EXPECT_EQ(get("/livez?exclude=other").status, 500);
}

TEST_F(OperatorEndpointsTest, answers_for_one_check_alone) {
  watch = fail(Outcome::lost, "no list yet");

  EXPECT_EQ(get("/readyz/leaderElection").body, "ok");
  EXPECT_EQ(get("/readyz/watch-nodes").status, 500);
  EXPECT_EQ(get("/readyz/nothing").status, 404);
  EXPECT_EQ(get("/livez/watch-nodes").status, 404) << "a readiness check is no liveness check";
}

TEST_F(OperatorEndpointsTest, shows_metrics_on_this_machine_only) {
  metrics.counter("isthmus_test_total", "A test.").add();

  const net::Response local = get("/metrics");
  EXPECT_EQ(local.status, 200);
  EXPECT_THAT(local.body, HasSubstr("isthmus_test_total 1"));
  EXPECT_EQ(local.headers.find("content-type"), Metrics::kContentType);
  EXPECT_EQ(get("/metrics", false).status, 403);
}

TEST_F(OperatorEndpointsTest, refuses_other_paths_methods_and_broken_targets) {
  EXPECT_EQ(get("/").status, 404);
  EXPECT_EQ(get("/healthzz").status, 404);
  EXPECT_EQ(get("/configz").status, 404);
  EXPECT_EQ(get("/healthz", true, "POST").status, 405);
  EXPECT_EQ(get("/healthz?%zz").status, 400);
}

}  // namespace
}  // namespace isthmus::app
