#include "isthmus/kube/service_account_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

// Answers token requests: the next of `answers`, or a token "t1", "t2", … of an hour.
class TokenServer final : public ApiDoor {
 public:
  Task<Result<std::string>> create(CreateRequest request) override {
    const std::string plural(request.object.resource.plural);
    asked.push_back(plural + " " + to_string(request.object.key));
    if (latency > Duration::zero()) CO_TRY(co_await sleep_for(latency));
    if (!answers.empty()) {
      Result<std::string> answer = std::move(answers.front());
      answers.pop_front();
      co_return answer;
    }
    if (plural == "serviceaccounts") co_return "{}";
    co_return token("t" + std::to_string(++made), 3600);
  }
  static std::string token(const std::string& text, int life) {
    return R"({"kind": "TokenRequest", "spec": {"expirationSeconds": )" + std::to_string(life) +
           R"(}, "status": {"token": ")" + text + R"("}})";
  }

  Task<Result<std::string>> get(ObjectName) override { return surplus<std::string>(); }
  Task<Result<std::string>> list(ListRequest) override { return surplus<std::string>(); }
  Task<Result<std::unique_ptr<WatchStream>>> watch(WatchRequest) override {
    return surplus<std::unique_ptr<WatchStream>>();
  }
  Task<Result<std::string>> patch(PatchRequest) override { return surplus<std::string>(); }
  Task<Result<>> remove(DeleteRequest) override { return surplus<void>(); }

  std::deque<Result<std::string>> answers;
  std::vector<std::string> asked;
  Duration latency{};
  int made = 0;

 private:
  template <class T>
  static Task<Result<T>> surplus() {
    ADD_FAILURE() << "only tokens are created";
    co_return fail(Outcome::invalid, "surplus");
  }
};

class ServiceAccountTokensTest : public testing::Test {
 protected:
  Result<> ensure() { return world.run(tokens.ensure()); }
  void pass(Duration time) { world.advance(time); }
  std::string token() {
    const Result<Secret> token = tokens.token();
    return token ? token->reveal() : "";
  }

  VirtualWorld world;
  TokenServer server;
  SeededRandom random{1};
  MemoryLogger log;
  ServiceAccountTokens tokens{server, {"kube-system", "node-controller"}, world.loop, random, log};
};

TEST_F(ServiceAccountTokensTest, nothing_is_asked_for_until_somebody_needs_it) {
  EXPECT_EQ(tokens.token().outcome(), Outcome::denied);
  EXPECT_THAT(server.asked, ElementsAre());
  ASSERT_TRUE(ensure().has_value());
  EXPECT_EQ(token(), "t1");
  EXPECT_THAT(server.asked,
              ElementsAre("serviceaccounts/node-controller/token kube-system/node-controller"));
}

TEST_F(ServiceAccountTokensTest, a_token_serves_for_four_fifths_of_its_life) {
  ASSERT_TRUE(ensure().has_value());
  pass(minutes(47));
  ASSERT_TRUE(ensure().has_value());
  EXPECT_EQ(token(), "t1");
  pass(minutes(2));
  ASSERT_TRUE(ensure().has_value());
  EXPECT_EQ(token(), "t2");
}

TEST_F(ServiceAccountTokensTest, a_refused_token_is_replaced_at_once) {
  ASSERT_TRUE(ensure().has_value());
  tokens.rejected(Secret("t1"));
  EXPECT_EQ(tokens.token().outcome(), Outcome::denied);
  ASSERT_TRUE(ensure().has_value());
  EXPECT_EQ(token(), "t2");
}

TEST_F(ServiceAccountTokensTest, a_late_refusal_of_the_token_before_leaves_the_new_one) {
  ASSERT_TRUE(ensure().has_value());
  tokens.rejected(Secret("t1"));
  ASSERT_TRUE(ensure().has_value());
  tokens.rejected(Secret("t1"));
  EXPECT_EQ(token(), "t2");
}

