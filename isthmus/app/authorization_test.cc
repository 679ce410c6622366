#include "isthmus/app/authorization.h"

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
  Outcome check(const std::string& user, const std::string& path = "/metrics") {
    return world.run(authorizer.check({.name = user, .groups = {"readers"}}, "get", path))
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
      world.run(authorizer.check({.name = "a", .groups = {"system:masters"}}, "delete", "/x")));
  EXPECT_EQ(reviews.access_reviews, 0);
}

TEST_F(AuthorizationTest, an_api_server_that_does_not_tell_is_no_verdict) {
  reviews.error = Error{Outcome::denied, "subjectaccessreviews is forbidden", {}};
  EXPECT_EQ(check("a"), Outcome::lost);
  reviews.error.reset();
  reviews.hangs = true;
  EXPECT_EQ(check("a"), Outcome::deadline);
}

TEST_F(AuthorizationTest, without_an_api_server_nobody_may) {
  Authorizer alone(nullptr, {}, world.loop);
  EXPECT_EQ(world.run(alone.check({.name = "a"}, "get", "/metrics")).outcome(), Outcome::denied);
  EXPECT_TRUE(alone.is_open_to_all("/livez"));
}

}  // namespace
}  // namespace isthmus::app
