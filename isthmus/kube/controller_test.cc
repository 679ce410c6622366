#include "isthmus/kube/controller.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;

ObjectKey key(std::string name) { return {"", std::move(name)}; }

// Answers as it is told and takes as long as it is told; keeps a diary of begins.
class Scripted final : public Reconciler {
 public:
  Scripted(std::string name, const Loop& loop) : name_(std::move(name)), loop_(loop) {}
  std::string_view name() const override { return name_; }

  Task<Result<Action>> reconcile(ObjectKey key) override {
    EXPECT_TRUE(running_.insert(key).second) << "two runs for one key at once";
    begun.push_back({key.name, loop_.now() - Moment{}});
    most_at_once = std::max(most_at_once, running_.size());
    Result<> slept = co_await sleep_for(takes);
    running_.erase(key);
    if (!slept) co_return std::unexpected(slept.error());
    co_return answer;
  }

  std::vector<Duration> times(const std::string& name) const {
    std::vector<Duration> all;
    for (const auto& [who, when] : begun) {
      if (who == name) all.push_back(when);
    }
    return all;
  }

  Result<Action> answer = Action::done();
  Duration takes{};
  std::vector<std::pair<std::string, Duration>> begun;
  std::size_t most_at_once = 0;

 private:
  const std::string name_;
  const Loop& loop_;
  std::set<ObjectKey> running_;
};

class ControllerTest : public ::testing::Test {
 protected:
  void start(std::size_t workers = 10) {
    controller =
        std::make_unique<Controller>(ControllerOptions{.queue = "Nodes", .workers = workers},
                                     std::vector<std::reference_wrapper<Reconciler>>{first, second},
                                     world.loop, random, metrics, log);
    scope.emplace(world.loop);
    scope->spawn(&Controller::run, controller.get());
  }
  Task<Result<>> pass(Duration time) {
    CO_TRY(co_await sleep_for(time));
    co_return Result<>{};
  }
  void run(Duration time) { EXPECT_TRUE(world.run(pass(time))); }

  VirtualWorld world;
  SeededRandom random{3};
  Metrics metrics;
  MemoryLogger log;
  Scripted first{"cloud-node-controller", world.loop};
  Scripted second{"cloud-node-lifecycle-controller", world.loop};
  std::unique_ptr<Controller> controller;
  std::optional<Scope> scope;
};

TEST_F(ControllerTest, may_be_asked_to_come_back_at_the_end_of_time) {
  first.answer = Action::again_after(Duration::max());
  start();
  controller->enqueue(key("n1"));
  run(24h);
  EXPECT_EQ(first.times("n1"), (std::vector<Duration>{0s}));
}

TEST_F(ControllerTest, runs_all_reconcilers_of_a_kind_for_a_key_one_after_the_other) {
  start();
  first.takes = 1s;
  controller->enqueue(key("a"));
  run(500ms);
  EXPECT_TRUE(second.begun.empty());
  run(1s);
  EXPECT_EQ(second.times("a"), (std::vector<Duration>{1s}));
}

TEST_F(ControllerTest, runs_one_key_at_a_time_and_a_change_meanwhile_once_more) {
  start();
  first.takes = 1s;
  controller->enqueue(key("a"));
  run(500ms);
  controller->enqueue(key("a"));
  controller->enqueue(key("a"));
  run(10s);
  EXPECT_EQ(first.times("a").size(), 2u);
}

TEST_F(ControllerTest, runs_as_many_keys_at_once_as_it_has_workers) {
  start(3);
  first.takes = 1s;
  for (int i = 0; i < 9; ++i) controller->enqueue(key("n" + std::to_string(i)));
  run(10s);
  EXPECT_EQ(first.begun.size(), 9u);
  EXPECT_EQ(first.most_at_once, 3u);
}

TEST_F(ControllerTest, does_not_come_back_after_done) {
  start();
  controller->enqueue(key("a"));
  run(24h);
  EXPECT_EQ(first.begun.size(), 1u);
}

