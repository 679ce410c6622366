#include "isthmus/controllers/lease_heartbeats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::FakeApi;
using kube::testing::Verb;

class LeaseHeartbeatsTest : public ::testing::Test {
 protected:
  LeaseHeartbeatsTest() { api.latency = 100ms; }

  void put(const std::string& node, const std::string& renew_time,
           const std::string& name_space = "kube-node-lease") {
    api.put(kube::Lease::resource, fmt::format(R"({{"metadata": {{"namespace": "{}", "name": "{}"}},
                             "spec": {{"renewTime": "{}"}}}})",
                                               name_space, node, renew_time));
  }
  void erase(const std::string& node) {
    api.erase(kube::Lease::resource, {"kube-node-lease", node});
  }
  HeartbeatSnapshot look(Duration max_age = 0s) {
    Result<HeartbeatSnapshot> list = world.run(heartbeats.read(max_age));
    EXPECT_TRUE(list) << list.error().message;
    return list ? *list : std::make_shared<HeartbeatList>();
  }
  void pass(Duration time) { world.advance(time); }
  Moment now() { return world.loop.now(); }
  unsigned lists() const { return api.calls(Verb::list); }

  VirtualWorld world;
  FakeApi api{world.loop};
  LeaseHeartbeats heartbeats{api, world.loop};
};

TEST_F(LeaseHeartbeatsTest, a_first_look_knows_no_age_however_old_the_text_reads) {
  put("n1", "2001-01-01T00:00:00.000000Z");
  const HeartbeatSnapshot list = look();
  EXPECT_EQ(list->silence("n1"), 0s);
  EXPECT_FALSE(list->is_renewed_after("n1", Moment::min()));
}

TEST_F(LeaseHeartbeatsTest, a_text_that_stands_still_is_silence_from_the_answer_that_showed_it) {
  put("n1", "t1");
  look();
  const Moment shown = now();
  pass(60s);
  const HeartbeatSnapshot list = look();
  EXPECT_EQ(list->silence("n1"), 60s);
  EXPECT_EQ(list->leases.at("n1").silent_since, shown);
  EXPECT_FALSE(list->is_renewed_after("n1", Moment::min()));
}

TEST_F(LeaseHeartbeatsTest, a_text_that_moved_was_written_after_the_look_before) {
  put("n1", "t1");
  look();
  pass(30s);
  const Moment asked = now();
  look();
  pass(30s);
  put("n1", "t0");  // By a clock that was put back: another text is all that counts.
  const HeartbeatSnapshot list = look();
  EXPECT_EQ(list->silence("n1"), 0s);
  EXPECT_TRUE(list->is_renewed_after("n1", asked));
  EXPECT_FALSE(list->is_renewed_after("n1", asked + 1ns));
}

TEST_F(LeaseHeartbeatsTest, a_renewal_between_looks_far_apart_ends_the_silence) {
  put("n1", "t1");
  look();
  pass(1h);
  put("n1", "t2");
  pass(1h);
  EXPECT_EQ(look()->silence("n1"), 0s) << "it may have been written just now";
  pass(90s);
  EXPECT_EQ(look()->silence("n1"), 90s);
}

TEST_F(LeaseHeartbeatsTest, a_node_that_never_had_a_lease_is_silent_since_the_first_look) {
  look();
  pass(2min);
  EXPECT_EQ(look()->silence("n1"), 2min);
}

TEST_F(LeaseHeartbeatsTest, a_lease_that_appears_was_written_after_the_look_that_lacked_it) {
  const Moment asked = now();
  look();
  pass(10s);
  put("n1", "t1");
  const HeartbeatSnapshot list = look();
  EXPECT_EQ(list->silence("n1"), 0s);
  EXPECT_TRUE(list->is_renewed_after("n1", asked));
}

