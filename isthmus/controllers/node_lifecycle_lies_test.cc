// A cloud that lies about everything for an hour, to a hundred Nodes in each of four states:
// nothing is deleted, the lie is reported within 75 seconds, and when it ends all is well by
// itself.
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/node_lifecycle.h"
#include "isthmus/controllers/node_lifecycle_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;

constexpr int kNodes = 100;
constexpr Duration kReportedWithin = 75s;

struct State {
  std::string_view title;
  void (*enter)(testing::LifecycleStory&);

  friend std::ostream& operator<<(std::ostream& out, const State& state) {
    return out << state.title;
  }
};

class a_cloud_that_lies : public testing::LifecycleStory,
                          public ::testing::WithParamInterface<State> {
 protected:
  double contradictions() {
    double all = 0;
    for (const std::string_view kind : {"heartbeat", "itself", "mass_absence"}) {
      all += value(fmt::format("isthmus_cloud_contradictions_total{{kind=\"{}\"}}", kind));
    }
    return all;
  }
  std::size_t told() const {
    return events.count("CloudContradicts") + events.count("NodeDeletionWithheld");
  }

  // All is well until the cloud begins to lie and the Nodes come into their state.
  void expect_report_in_time(bool lies_by_id, bool lies_in_list, Duration lasts) {
    add_nodes(kNodes);
    start();
    lies.knows_none_by_id = lies_by_id;
    lies.lists_none = lies_in_list;
    std::optional<Moment> lied_at;
    std::optional<Moment> told_at;
    std::optional<Moment> counted_at;
    on_second = [&] {
      const Moment now = world.loop.now();
      if (!lied_at && lies.lied) lied_at = now;
      if (!told_at && told() > 0) told_at = now;
      if (!counted_at && contradictions() > 0) counted_at = now;
    };
    GetParam().enter(*this);
    pass(lasts);
    ASSERT_TRUE(lied_at && told_at && counted_at);
    EXPECT_LE(*told_at - *lied_at, kReportedWithin);
    EXPECT_LE(*counted_at - *lied_at, kReportedWithin);
    EXPECT_EQ(count_nodes(), static_cast<std::size_t>(kNodes));
    EXPECT_EQ(api.calls(Verb::remove), 0U);
    on_second = [] {};
  }

  // The lies in turn: no machine is known by its id, a complete list is empty, everything fails.
  void lie(Duration each) {
    lies.knows_none_by_id = true;
    pass(each);
    lies.lists_none = true;
    pass(each);
    lies.knows_none_by_id = lies.lists_none = false;
    cloud.faults.error = Error{Outcome::lost, "500"};
    pass(each);
    cloud.faults.error.reset();
  }
};

TEST_P(a_cloud_that_lies, has_no_node_deleted_in_an_hour_and_heals_by_itself) {
  add_nodes(kNodes);
  start();
  GetParam().enter(*this);
  lie(20min);
  EXPECT_EQ(count_nodes(), static_cast<std::size_t>(kNodes));
  EXPECT_EQ(api.calls(Verb::remove), 0U);

  for (int i = 0; i < kNodes; ++i) start_kubelet(name(i));
  pass(75min);
  EXPECT_EQ(count_nodes(), static_cast<std::size_t>(kNodes));
  EXPECT_FALSE(stop.stopped(world.loop.now()));
  for (const std::string_view kind : {"cluster", "zone", "last_ready"}) {
    EXPECT_EQ(value(fmt::format("isthmus_node_deletion_breakers{{kind=\"{}\"}}", kind)), 0) << kind;
  }
  destroy("node7");
  pass(6min);
  EXPECT_EQ(count_nodes(), static_cast<std::size_t>(kNodes) - 1) << "and it works again";
}

TEST_P(a_cloud_that_lies, is_reported_within_75_seconds_of_its_first_lie) {
  expect_report_in_time(true, true, 5min);
}

// While its lists are true, it may be that nobody asks by id but who refreshes the Nodes.
TEST_P(a_cloud_that_lies, is_reported_within_75_seconds_if_only_its_answers_by_id_are_lies) {
  expect_report_in_time(true, false, 15min);
}

INSTANTIATE_TEST_SUITE_P(
    node_lifecycle, a_cloud_that_lies,
    ::testing::Values(State{"to_nodes_that_are_not_ready_and_renew_their_leases",
                            [](testing::LifecycleStory& story) {
                              for (int i = 0; i < kNodes; ++i)
                                story.set_ready(story.name(i), false);
                            }},
                      State{"to_nodes_that_are_not_ready_and_silent",
                            [](testing::LifecycleStory& story) {
                              for (int i = 0; i < kNodes; ++i) story.stop_kubelet(story.name(i));
                            }},
                      State{"to_nodes_of_which_half_is_silent",
                            [](testing::LifecycleStory& story) {
                              for (int i = 0; i < kNodes; i += 2) story.stop_kubelet(story.name(i));
                            }},
                      State{"to_nodes_of_which_three_are_stopped_one_after_the_other",
                            [](testing::LifecycleStory& story) {
                              for (int i = 0; i < 3; ++i) {
                                story.shut_down(story.name(i));
                                story.pass(50s);
                              }
                            }}),
    [](const auto& info) { return std::string(info.param.title); });

// The same with lies of which each is told alone.
struct Lie {
  std::string_view title;
  bool by_id;
  bool in_list;

  friend std::ostream& operator<<(std::ostream& out, const Lie& lie) { return out << lie.title; }
};

class one_lie : public testing::LifecycleStory, public ::testing::WithParamInterface<Lie> {};

TEST_P(one_lie, about_three_stopped_machines_is_reported_and_has_no_consequences) {
  add_nodes(kNodes);
  start();
  lies.knows_none_by_id = GetParam().by_id;
  lies.lists_none = GetParam().in_list;
  for (int i = 0; i < 3; ++i) shut_down(name(i));
  pass(42s + kReportedWithin);
  if (GetParam().by_id) EXPECT_GE(events.count("CloudContradicts"), 1U);
  pass(1h);
  EXPECT_EQ(count_nodes(), static_cast<std::size_t>(kNodes));
}

INSTANTIATE_TEST_SUITE_P(node_lifecycle, one_lie,
                         ::testing::Values(Lie{"by_id", true, false}, Lie{"in_list", false, true},
                                           Lie{"both", true, true}),
                         [](const auto& info) { return std::string(info.param.title); });

}  // namespace
}  // namespace isthmus::controllers