TEST_F(ControllerTest, comes_back_after_the_time_asked_for_within_a_tenth) {
  start();
  first.answer = Action::again_after(5min);
  controller->enqueue(key("a"));
  run(6min);
  const auto times = first.times("a");
  ASSERT_EQ(times.size(), 2u);
  EXPECT_GE(times[1], 270s);
  EXPECT_LE(times[1], 330s);
}

TEST_F(ControllerTest, spreads_keys_that_began_together) {
  start(100);
  first.answer = Action::again_after(5min);
  for (int i = 0; i < 50; ++i) controller->enqueue(key("n" + std::to_string(i)));
  run(6min);
  std::set<Duration> returns;
  for (std::size_t i = 50; i < first.begun.size(); ++i) returns.insert(first.begun[i].second);
  EXPECT_GE(returns.size(), 45u);
}

TEST_F(ControllerTest, backs_off_from_a_second_to_two_minutes_after_conflicts_and_losses) {
  for (const Outcome outcome :
       {Outcome::conflict, Outcome::lost, Outcome::absent, Outcome::deadline, Outcome::cancelled}) {
    first.answer = fail(outcome, "no");
    first.begun.clear();
    start();
    controller->enqueue(key("a"));
    run(30min);
    const auto times = first.times("a");
    ASSERT_GE(times.size(), 15u) << to_string(outcome);
    EXPECT_LE(times.size(), 40u);
    EXPECT_GE(times[1] - times[0], 500ms);
    EXPECT_LE(times[1] - times[0], 1s);
    EXPECT_LE(times.back() - times[times.size() - 2], 120s);
    scope->cancel();
    run(1s);
    scope.reset();
  }
}

TEST_F(ControllerTest, forgets_failures_after_a_success) {
  start();
  first.answer = fail(Outcome::lost, "no");
  controller->enqueue(key("a"));
  run(5min);
  first.answer = Action::done();
  run(5min);
  first.begun.clear();
  first.answer = fail(Outcome::lost, "no");
  controller->enqueue(key("a"));
  run(5s);
  EXPECT_GE(first.times("a").size(), 3u) << "it begins at one second again";
}

TEST_F(ControllerTest, comes_back_when_a_busy_server_said_and_not_before) {
  start();
  first.answer = fail(Outcome::busy, "429", 40s);
  controller->enqueue(key("a"));
  run(39s);
  EXPECT_EQ(first.begun.size(), 1u);
  run(6s);
  EXPECT_EQ(first.begun.size(), 2u);
}

TEST_F(ControllerTest, parks_what_only_a_change_can_help) {
  for (const Outcome outcome : {Outcome::invalid, Outcome::unsupported}) {
    first.answer = fail(outcome, "no");
    first.begun.clear();
    start();
    controller->enqueue(key("a"));
    run(8min);
    EXPECT_EQ(first.begun.size(), 1u) << to_string(outcome);
    controller->enqueue(key("a"));
    run(1s);
    EXPECT_EQ(first.begun.size(), 2u) << "a change comes at once";
    run(12min);
    EXPECT_GE(first.begun.size(), 3u) << "and it is looked at again now and then";
    scope->cancel();
    run(1s);
    scope.reset();
  }
}

TEST_F(ControllerTest, looks_again_within_minutes_whether_rights_were_given_back) {
  start();
  first.answer = fail(Outcome::denied, "403");
  controller->enqueue(key("a"));
  run(45s);
  EXPECT_EQ(first.begun.size(), 1u);
  first.answer = Action::done();
  run(30s);
  EXPECT_EQ(first.begun.size(), 2u);
}

