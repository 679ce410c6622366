#include "isthmus/app/authorization.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/reviews_testing.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus::app {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class AuthorizationTest : public testing::Test {
 protected:
  Outcome check(const std::string& user, const std::string& path = "/metrics",
                const std::string& network = "192.0.2.7") {
    return world.run(authorizer.check({.name = user, .groups = {"readers"}}, "get", path, network))
        .outcome();
  }

  VirtualWorld world;
  FakeReviews reviews;
  Authorizer authorizer{&reviews,
                        {.always_allow_paths = {"/healthz", "/open/*"},
                         .authorized_ttl = seconds(10),
                         .unauthorized_ttl = seconds(2)},
                        world.loop};
};

TEST_F(AuthorizationTest, paths_are_open_when_they_are_named_or_begin_as_named) {
  EXPECT_TRUE(authorizer.is_open_to_all("/healthz"));
  EXPECT_FALSE(authorizer.is_open_to_all("/healthz/ping"));
  EXPECT_FALSE(authorizer.is_open_to_all("/metrics"));
  EXPECT_TRUE(authorizer.is_open_to_all("/open/door"));
  EXPECT_FALSE(authorizer.is_open_to_all("/openness"));
}

TEST_F(AuthorizationTest, the_api_server_says_who_may) {
  reviews.allowed = {"a get /metrics"};
  EXPECT_EQ(check("a"), Outcome::ok);
  EXPECT_THAT(reviews.last_body, HasSubstr(R"("groups":["readers"])"));
  EXPECT_EQ(check("b"), Outcome::denied);
  EXPECT_EQ(check("a", "/configz"), Outcome::denied);
  EXPECT_EQ(reviews.access_reviews, 3);
}

TEST_F(AuthorizationTest, a_yes_and_a_no_count_for_times_of_their_own) {
  reviews.allowed = {"a get /metrics"};
  check("a");
  check("b");
  reviews.allowed = {"b get /metrics"};

  world.advance(seconds(3));
  EXPECT_EQ(check("a"), Outcome::ok);
  EXPECT_EQ(check("b"), Outcome::ok);
  world.advance(seconds(7));
  EXPECT_EQ(check("a"), Outcome::denied);
}

TEST_F(AuthorizationTest, masters_are_not_asked_about) {
  EXPECT_TRUE(
      world.run(authorizer.check({.name = "a", .groups = {"system:masters"}}, "delete", "/x", "")));
  EXPECT_EQ(reviews.access_reviews, 0);
}

TEST_F(AuthorizationTest, an_api_server_that_does_not_tell_is_no_verdict) {
  reviews.error = Error{Outcome::denied, "subjectaccessreviews is forbidden", {}};
  EXPECT_EQ(check("a"), Outcome::lost);
  reviews.error.reset();
  reviews.hangs = true;
  EXPECT_EQ(check("a"), Outcome::deadline);
}

TEST_F(AuthorizationTest, who_may_not_asks_for_many_paths_and_keeps_nobody_waiting) {
  reviews.allowed = {"a get /metrics"};
  EXPECT_EQ(check("a"), Outcome::ok);
  reviews.latency = std::chrono::milliseconds(200);
  Scope scope(world.loop);
  const auto insist = [](Authorizer& asked, int number) -> Task<Result<>> {
    for (int i = 0;; ++i) {
      std::string path = fmt::format("/{}/{}", number, i);
      std::ignore = co_await asked.check({.name = "system:anonymous"}, "get", std::move(path),
                                         std::to_string(number % 10));
      CO_TRY(co_await sleep_for(std::chrono::milliseconds(40)));
    }
  };
  for (int i = 0; i < 100; ++i) scope.spawn(insist, std::ref(authorizer), i);
  world.advance(seconds(1));

  EXPECT_EQ(check("b"), Outcome::busy);
  for (int i = 0; i < 3; ++i) {
    world.advance(seconds(40));
    EXPECT_EQ(check("a"), Outcome::ok) << i;
  }
}

TEST_F(AuthorizationTest, without_an_api_server_nobody_may) {
  Authorizer alone(nullptr, {}, world.loop);
  EXPECT_EQ(world.run(alone.check({.name = "a"}, "get", "/metrics", "")).outcome(),
            Outcome::denied);
  EXPECT_TRUE(alone.is_open_to_all("/livez"));
}

}  // namespace
}  // namespace isthmus::app
