#include "isthmus/providers/infra/news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/infra/server_testing.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using namespace std::chrono_literals;
using News = cloud::LoadBalancerNews;
using Type = api::WatchEvent::Type;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ready_balancer;

// A body of pieces that each come after a while; the last of them is followed by silence.
class SlowPieces final : public net::BodyStream {
 public:
  SlowPieces(std::deque<Result<std::string>> pieces, Duration apart)
      : pieces_(std::move(pieces)), apart_(apart) {}
  Task<Result<std::string>> next() override {
    CO_TRY(co_await sleep_for(pieces_.empty() ? 24h : apart_));
    if (pieces_.empty()) co_return std::string();
    Result<std::string> piece = std::move(pieces_.front());
    pieces_.pop_front();
    co_return piece;
  }

 private:
  std::deque<Result<std::string>> pieces_;
  const Duration apart_;
};

api::WatchEvent an_event(Type type) {
  api::WatchEvent event;
  event.type = type;
  event.revision = 9;
  return event;
}

std::string line(api::WatchEvent event) { return encode(event) + "\n"; }

std::string of_balancer(Type type, std::string name, std::string owner = "prod") {
  api::WatchEvent event = an_event(type);
  event.load_balancer = ready_balancer(std::move(name));
  event.load_balancer->metadata.owner = std::move(owner);
  return line(std::move(event));
}

std::string of_address(Type type, api::AllocatedAddress::State state, std::string address) {
  api::WatchEvent event = an_event(type);
  event.address = api::AllocatedAddress{};
  event.address->address = testing::ip(address);
  event.address->pool = "public";
  event.address->owner = "prod";
  event.address->state = state;
  return line(std::move(event));
}

std::string of_set(Type type, std::uint64_t generation) {
  api::WatchEvent event = an_event(type);
  event.target_set = testing::a_target_set();
  event.target_set->metadata.generation = generation;
  return line(std::move(event));
}

std::string of_pool() {
  api::WatchEvent event = an_event(Type::changed);
  event.pool = api::Pool{};
  event.pool->name = "public";
  event.pool->ranges = {parse_prefix("192.0.2.0/28").value()};
  return line(std::move(event));
}

struct news : testing::ScriptedProvider {
  news() {
    server.greet(testing::whole_server());
    list({ready_balancer("a")});
  }
  void list(std::vector<api::LoadBalancer> items) {
    server.answer("GET /v1/owners/prod/loadbalancers?limit=250",
                  testing::json_answer(encode(api::LoadBalancerList{std::move(items), 5, "", 0})));
  }
  // What is told until the stream has ended, one word for each: "everything a", "changed web".
  Result<> follow(testing::ScriptedServer::Pieces pieces) {
    told.clear();
    server.streams["GET /v1/owners/prod/watch?from=5"] = std::move(pieces);
    return world.run(tell_news(objects, sets, "prod", [this](const News& one) {
      static constexpr std::array kWords = {"everything", "changed", "removed", "resources"};
      std::string word = kWords.at(static_cast<std::size_t>(one.kind));
      for (const auto& state : one.states) word += " " + state.name;
      told.push_back(std::move(word));
    }));
  }
  // The pieces come so far apart, and then nothing.
  void be_slow(Duration apart) {
    server.make_stream = [apart](testing::ScriptedServer::Pieces pieces) {
      return std::make_unique<SlowPieces>(std::move(pieces), apart);
    };
  }
  // The set "nodes" stands as we left it, at this generation.
  void ensure_set(std::uint64_t generation) {
    api::TargetSet set = testing::a_target_set();
    set.metadata.generation = generation;
    server.answer("PUT /v1/owners/prod/targetsets/nodes", testing::json_answer(encode(set)));
    ASSERT_TRUE(world.run(sets.ensure({.name = "nodes"})));
  }

  std::vector<std::string> told;
};

TEST_F(news, are_everything_there_is_and_then_each_change_until_the_stream_ends) {
  const Result<> ended = follow({line(an_event(Type::bookmark)), of_balancer(Type::changed, "a"),
                                 of_balancer(Type::removed, "a")});
  EXPECT_EQ(ended.outcome(), Outcome::lost);
  EXPECT_THAT(told, ElementsAre("everything a", "changed a", "removed a"));
}

TEST_F(news, are_read_however_the_bytes_arrive) {
  const std::string both = of_balancer(Type::changed, "a") + of_balancer(Type::changed, "b");
  testing::ScriptedServer::Pieces pieces;
  for (std::size_t i = 0; i < both.size(); i += 7) pieces.emplace_back(both.substr(i, 7));
  follow(std::move(pieces)).outcome();
  EXPECT_THAT(told, ElementsAre("everything a", "changed a", "changed b"));
}

