#include "isthmus/kube/watcher.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using testing::Verb;

class WatcherTest : public ::testing::Test {
 protected:
  WatcherTest() {
    store.subscribe([this](const Difference<Node>& news) {
      diary.push_back((news.after ? "+" : "-") + news.key.name);
    });
    scope.spawn(&Watcher::run, &watcher);
  }

  void put(const std::string& name, const std::string& rack = "1") {
    api.put(
        Node::resource,
        fmt::format(R"({{"metadata": {{"name": "{}", "labels": {{"rack": "{}"}}}}}})", name, rack));
  }
  void erase(const std::string& name) { api.erase(Node::resource, {"", name}); }

  Task<Result<>> pass(Duration time) {
    CO_TRY(co_await sleep_for(time));
    co_return Result<>{};
  }
  void run(Duration time) { EXPECT_TRUE(world.run(pass(time))); }

  std::string names() const {
    std::string all;
    for (const auto& [key, object] : store.all()) all += key.name + " ";
    return all;
  }
  unsigned watches() const { return api.calls(Verb::watch); }
  unsigned lists() const { return api.calls(Verb::list); }

  VirtualWorld world;
  FakeApi api{world.loop};
  SeededRandom random{7};
  Metrics metrics;
  MemoryLogger log;
  Store<Node> store;
  StoreSink<Node> sink{store};
  Watcher watcher{api, Node::resource, sink, world.loop, random, metrics, log};
  std::vector<std::string> diary;
  Scope scope{world.loop};
};

TEST_F(WatcherTest, fills_the_store_by_one_streaming_list_and_follows_the_same_stream) {
  put("a");
  put("b");
  run(1s);
  EXPECT_EQ(names(), "a b ");
  put("c");
  erase("a");
  run(1s);
  EXPECT_EQ(names(), "b c ");
  EXPECT_EQ(watches(), 1u);
  EXPECT_EQ(lists(), 0u);
}

TEST_F(WatcherTest, reads_pages_where_the_server_cannot_stream_a_list) {
  api.can_stream_lists = false;
  api.page_max = 2;
  for (const char* name : {"a", "b", "c", "d", "e"}) put(name);
  run(1s);
  EXPECT_EQ(names(), "a b c d e ");
  EXPECT_EQ(lists(), 3u);
  put("f");
  run(1s);
  EXPECT_EQ(names(), "a b c d e f ");
}

TEST_F(WatcherTest, publishes_no_page_of_a_list_that_is_not_whole) {
  api.can_stream_lists = false;
  api.page_max = 1;
  put("a");
  put("b");
  api.on_call = [this](Verb verb, const ObjectName&) {
    if (verb != Verb::list || lists() != 2) return;
    put("c");
    api.compact();  // The state that the first page was of is forgotten.
  };
  run(500ms);
  EXPECT_EQ(names(), "");
  EXPECT_FALSE(store.has_synced());
  run(5s);
  EXPECT_EQ(names(), "a b c ");
}

TEST_F(WatcherTest, falls_back_to_pages_when_the_end_of_the_stream_of_objects_never_comes) {
  api.withholds_initial_end = true;
  put("a");
  run(29s);
  EXPECT_FALSE(store.has_synced());
  run(2s);
  EXPECT_EQ(names(), "a ");
  EXPECT_EQ(lists(), 1u);
}

TEST_F(WatcherTest, falls_back_to_pages_when_it_is_cut_off_as_too_slow_for_the_stream_of_objects) {
  api.withholds_initial_end = true;  // There is always more to come when the server hangs up.
  put("a");
  for (int i = 0; i < 5; ++i) {
    run(100ms);
    api.end_watches();
    run(2s);
  }
  EXPECT_EQ(names(), "a ");
  EXPECT_EQ(lists(), 1u);
}

TEST_F(WatcherTest, resumes_after_the_servers_orderly_end_without_a_list) {
  put("a");
  run(2s);
  api.end_watches();
  put("b");
  run(1s);
  EXPECT_EQ(names(), "a b ");
  EXPECT_EQ(watches(), 2u);
  EXPECT_EQ(lists(), 0u);
}

TEST_F(WatcherTest, resumes_from_the_last_bookmark_after_a_cut_even_if_older_versions_are_gone) {
  put("a");
  run(2s);
  api.put(Lease::resource, R"({"metadata": {"name": "other", "namespace": "x"}})");
  api.bookmark();
  run(1s);
  api.compact();
  api.break_watches();
  run(5s);
  EXPECT_EQ(watches(), 2u) << "one to start and one to resume: no relist";
}

TEST_F(WatcherTest, relists_when_its_version_is_gone_and_publishes_what_vanished_meanwhile) {
  put("a");
  put("b");
  run(2s);
  api.inject({.verb = Verb::watch, .error = {Outcome::lost, "connection refused"}});
  api.break_watches();
  run(100ms);
  erase("a");
  put("c");
  api.compact();
  diary.clear();
  run(5s);
  EXPECT_EQ(names(), "b c ");
  EXPECT_EQ(diary, (std::vector<std::string>{"-a", "+c"}));
}

TEST_F(WatcherTest, relists_after_gone_inside_the_stream) {
  put("a");
  run(2s);
  api.refuse_watches(410, "Expired");
  run(1s);
  put("b");
  run(5s);
  EXPECT_EQ(names(), "a b ");
  EXPECT_EQ(watches(), 2u);
  EXPECT_TRUE(log.mentions("watch interrupted"));
}

