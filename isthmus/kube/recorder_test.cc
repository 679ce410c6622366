#include "isthmus/kube/recorder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using testing::Verb;

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() { scope.spawn(&Broadcaster::run, &broadcaster); }

  Task<Result<>> pass(Duration time) {
    CO_TRY(co_await sleep_for(time));
    co_return Result<>{};
  }
  void run(Duration time) { EXPECT_TRUE(world.run(pass(time))); }

  ObjectReference node(const std::string& name) const {
    return {"v1", "Node", {"", name}, "uid-of-" + name, "5"};
  }
  json::value only_event() const {
    const std::vector<ObjectKey> keys = api.keys(Event::resource);
    EXPECT_EQ(keys.size(), 1u);
    return keys.empty() ? json::value() : api.see(Event::resource, keys.front());
  }
  std::size_t events() const { return api.keys(Event::resource).size(); }

  VirtualWorld world;
  FakeApi api{world.loop};
  SeededRandom random{5};
  Metrics metrics;
  NullLogger log;
  Broadcaster broadcaster{api, world.loop, random, metrics, log, {.notes_max = 100}};
  std::unique_ptr<Recorder> recorder = broadcaster.recorder("cloud-node-controller");
  Scope scope{world.loop};
};

TEST_F(RecorderTest, posts_a_note_as_an_event_about_the_object) {
  recorder->warning(node("n1"), "FailedToInitialize", "no machine");
  run(1s);
  const json::value event = only_event();
  EXPECT_EQ(event.at_pointer("/metadata/namespace"), "default");
  EXPECT_TRUE(event.at_pointer("/metadata/name").as_string().starts_with("n1."));
  EXPECT_EQ(event.at_pointer("/involvedObject/kind"), "Node");
  EXPECT_EQ(event.at_pointer("/involvedObject/uid"), "uid-of-n1");
  EXPECT_EQ(event.at_pointer("/type"), "Warning");
  EXPECT_EQ(event.at_pointer("/reason"), "FailedToInitialize");
  EXPECT_EQ(event.at_pointer("/source/component"), "cloud-node-controller");
  EXPECT_EQ(event.at_pointer("/reportingComponent"), "cloud-node-controller");
  EXPECT_EQ(event.at_pointer("/count"), 1);
}

TEST_F(RecorderTest, puts_an_event_into_the_namespace_of_its_object) {
  recorder->normal({"v1", "Service", {"shop", "web"}, "u", "1"}, "EnsuredLoadBalancer", "done");
  run(1s);
  EXPECT_EQ(api.keys(Event::resource).front().name_space, "shop");
}

TEST_F(RecorderTest, counts_the_same_note_up_instead_of_telling_it_again) {
  for (int i = 0; i < 3; ++i) {
    recorder->normal(node("n1"), "Synced", "initialized");
    run(1min);
  }
  const json::value event = only_event();
  EXPECT_EQ(event.at_pointer("/count"), 3);
  EXPECT_EQ(event.at_pointer("/firstTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(event.at_pointer("/lastTimestamp"), "2026-01-01T00:02:00Z");
}

TEST_F(RecorderTest, tells_an_event_anew_that_expired_before_it_was_counted_up) {
  recorder->normal(node("n1"), "Synced", "initialized");
  run(1h);
  api.erase(Event::resource, api.keys(Event::resource).front());
  recorder->normal(node("n1"), "Synced", "initialized");
  run(1s);
  EXPECT_EQ(only_event().at_pointer("/count"), 2);
}

TEST_F(RecorderTest, drops_spam_and_counts_it) {
  for (int i = 0; i < 40; ++i) {
    recorder->normal(node("n1"), fmt::format("Reason{}", i), "x");
    run(100ms);
  }
  EXPECT_EQ(events(), 25u);
  EXPECT_EQ(broadcaster.count(NoteFate::spam), 15u);
}

TEST_F(RecorderTest, never_waits_and_counts_what_did_not_fit) {
  for (int i = 0; i < 150; ++i) recorder->normal(node(fmt::format("n{}", i)), "A", "x");
  EXPECT_EQ(broadcaster.count(NoteFate::queue_full), 50u);
  run(1s);
  EXPECT_EQ(events(), 100u);
  EXPECT_EQ(broadcaster.count(NoteFate::posted), 100u);
}

TEST_F(RecorderTest, is_not_held_up_by_one_answer_that_never_comes) {
  api.inject({.verb = Verb::create, .hang = true});
  for (int i = 0; i < 20; ++i) recorder->normal(node(fmt::format("n{}", i)), "A", "x");
  run(1s);
  EXPECT_EQ(events(), 19u);
}

TEST_F(RecorderTest, tries_twelve_times_ten_seconds_apart_while_answers_are_lost) {
  api.inject({.verb = Verb::create, .error = {Outcome::lost, "refused"}, .times = 11});
  recorder->normal(node("n1"), "A", "x");
  run(90s);
  EXPECT_EQ(events(), 0u);
  run(30s);
  EXPECT_EQ(events(), 1u);
  api.inject({.verb = Verb::create, .error = {Outcome::lost, "refused"}, .times = 12});
  recorder->normal(node("n2"), "A", "x");
  run(3min);
  EXPECT_EQ(events(), 1u);
  EXPECT_EQ(broadcaster.count(NoteFate::lost), 1u);
}

TEST_F(RecorderTest, drops_what_the_server_refuses_at_once) {
  api.inject({.verb = Verb::create, .error = {Outcome::denied, "namespace is terminating"}});
  recorder->normal(node("n1"), "A", "x");
  run(1s);
  EXPECT_EQ(api.calls(Verb::create), 1u);
  EXPECT_EQ(broadcaster.count(NoteFate::refused), 1u);
}

TEST_F(RecorderTest, sends_what_was_counted_meanwhile_after_a_slow_answer) {
  api.latency = 10s;
  for (int i = 0; i < 5; ++i) {
    recorder->normal(node("n1"), "A", "x");
    run(1s);
  }
  run(1min);
  EXPECT_EQ(only_event().at_pointer("/count"), 5);
  EXPECT_EQ(api.calls(Verb::create) + api.calls(Verb::patch), 2u);
}

TEST_F(RecorderTest, flushes_before_an_orderly_exit) {
  api.latency = 100ms;
  for (int i = 0; i < 80; ++i) recorder->normal(node(fmt::format("n{}", i)), "A", "x");
  EXPECT_TRUE(world.run(with_timeout(2s, broadcaster.flush())));
  EXPECT_EQ(events(), 80u);
}

TEST_F(RecorderTest, counts_what_was_left_when_it_was_stopped) {
  api.inject({.verb = Verb::create, .hang = true, .times = 100});
  for (int i = 0; i < 20; ++i) recorder->normal(node(fmt::format("n{}", i)), "A", "x");
  run(1s);
  scope.cancel();
  run(1s);
  EXPECT_EQ(broadcaster.count(NoteFate::stopped), 20u);
}

}  // namespace
}  // namespace isthmus::kube