TEST_F(news, are_none_of_a_list_that_is_not_complete) {
  list({ready_balancer("a"), ready_balancer("../x")});
  EXPECT_EQ(follow({}).outcome(), Outcome::lost);
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(news, start_over_when_the_history_does_not_reach_back) {
  server.answer("GET /v1/owners/prod/watch?from=5",
                testing::problem_answer(api::problem::revision_gone));
  EXPECT_EQ(world.run(tell_news(objects, sets, "prod", [](const News&) {})).outcome(),
            Outcome::lost);
  api::WatchEvent gone = an_event(Type::problem);
  gone.problem = api::make_problem(api::problem::revision_gone, "too far back");
  const Result<> ended = follow({line(gone), of_balancer(Type::changed, "a")});
  EXPECT_EQ(ended.outcome(), Outcome::lost);
  EXPECT_THAT(ended.error().message, HasSubstr("too far back"));
  EXPECT_THAT(told, ElementsAre("everything a"));
}

TEST_F(news, end_with_the_first_line_that_is_not_understood_or_about_somebody_else) {
  for (const std::string& odd :
       {std::string("<html>\n"), std::string("{}\n"), of_balancer(Type::changed, "b", "test"),
        std::string(R"({"type":"changed","revision":9,"object":{"kind":"LoadBalancer"}})") + "\n",
        std::string("{\"type\":")}) {
    const Result<> ended = follow({odd, of_balancer(Type::changed, "c")});
    EXPECT_EQ(ended.outcome(), Outcome::lost) << odd;
    EXPECT_THAT(told, ElementsAre("everything a")) << odd;
  }
}

TEST_F(news, pass_over_what_a_newer_server_tells) {
  follow({R"({"type":"exploded","revision":9})"
          "\n",
          R"({"type":"changed","revision":9,"object":{"kind":"Teapot"}})"
          "\n",
          of_balancer(Type::changed, "a")})
      .outcome();
  EXPECT_THAT(told, ElementsAre("everything a", "changed a"));
}

TEST_F(news, end_when_the_server_is_silent_for_longer_than_two_bookmarks) {
  be_slow(30s);
  const Result<> ended = follow({line(an_event(Type::bookmark)), line(an_event(Type::bookmark))});
  EXPECT_EQ(ended.outcome(), Outcome::lost);
  EXPECT_EQ(world.elapsed(), 30s + 30s + kSilenceMax);
}

TEST_F(news, of_freed_addresses_and_of_pools_are_told_once_for_all_that_happen_together) {
  be_slow(100ms);
  using State = api::AllocatedAddress::State;
  const Result<> ended = follow({of_address(Type::removed, State::held, "192.0.2.1"),
                                 of_address(Type::removed, State::held, "192.0.2.2"), of_pool(),
                                 of_balancer(Type::changed, "a")});
  EXPECT_EQ(ended.outcome(), Outcome::lost);
  EXPECT_THAT(told, ElementsAre("everything a", "changed a", "resources"));
}

TEST_F(news, of_addresses_that_are_not_free_are_none) {
  be_slow(1s);
  using State = api::AllocatedAddress::State;
  follow({of_address(Type::changed, State::held, "192.0.2.1"),
          of_address(Type::changed, State::cooling, "192.0.2.2")})
      .outcome();
  EXPECT_THAT(told, ElementsAre("everything a"));
}

TEST_F(news, of_a_target_set_are_told_when_somebody_else_changed_it) {
  be_slow(1s);
  ensure_set(4);
  follow({of_set(Type::changed, 4)}).outcome();
  EXPECT_THAT(told, ElementsAre("everything a"));
  follow({of_set(Type::changed, 5)}).outcome();
  EXPECT_THAT(told, ElementsAre("everything a", "resources"));
  follow({of_set(Type::removed, 4)}).outcome();
  EXPECT_THAT(told, ElementsAre("everything a", "resources"));
}

TEST_F(news, of_a_target_set_that_we_never_ensured_are_none) {
  be_slow(1s);
  follow({of_set(Type::changed, 5), of_set(Type::removed, 5)}).outcome();
  EXPECT_THAT(told, ElementsAre("everything a"));
}

TEST_F(news, end_with_whoever_follows) {
  be_slow(1s);
  server.streams["GET /v1/owners/prod/watch?from=5"] = {};
  const Result<> ended =
      world.run(with_timeout(10s, tell_news(objects, sets, "prod", [](const News&) {})));
  EXPECT_EQ(ended.outcome(), Outcome::deadline);
  EXPECT_EQ(world.elapsed(), 10s);
}

Task<Result<>> count_turns(int& turns) {
  for (;; ++turns) CO_TRY(co_await yield());
}

TEST_F(news, of_many_changes_at_once_let_others_have_their_turn) {
  std::string burst;
  for (int i = 0; i < 200; ++i) burst += of_balancer(Type::changed, "a");
  int turns = 0;
  Scope others(world.loop);
  others.spawn(count_turns, std::ref(turns));
  follow({burst}).outcome();
  EXPECT_EQ(told.size(), 201U);
  EXPECT_GE(turns, 10);
}

}  // namespace
}  // namespace isthmus::providers::infra