TEST_F(ServiceAccountTokensTest, a_missing_account_is_made) {
  server.answers.emplace_back(fail(Outcome::absent, "no such account"));
  ASSERT_TRUE(ensure().has_value());
  EXPECT_EQ(token(), "t1");
  EXPECT_THAT(server.asked,
              ElementsAre("serviceaccounts/node-controller/token kube-system/node-controller",
                          "serviceaccounts kube-system/node-controller",
                          "serviceaccounts/node-controller/token kube-system/node-controller"));
}

TEST_F(ServiceAccountTokensTest, one_request_serves_all_who_wait) {
  server.latency = seconds(1);
  Scope scope(world.loop);
  std::vector<Outcome> outcomes;
  struct Asker {
    static Task<Result<>> ask(ServiceAccountTokens& tokens, std::vector<Outcome>& outcomes) {
      Result<> ensured = co_await tokens.ensure();
      outcomes.push_back(ensured.outcome());
      co_return Result<>{};
    }
  };
  for (int i = 0; i < 5; ++i) scope.spawn(Asker::ask, std::ref(tokens), std::ref(outcomes));
  world.loop.run_until([&] { return scope.children() == 0; });
  EXPECT_THAT(outcomes, testing::Each(Outcome::ok));
  EXPECT_EQ(server.asked.size(), 1u);
}

TEST_F(ServiceAccountTokensTest, who_waits_asks_when_the_asker_was_cancelled) {
  server.latency = minutes(1);
  Scope first(world.loop);
  Scope second(world.loop);
  struct Asker {
    static Task<Result<>> ask(ServiceAccountTokens& tokens) {
      Result<> ensured = co_await tokens.ensure();
      co_return Result<>{};
    }
  };
  first.spawn(Asker::ask, std::ref(tokens));
  second.spawn(Asker::ask, std::ref(tokens));
  pass(seconds(1));
  first.cancel();
  world.loop.run_until([&] { return second.children() == 0; });
  EXPECT_EQ(token(), "t1");
  EXPECT_EQ(server.asked.size(), 2u);
}

TEST_F(ServiceAccountTokensTest, a_failure_is_answered_for_a_pause_and_never_as_absent) {
  server.answers.emplace_back(fail(Outcome::absent, "gone"));
  server.answers.emplace_back(fail(Outcome::absent, "no such namespace"));
  const Result<> first = ensure();
  ASSERT_EQ(first.outcome(), Outcome::denied);
  EXPECT_THAT(first.error().message, HasSubstr("kube-system/node-controller"));
  const std::size_t asked = server.asked.size();
  EXPECT_EQ(ensure().outcome(), Outcome::denied);
  EXPECT_EQ(server.asked.size(), asked);
  EXPECT_TRUE(log.mentions("no token of a service account"));

  pass(minutes(1));
  EXPECT_TRUE(ensure().has_value());
}

TEST_F(ServiceAccountTokensTest, busy_and_lost_stay_what_they_are) {
  server.answers.emplace_back(fail(Outcome::busy, "429"));
  EXPECT_EQ(ensure().outcome(), Outcome::busy);
  pass(minutes(1));
  server.answers.emplace_back("{}");
  EXPECT_EQ(ensure().outcome(), Outcome::lost);
}

TEST_F(ServiceAccountTokensTest, an_old_token_serves_while_a_new_one_cannot_be_had) {
  ASSERT_TRUE(ensure().has_value());
  pass(minutes(50));
  server.answers.emplace_back(fail(Outcome::lost, "cut"));
  EXPECT_TRUE(ensure().has_value());
  EXPECT_TRUE(ensure().has_value());
  EXPECT_EQ(token(), "t1");
  EXPECT_EQ(server.asked.size(), 2u) << "not again for every call";
  pass(minutes(11));
  EXPECT_EQ(tokens.token().outcome(), Outcome::denied) << "its life is over";
}

}  // namespace
}  // namespace isthmus::kube
