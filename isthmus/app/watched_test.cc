#include "isthmus/app/watched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/manager_part_testing.h"

namespace isthmus::app {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;
using ::testing::HasSubstr;

class watched : public PartFixture {
 protected:
  template <class T>
  void follow(Watched<T>& objects) {
    scope.spawn(&kube::Watcher::run, &objects.watcher);
    world.advance(1s);
  }
  void refuse_all(Error error) {
    for (const Verb verb : {Verb::watch, Verb::list}) {
      api.inject({.verb = verb, .error = error, .times = 1000});
    }
  }

  Scope scope{world.loop};
};

TEST_F(watched, without_a_complete_list_it_is_an_outage_that_tells_why) {
  EXPECT_EQ(nodes.check(world.loop.now()).error().message, "no complete list of nodes yet");
  refuse_all({Outcome::denied, "nodes is forbidden"});
  follow(nodes);
  const Result<> checked = nodes.check(world.loop.now());
  EXPECT_EQ(checked.outcome(), Outcome::lost);
  EXPECT_THAT(checked.error().message, HasSubstr("nodes is forbidden"));
}

TEST_F(watched, one_that_broke_is_an_outage_when_it_is_not_resumed_in_time) {
  follow(nodes);
  EXPECT_TRUE(nodes.check(world.loop.now()));
  refuse_all({Outcome::lost, "connection refused"});
  api.break_watches();
  world.advance(kWatchGone - 2s);
  EXPECT_TRUE(nodes.check(world.loop.now()));
  world.advance(2s);
  EXPECT_THAT(nodes.check(world.loop.now()).error().message, HasSubstr("the watch of nodes is "));
  api.heal();
  world.advance(1min);
  EXPECT_TRUE(nodes.check(world.loop.now()));
}

TEST_F(watched, silence_is_no_outage_for_as_long_as_its_watcher_bears_it) {
  Watched<kube::Node> patient(doors, {}, {.idle_max = 5min});
  follow(patient);
  world.advance(4min);
  EXPECT_TRUE(patient.check(world.loop.now()));
  scope.cancel();
  world.settle();
}

}  // namespace
}  // namespace isthmus::app