TEST_F(ControllerTest, tells_of_a_failure_once_until_the_key_succeeds) {
  start();
  first.answer = fail(Outcome::lost, "cut");
  controller->enqueue(key("a"));
  run(1h);
  const auto told = [this] {
    return std::ranges::count_if(
        log.lines, [](const MemoryLogger::Line& line) { return line.level == Level::warning; });
  };
  EXPECT_GT(first.begun.size(), 20u);
  EXPECT_EQ(told(), 1);
  first.answer = Action::done();
  run(5min);
  first.answer = fail(Outcome::lost, "cut");
  controller->enqueue(key("a"));
  run(1h);
  EXPECT_EQ(told(), 2);
}

TEST_F(ControllerTest, takes_the_earliest_wish_of_two_reconcilers) {
  start();
  first.answer = fail(Outcome::invalid, "no");
  second.answer = Action::again_after(1min);
  controller->enqueue(key("a"));
  run(70s);
  EXPECT_EQ(first.begun.size(), 2u);
  EXPECT_EQ(second.begun.size(), 2u) << "one that fails does not keep the other from running";
}

TEST_F(ControllerTest, ends_a_run_that_takes_too_long_and_tries_again) {
  start();
  first.takes = 1h;
  controller->enqueue(key("a"));
  run(5min + 2s);
  EXPECT_EQ(first.begun.size(), 2u);
  EXPECT_TRUE(log.mentions("deadline"));
}

TEST_F(ControllerTest, follows_a_store_through_a_filter_with_the_first_list_as_resync) {
  start(1);
  Store<Node> store;
  controller->follow<Node>(
      store, [](const Difference<Node>& news) { return !news.after || news.after->unschedulable; });
  Node object;
  object.meta = {.key = key("a"), .uid = "1", .resource_version = "1"};
  store.apply({ChangeKind::added, {object.meta.key, "1", "1", object}});
  run(1s);
  EXPECT_TRUE(first.begun.empty()) << "not a change that matters";
  object.unschedulable = true;
  object.meta.resource_version = "2";
  store.apply({ChangeKind::modified, {object.meta.key, "1", "2", object}});
  run(1s);
  EXPECT_EQ(first.begun.size(), 1u);
}

TEST_F(ControllerTest, lets_fresh_changes_overtake_resyncs) {
  start(1);
  first.takes = 1s;
  controller->enqueue(key("r1"), Priority::resync);
  controller->enqueue(key("r2"), Priority::resync);
  run(100ms);
  controller->enqueue(key("f"), Priority::fresh);
  run(10s);
  ASSERT_EQ(first.begun.size(), 3u);
  EXPECT_EQ(first.begun[1].first, "f");
}

TEST_F(ControllerTest, lets_runs_end_when_stopped_and_starts_none_of_what_waits) {
  start(1);
  first.takes = 3s;
  controller->enqueue(key("a"));
  controller->enqueue(key("b"));
  run(1s);
  controller->stop();
  run(1s);
  EXPECT_EQ(scope->children(), 1u);
  run(2s);
  EXPECT_EQ(scope->children(), 0u);
  EXPECT_EQ(first.begun.size(), 1u);
  EXPECT_EQ(second.begun.size(), 1u) << "the run under way was finished";
}

TEST_F(ControllerTest, tells_how_long_the_longest_run_takes) {
  start();
  EXPECT_EQ(controller->longest_running(), 0s);
  controller->enqueue(key("a"));
  run(1s);
  first.takes = 1min;
  controller->enqueue(key("b"));
  run(5s);
  controller->enqueue(key("c"));
  run(5s);
  EXPECT_EQ(controller->longest_running(), 10s);
  run(51s);
  EXPECT_EQ(controller->longest_running(), 56s) << "of the second";
}

TEST_F(ControllerTest, ends_at_once_with_its_scope) {
  start();
  first.takes = 1h;
  controller->enqueue(key("a"));
  run(1s);
  scope->cancel();
  run(1ms);
  EXPECT_EQ(scope->children(), 0u);
}

}  // namespace
}  // namespace isthmus::kube
