#include "isthmus/app/controller_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/manager_part_testing.h"

namespace isthmus::app {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two controllers on one queue, of which a leader migration moves the second.
class ControllerPartTest : public PartFixture {
 protected:
  ControllerPartTest() { queue.spawn(&kube::Controller::run, &part.queue()); }

  void enqueue(const std::string& name) {
    part.queue().enqueue({.name = name});
    pass(seconds(1));
  }
  std::string gauge(const std::string& name) {
    const std::string text = one.metrics.text();
    const std::size_t at = text.find("name=\"" + name + "\"} ");
    return at == std::string::npos ? "" : text.substr(text.find("} ", at) + 2, 1);
  }

  NotingReconciler node{"cloud-node-controller"};
  NotingReconciler lifecycle{"cloud-node-lifecycle-controller"};
  ControllerPart part = make_part();
  Scope queue{world.loop};

 private:
  ControllerPart make_part() {
    options.migration.emplace();
    options.migration->controllers = {"cloud-node-lifecycle-controller"};
    return ControllerPart(
        {.queue = "Nodes"},
        {{"cloud-node-controller", node}, {"cloud-node-lifecycle-controller", lifecycle}}, context);
  }
};

TEST_F(ControllerPartTest, one_that_moves_gets_what_passed_it_by_when_it_begins) {
  enqueue("node1");
  enqueue("node2");
  EXPECT_THAT(node.keys, ElementsAre("node1", "node2"));
  EXPECT_THAT(lifecycle.keys, IsEmpty());
  EXPECT_FALSE(part.waits_for_migration()) << "the other does not";

  part.begin_migrated();
  pass(seconds(1));
  EXPECT_THAT(lifecycle.keys, testing::UnorderedElementsAre("node1", "node2"));

  enqueue("node3");
  EXPECT_EQ(lifecycle.keys.back(), "node3");
}

TEST_F(ControllerPartTest, one_that_moves_as_a_whole_starts_under_the_migrations_lease_for_good) {
  const kube::ControllerOptions alone_options{.queue = "Moved"};
  ControllerPart alone(alone_options, {{"cloud-node-lifecycle-controller", lifecycle}}, context);
  EXPECT_TRUE(alone.waits_for_migration());
  alone.begin_migrated();
  EXPECT_TRUE(alone.waits_for_migration());
}

TEST_F(ControllerPartTest, only_what_has_begun_counts_as_running) {
  part.set_running(true);
  EXPECT_EQ(gauge("cloud-node"), "1");
  EXPECT_EQ(gauge("cloud-node-lifecycle"), "0");
  part.begin_migrated();
  EXPECT_EQ(gauge("cloud-node-lifecycle"), "1");
  part.set_running(false);
  EXPECT_EQ(gauge("cloud-node"), "0");
  EXPECT_EQ(gauge("cloud-node-lifecycle"), "0");
}

// Works in a scope that nobody cancels, as a call does that hangs in spite of its deadline.
class StuckReconciler final : public kube::Reconciler {
 public:
  explicit StuckReconciler(Scope& outliving) : outliving_(outliving) {}

  std::string_view name() const override { return "node-route-controller"; }
  Task<Result<kube::Action>> reconcile(kube::ObjectKey) override {
    CO_TRY(co_await outliving_.run(wait()));
    co_return kube::Action::done();
  }

  Signal release;

 private:
  Task<Result<>> wait() { co_return co_await release.wait(); }

  Uncancellable outliving_;
};

TEST_F(ControllerPartTest, one_with_a_run_that_does_not_end_in_spite_of_its_timeout_is_stuck) {
  Scope outliving(world.loop);
  StuckReconciler stuck(outliving);
  const kube::ControllerOptions stuck_options{.queue = "Routes"};
  ControllerPart stuck_part(stuck_options, {{"node-route-controller", stuck}}, context);
  Scope running(world.loop);
  running.spawn(&kube::Controller::run, &stuck_part.queue());
  stuck_part.queue().enqueue({.name = "node1"});

  pass(stuck_options.run_timeout + kStuckRunGrace);
  EXPECT_TRUE(stuck_part.check());
  pass(seconds(2));
  EXPECT_EQ(stuck_part.check().outcome(), Outcome::lost);

  stuck.release.set();
  pass(seconds(1));
  EXPECT_TRUE(stuck_part.check());
}

TEST_F(ControllerPartTest, one_that_has_failed_says_so) {
  EXPECT_TRUE(part.check().has_value());
  part.set_failed({Outcome::lost, "the watch fell over"});
  ASSERT_EQ(part.check().outcome(), Outcome::lost);
  EXPECT_THAT(part.check().error().message, HasSubstr("the watch fell over"));
}

}  // namespace
}  // namespace isthmus::app
