#include "isthmus/app/authentication.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "isthmus/app/reviews_testing.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/net/authority_testing.h"

namespace isthmus::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class AuthenticationTest : public testing::Test {
 protected:
  AuthenticationTest() {
    reviews.users["good"] = "system:serviceaccount:monitoring:prometheus";
    trust.set(net::ClientAuthorities::parse(authority.pem()).value());
  }

  Result<kube::UserInfo> identify(Credentials credentials) {
    return world.run(authenticator.identify(std::move(credentials)));
  }
  Result<kube::UserInfo> identify_token(const std::string& token) {
    return identify({.token = Secret(token)});
  }
  // Strangers who show token after token, ten at once from each of these networks, until the scope
  // ends. The API server takes its time.
  void crowd(Scope& scope, int networks) {
    const auto insist = [](Authenticator& asked, int network, int number) -> Task<Result<>> {
      for (int i = 0;; ++i) {
        Credentials credentials{.token = Secret(fmt::format("{}-{}-{}", network, number, i)),
                                .network = std::to_string(network)};
        Result<kube::UserInfo> nobody = co_await asked.identify(std::move(credentials));
        EXPECT_FALSE(nobody);
        CO_TRY(co_await sleep_for(milliseconds(40)));
      }
    };
    reviews.latency = milliseconds(200);
    for (int i = 0; i < networks * 10; ++i) {
      scope.spawn(insist, std::ref(authenticator), i / 10, i % 10);
    }
    world.advance(milliseconds(100));
  }

  Credentials certificate(const net::TestAuthority::Wish& wish) {
    return {.certificates = {authority.issue(wish).der}};
  }

  VirtualWorld world;
  FakeReviews reviews;
  ClientTrust trust;
  const net::TestAuthority authority{world.loop.wall_now()};
  Authenticator authenticator{&trust, &reviews, seconds(10), world.loop};
};

TEST_F(AuthenticationTest, credentials_are_the_bearer_token_and_the_certificates) {
  net::Request request;
  request.headers.set("Authorization", "bearer  abc ");
  const Credentials credentials =
      credentials_of(request, {.address = "192.0.2.7:4711", .certificates = {"der"}});
  EXPECT_EQ(credentials.token, Secret("abc"));
  EXPECT_EQ(credentials.network, "192.0.2.7");
  EXPECT_THAT(credentials.certificates, ElementsAre("der"));

  for (const char* other : {"Basic YTpi", "Bearer", "Bearer ", "abc", ""}) {
    request.headers.set("Authorization", other);
    EXPECT_TRUE(credentials_of(request, {}).token.empty()) << other;
  }
}

TEST_F(AuthenticationTest, who_shows_nothing_is_anonymous) {
  EXPECT_EQ(identify({}).value(), anonymous());
  EXPECT_EQ(reviews.token_reviews, 0);
}

TEST_F(AuthenticationTest, a_token_is_whose_the_api_server_says) {
  const kube::UserInfo user = identify_token("good").value();

  EXPECT_EQ(user.name, "system:serviceaccount:monitoring:prometheus");
  EXPECT_THAT(user.groups, ElementsAre("system:serviceaccounts", "system:authenticated"));
  EXPECT_THAT(reviews.last_body, HasSubstr(R"("token":"good")"));
}

TEST_F(AuthenticationTest, a_wrong_token_is_refused_and_not_made_anonymous) {
  const Result<kube::UserInfo> user = identify_token("wrong");
  EXPECT_EQ(user.outcome(), Outcome::denied);
  EXPECT_THAT(user.error().message, Not(HasSubstr("\"wrong\"")));
  EXPECT_EQ(identify_token("no\ttoken").outcome(), Outcome::denied);
  EXPECT_EQ(reviews.token_reviews, 1) << "what cannot be a token is not asked about";
}

TEST_F(AuthenticationTest, a_verdict_counts_for_its_time_and_no_longer) {
  for (const char* token : {"good", "good", "wrong", "wrong"}) std::ignore = identify_token(token);
  EXPECT_EQ(reviews.token_reviews, 2);

  reviews.users.clear();
  world.advance(seconds(9));
  EXPECT_TRUE(identify_token("good"));
  world.advance(seconds(1));
  EXPECT_EQ(identify_token("good").outcome(), Outcome::denied);
}

TEST_F(AuthenticationTest, equal_tokens_at_one_time_are_one_question) {
  EXPECT_TRUE(identify_token("good"));
  world.advance(seconds(10));
  Scope scope(world.loop);
  std::vector<Outcome> outcomes;
  const auto ask = [](Authenticator& asked, std::vector<Outcome>& kept) -> Task<Result<>> {
    Result<kube::UserInfo> user = co_await asked.identify({.token = Secret("good")});
    kept.push_back(user.outcome());
    co_return Result<>{};
  };
  for (std::size_t i = 0; i < kReviewsAlikeMax; ++i) {
    scope.spawn(ask, std::ref(authenticator), std::ref(outcomes));
  }
  EXPECT_EQ(identify_token("good").outcome(), Outcome::busy) << "one token has no more places";
  world.advance(seconds(1));

  EXPECT_EQ(outcomes, std::vector<Outcome>(kReviewsAlikeMax, Outcome::ok));
  EXPECT_EQ(reviews.token_reviews, 2);
}