TEST_F(WatcherTest, starts_over_when_the_servers_store_was_restored_from_a_backup) {
  put("a");
  put("b");
  run(2s);
  api.restore_backup();
  put("b");
  api.break_watches();
  run(89s);
  EXPECT_EQ(names(), "a b ") << "a watch from the lost future is accepted, and silent";
  run(5s);
  EXPECT_EQ(names(), "b ");
  put("c");
  run(1s);
  EXPECT_EQ(names(), "b c ");
}

TEST_F(WatcherTest, resumes_after_busy_inside_the_stream_without_a_list) {
  put("a");
  run(2s);
  api.refuse_watches(429, "TooManyRequests");
  put("b");
  run(3s);
  EXPECT_EQ(names(), "a b ");
  EXPECT_EQ(watches(), 2u);
}

TEST_F(WatcherTest, notices_a_stream_that_is_open_but_dead) {
  put("a");
  run(2s);
  api.frozen = true;
  put("b");
  run(80s);
  api.frozen = false;  // The old stream stays dead all the same: nothing wakes it.
  EXPECT_EQ(names(), "a ");
  run(11s);
  EXPECT_EQ(names(), "a b ");
  EXPECT_EQ(watches(), 2u);
}

TEST_F(WatcherTest, stays_on_a_quiet_stream_that_sends_bookmarks) {
  put("a");
  for (int minute = 0; minute < 4; ++minute) {
    run(1min);
    api.bookmark();
  }
  EXPECT_EQ(watches(), 1u);
}

TEST_F(WatcherTest, keeps_the_last_view_while_the_server_is_away_and_backs_off_to_half_a_minute) {
  put("a");
  run(2s);
  api.inject({.verb = Verb::watch, .error = {Outcome::lost, "refused"}, .times = 1000});
  api.break_watches();
  run(1h);
  EXPECT_EQ(names(), "a ");
  EXPECT_GE(watches(), 120u) << "never more than 30 s apart";
  EXPECT_LE(watches(), 250u) << "nor less than 15 s, once it has backed off";
  api.heal();
  put("b");
  run(31s);
  EXPECT_EQ(names(), "a b ");
}

TEST_F(WatcherTest, lists_within_seconds_when_a_server_that_was_away_has_forgotten_its_version) {
  put("a");
  run(1s);
  api.inject({.verb = Verb::watch, .error = {Outcome::lost, "refused"}, .times = 6});
  api.break_watches();
  erase("a");
  put("b");
  api.compact();
  while (api.calls(Verb::watch) < 8) run(100ms);  // The eighth is told that its version is gone.
  run(2s);
  EXPECT_EQ(names(), "b ");
}

TEST_F(WatcherTest, begins_each_outage_with_a_short_pause_if_the_watch_has_worked_between) {
  put("a");
  run(1s);
  for (int outage = 0; outage < 3; ++outage) {
    api.inject({.verb = Verb::watch, .error = {Outcome::lost, "refused"}, .times = 4});
    api.break_watches();
    run(40s);
    put("b" + std::to_string(outage));
    run(1s);
    EXPECT_TRUE(store.find({"", "b" + std::to_string(outage)})) << outage;
  }
}

TEST_F(WatcherTest, waits_as_long_as_a_busy_server_asks) {
  api.inject({.verb = Verb::watch, .error = {Outcome::busy, "429", 20s}});
  put("a");
  run(19s);
  EXPECT_EQ(watches(), 1u);
  run(2s);
  EXPECT_EQ(names(), "a ");
}

TEST_F(WatcherTest, backs_off_from_watches_that_end_at_once) {
  put("a");
  run(2s);
  // For ten minutes the server accepts a watch and ends it within half a second.
  for (int i = 0; i < 1200; ++i) {
    api.end_watches();
    run(500ms);
  }
  EXPECT_LE(watches(), 45u);
}

TEST_F(WatcherTest, relists_around_a_garbled_line_and_keeps_the_view_meanwhile) {
  put("a");
  run(2s);
  api.say(R"({"type": "MODIFIED", "object": {"kind": "Node")");
  run(100ms);
  EXPECT_EQ(names(), "a ");
  put("b");
  run(5s);
  EXPECT_EQ(names(), "a b ");
}

TEST_F(WatcherTest, marks_a_malformed_object_and_keeps_its_last_good_state) {
  put("a");
  run(2s);
  api.put(Node::resource, R"({"metadata": {"name": "a"}, "spec": {"taints": 7}})");
  run(1s);
  EXPECT_TRUE(store.find({"", "a"}));
  EXPECT_TRUE(store.unreadable({"", "a"}));
  EXPECT_TRUE(log.mentions("one=\"a\" why="));
  EXPECT_NE(metrics.text().find(R"(isthmus_watch_unreadable_objects{resource="nodes"} 1)"),
            std::string::npos);
  put("a", "2");
  run(1s);
  EXPECT_FALSE(store.unreadable({"", "a"}));
}

TEST_F(WatcherTest, ends_when_its_scope_does) {
  run(1s);
  scope.cancel();
  run(1s);
  EXPECT_EQ(scope.children(), 0u);
}

}  // namespace
}  // namespace isthmus::kube