TEST_F(LeaseHeartbeatsTest, a_lease_that_vanished_is_silence_from_the_look_that_lacked_it) {
  put("n1", "t1");
  look();
  pass(1min);
  erase("n1");
  EXPECT_EQ(look()->silence("n1"), 0s);
  pass(1min);
  EXPECT_EQ(look()->silence("n1"), 1min);
}

TEST_F(LeaseHeartbeatsTest, what_vanished_is_forgotten_after_an_hour_without_becoming_older) {
  put("n1", "t1");
  look();
  pass(24h);
  erase("n1");
  look();
  pass(2h);
  const HeartbeatSnapshot list = look();
  EXPECT_TRUE(list->vanished.empty());
  EXPECT_LE(list->silence("n1"), 2h);
  EXPECT_GE(list->silence("n1"), 59min);
}

TEST_F(LeaseHeartbeatsTest, a_lease_that_was_never_renewed_is_no_heartbeat) {
  look();
  put("n1", "");
  const HeartbeatSnapshot list = look();
  EXPECT_EQ(list->silence("n1"), 0s);
  EXPECT_FALSE(list->is_renewed_after("n1", Moment::min()));
}

TEST_F(LeaseHeartbeatsTest, of_a_lease_that_cannot_be_read_nothing_is_known) {
  put("n1", "t1");
  look();
  pass(1min);
  api.put(kube::Lease::resource, R"({"metadata": {"namespace": "kube-node-lease", "name": "n1"},
                                     "spec": {"renewTime": 5}})");
  const HeartbeatSnapshot unreadable = look();
  EXPECT_EQ(unreadable->silence("n1"), std::nullopt);
  EXPECT_TRUE(unreadable->vanished.empty());
  put("n1", "t1");
  EXPECT_EQ(look()->silence("n1"), 0s) << "it begins anew";
}

TEST_F(LeaseHeartbeatsTest, reads_every_page_and_no_other_namespace) {
  api.page_max = 2;
  for (const char* node : {"a", "b", "c", "d", "e"}) put(node, "t");
  put("cloud-controller-manager", "t", "kube-system");
  EXPECT_EQ(look()->leases.size(), 5U);
  EXPECT_EQ(lists(), 3U);
}

TEST_F(LeaseHeartbeatsTest, a_page_that_is_missing_is_no_list) {
  api.page_max = 2;
  for (const char* node : {"a", "b", "c"}) put(node, "t");
  look();
  pass(1min);
  api.on_call = [this](Verb, const kube::ObjectName&) {
    if (lists() == 4) api.inject({.verb = Verb::list, .error = {Outcome::lost, "cut"}});
  };
  EXPECT_EQ(world.run(heartbeats.read(0s)).outcome(), Outcome::lost);
  EXPECT_EQ(look()->silence("c"), 1min + 200ms) << "and what was known before stands";
}

TEST_F(LeaseHeartbeatsTest, no_right_to_list_leases_is_said) {
  api.inject({.verb = Verb::list, .error = {Outcome::denied, "leases is forbidden"}});
  EXPECT_EQ(world.run(heartbeats.read(0s)).outcome(), Outcome::denied);
}

TEST_F(LeaseHeartbeatsTest, many_who_ask_share_one_list_and_a_young_one_is_not_asked_again) {
  put("n1", "t1");
  Scope scope(world.loop);
  int answers = 0;
  for (int i = 0; i < 50; ++i) {
    scope.spawn(
        [](Heartbeats& shared, int& count) -> Task<Result<>> {
          const Result<HeartbeatSnapshot> list = co_await shared.read(10s);
          if (list) ++count;
          co_return Result<>{};
        },
        std::ref(heartbeats), std::ref(answers));
  }
  pass(5s);
  EXPECT_EQ(answers, 50);
  look(10s);
  EXPECT_EQ(lists(), 1U);
  look(1s);
  EXPECT_EQ(lists(), 2U);
}

}  // namespace
}  // namespace isthmus::controllers