TEST_F(AuthenticationTest,
       while_the_api_server_is_away_what_is_known_counts_and_nobody_waits_long) {
  EXPECT_TRUE(identify_token("good"));
  reviews.hangs = true;
  EXPECT_TRUE(identify_token("good"));

  const Moment before = world.loop.now();
  EXPECT_EQ(identify_token("new").outcome(), Outcome::deadline);
  EXPECT_EQ(world.loop.now() - before, kReviewTimeout);
}

TEST_F(AuthenticationTest, that_we_may_not_ask_says_nothing_about_the_caller) {
  reviews.error = Error{Outcome::denied, "tokenreviews is forbidden", {}};
  EXPECT_EQ(identify_token("good").outcome(), Outcome::lost);

  reviews.error.reset();
  EXPECT_TRUE(identify_token("good")) << "a failure is not remembered";
}

TEST_F(AuthenticationTest, too_many_callers_of_one_network_at_once_are_turned_away) {
  reviews.hangs = true;
  Scope scope(world.loop);
  const auto ask = [](Authenticator& asked, int number) -> Task<Result<>> {
    std::ignore = co_await asked.identify({.token = Secret(std::to_string(number % 4))});
    co_return Result<>{};
  };
  for (int i = 0; i < 100; ++i) scope.spawn(ask, std::ref(authenticator), i);
  world.advance(milliseconds(1));

  EXPECT_EQ(identify_token("one-more").outcome(), Outcome::busy);
  EXPECT_EQ(reviews.token_reviews, 4);

  world.advance(kReviewTimeout);
  reviews.hangs = false;
  EXPECT_EQ(identify_token("one-more").outcome(), Outcome::denied) << "there is room again";
}

TEST_F(AuthenticationTest, strangers_of_one_network_do_not_keep_out_another) {
  Scope scope(world.loop);
  crowd(scope, 1);
  for (const char* token : {"first", "second", "third"}) {
    reviews.users[token] = "prometheus";
    EXPECT_TRUE(identify({.token = Secret(token), .network = "192.0.2.7"})) << token;
    world.advance(seconds(1));
  }
}

TEST_F(AuthenticationTest, strangers_from_everywhere_do_not_keep_out_who_was_let_in_before) {
  EXPECT_TRUE(identify({.token = Secret("good"), .network = "0"}));
  Scope scope(world.loop);
  crowd(scope, 10);
  EXPECT_EQ(identify({.token = Secret("new"), .network = "192.0.2.7"}).outcome(), Outcome::busy);
  for (int i = 0; i < 3; ++i) {
    const auto before = static_cast<std::size_t>(reviews.token_reviews);
    world.advance(seconds(40));
    EXPECT_GT(static_cast<std::size_t>(reviews.token_reviews) - before, kReviewsKeptMax);
    EXPECT_TRUE(identify({.token = Secret("good"), .network = "0"})) << i;
  }
}

TEST_F(AuthenticationTest, the_last_verdict_counts_whatever_was_said_before) {
  EXPECT_TRUE(identify_token("good"));
  world.advance(seconds(10));
  const auto users = std::exchange(reviews.users, {});
  EXPECT_EQ(identify_token("good").outcome(), Outcome::denied);
  world.advance(seconds(9));
  EXPECT_EQ(identify_token("good").outcome(), Outcome::denied);
  reviews.users = users;
  world.advance(seconds(1));
  EXPECT_TRUE(identify_token("good"));
}

TEST_F(AuthenticationTest, a_certificate_names_its_user_without_a_question) {
  const kube::UserInfo user =
      identify(certificate({.common_name = "admin", .organizations = {"system:masters"}})).value();

  EXPECT_EQ(user.name, "admin");
  EXPECT_THAT(user.groups, ElementsAre("system:masters", "system:authenticated"));
  EXPECT_EQ(reviews.token_reviews, 0);
}

TEST_F(AuthenticationTest,
       a_certificate_that_nobody_vouches_for_is_refused_unless_a_token_is_good) {
  const net::TestAuthority other(world.loop.wall_now());
  Credentials credentials{.certificates = {other.issue({.common_name = "admin"}).der}};
  EXPECT_EQ(identify(credentials).outcome(), Outcome::denied);

  credentials.token = Secret("good");
  EXPECT_THAT(identify(credentials).value().name, HasSubstr("prometheus"));
}

TEST_F(AuthenticationTest, another_authority_counts_at_once) {
  const Credentials credentials = certificate({.common_name = "admin"});
  EXPECT_TRUE(identify(credentials));

  trust.set(net::ClientAuthorities::parse(net::TestAuthority(world.loop.wall_now()).pem()).value());
  EXPECT_EQ(identify(credentials).outcome(), Outcome::denied);
  trust.set(std::nullopt);
  EXPECT_EQ(identify(credentials).outcome(), Outcome::denied);
}

TEST_F(AuthenticationTest, what_cannot_be_looked_at_is_as_if_it_had_not_been_shown) {
  Authenticator blind(nullptr, nullptr, seconds(10), world.loop);
  Credentials credentials = certificate({.common_name = "admin"});
  credentials.token = Secret("good");
  EXPECT_EQ(world.run(blind.identify(credentials)).value(), anonymous());
}

}  // namespace
}  // namespace isthmus::app
