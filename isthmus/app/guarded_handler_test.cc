#include "isthmus/app/guarded_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/kept_answer_testing.h"
#include "isthmus/app/reviews_testing.h"
#include "isthmus/base/json.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus::app {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class OpenHandler final : public net::HttpHandler {
 public:
  Task<Result<>> serve(net::Request, net::Peer, net::ResponseWriter& writer) override {
    return writer.respond({.status = 200, .headers = {}, .body = "secret of the house"});
  }
};

class GuardedHandlerTest : public testing::Test {
 protected:
  GuardedHandlerTest() {
    reviews.users = {{"good", "prometheus"}, {"other", "somebody"}};
    reviews.allowed = {"prometheus get /metrics"};
  }

  struct Asked {
    std::string target = "/metrics";
    std::string token = {};
    bool is_local = false;
    std::string method = "GET";
  };
  net::Response ask(GuardedHandler& guard, const Asked& asked) {
    KeptAnswer writer;
    net::Request request{.method = asked.method, .target = asked.target};
    if (!asked.token.empty()) request.headers.set("Authorization", "Bearer " + asked.token);
    net::Peer peer{.address = "192.0.2.7:1", .is_local = asked.is_local};
    EXPECT_TRUE(world.run(guard.serve(std::move(request), std::move(peer), writer)));
    return writer.response;
  }
  net::Response ask(const Asked& asked) { return ask(looking_up, asked); }
  VirtualWorld world;
  Metrics metrics;
  MemoryLogger log;
  OpenHandler house;
  FakeReviews reviews;
  Authenticator authenticator{nullptr, &reviews, seconds(10), world.loop};
  Authorizer authorizer{&reviews, {}, world.loop};
  GuardedHandler looking_up{
      house,      authenticator, authorizer, GuardedHandler::Strangers::looked_up,
      world.loop, metrics,       log};
  GuardedHandler alone{house,      authenticator, authorizer, GuardedHandler::Strangers::local_only,
                       world.loop, metrics,       log};
};

TEST_F(GuardedHandlerTest, who_may_is_let_through) {
  EXPECT_EQ(ask({.token = "good"}).body, "secret of the house");
}

TEST_F(GuardedHandlerTest, who_may_not_is_told_so_as_kubernetes_does) {
  const net::Response response = ask({.token = "other"});

  EXPECT_EQ(response.status, 403);
  EXPECT_EQ(response.headers.find("Content-Type"), "application/json");
  const json::value status = parse_json(response.body).value();
  EXPECT_EQ(status.at("kind").as_string(), "Status");
  EXPECT_EQ(status.at("reason").as_string(), "Forbidden");
  EXPECT_EQ(status.at("code").as_int64(), 403);
  EXPECT_EQ(status.at("message").as_string(),
            R"(forbidden: User "somebody" cannot get path "/metrics")");
}

TEST_F(GuardedHandlerTest, the_method_is_the_verb) {
  reviews.allowed.insert("prometheus delete /metrics/slis");
  EXPECT_EQ(ask({.target = "/metrics/slis", .token = "good"}).status, 403);
  EXPECT_EQ(ask({.target = "/metrics/slis", .token = "good", .method = "DELETE"}).status, 200);
}

TEST_F(GuardedHandlerTest, who_shows_nothing_is_asked_about_as_anonymous) {
  EXPECT_THAT(ask({}).body, HasSubstr(R"(User \"system:anonymous\" cannot get)"));
  EXPECT_EQ(ask({.is_local = true}).status, 403) << "this machine is no credential";
  reviews.allowed.insert("system:anonymous get /version");
  EXPECT_EQ(ask({.target = "/version"}).status, 200);
}

TEST_F(GuardedHandlerTest, a_wrong_token_is_401_and_never_shown) {
  const net::Response response = ask({.token = "canary-4711"});

  EXPECT_EQ(response.status, 401);
  EXPECT_THAT(response.body, HasSubstr(R"("reason":"Unauthorized")"));
  EXPECT_EQ(response.headers.find("WWW-Authenticate"), "Bearer");
  EXPECT_THAT(response.body, Not(HasSubstr("canary")));
  EXPECT_FALSE(log.mentions("canary"));
  EXPECT_TRUE(log.mentions("bearer token"));
}

TEST_F(GuardedHandlerTest, paths_open_to_all_need_neither_a_good_token_nor_an_api_server) {
  reviews.hangs = true;
  EXPECT_EQ(ask({.target = "/healthz?verbose"}).status, 200);
  EXPECT_EQ(ask({.target = "/livez", .token = "wrong"}).status, 200);
  EXPECT_EQ(reviews.token_reviews + reviews.access_reviews, 0);
}

TEST_F(GuardedHandlerTest, while_the_api_server_is_away_verdicts_count_until_they_are_old) {
  EXPECT_EQ(ask({.token = "good"}).status, 200);
  reviews.error = Error{Outcome::lost, "connection refused", {}};
  EXPECT_EQ(ask({.token = "good"}).status, 200);

  world.advance(seconds(11));
  const net::Response response = ask({.token = "good"});
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers.find("Retry-After"), "1");
  EXPECT_THAT(response.body, Not(HasSubstr("connection refused"))) << "that is for the log";
  EXPECT_TRUE(log.mentions("connection refused"));
}

TEST_F(GuardedHandlerTest, the_log_is_told_once_a_minute_however_often_somebody_tries) {
  for (int i = 0; i < 50; ++i) ask({.token = "wrong" + std::to_string(i)});
  EXPECT_EQ(log.lines.size(), 1U);
  world.advance(minutes(1));
  ask({.token = "wrong"});
  EXPECT_EQ(log.lines.size(), 2U);
}

TEST_F(GuardedHandlerTest, a_wrong_token_does_not_hide_from_the_log_that_nobody_can_be_looked_up) {
  ask({.token = "wrong"});
  reviews.error = Error{Outcome::lost, "connection refused", {}};
  ask({.token = "good"});
  EXPECT_TRUE(log.mentions("connection refused"));
}

TEST_F(GuardedHandlerTest, where_nobody_can_be_looked_up_only_this_machine_may_read) {
  EXPECT_EQ(ask(alone, {.is_local = true}).status, 200);
  EXPECT_EQ(ask(alone, {.is_local = true, .method = "HEAD"}).status, 200);
  EXPECT_EQ(ask(alone, {.is_local = true, .method = "PUT"}).status, 403);
  EXPECT_EQ(ask(alone, {.is_local = false}).status, 403);
  EXPECT_EQ(ask(alone, {.target = "/livez"}).status, 200);
  EXPECT_EQ(reviews.token_reviews + reviews.access_reviews, 0);
}

TEST_F(GuardedHandlerTest, what_became_of_requests_is_counted) {
  ask({.token = "good"});
  ask({.token = "other"});
  ask({.token = "wrong"});
  const std::string text = metrics.text();
  for (const char* result : {"allowed", "forbidden", "unauthenticated"}) {
    EXPECT_THAT(text, HasSubstr("isthmus_secure_port_requests_total{result=\"" +
                                std::string(result) + "\"} 1"));
  }
}

TEST_F(GuardedHandlerTest, a_target_that_cannot_be_read_is_a_bad_request) {
  EXPECT_EQ(ask({.target = "/metrics?%zz", .token = "good"}).status, 400);
}

}  // namespace
}  // namespace isthmus::app
