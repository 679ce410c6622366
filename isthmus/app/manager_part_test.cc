#include "isthmus/app/manager_impl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/manager_part_testing.h"
#include "isthmus/base/signal.h"

namespace isthmus::app {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

// A part with something beside its queue that ends when it is told to.
class FrailPart final : public ManagerPart {
 public:
  explicit FrailPart(const PartContext& context)
      : part_({.queue = "Nodes"}, {{"cloud-node-controller", reconciler}}, context) {}

  ControllerPart& controllers() override { return part_; }
  void start(Scope& beside) override { beside.spawn(fail_when, std::ref(breaks)); }
  std::vector<HealthCheck> watch_checks(const Clock&) const override { return {}; }

  Signal breaks;
  NotingReconciler reconciler{"cloud-node-controller"};

 private:
  static Task<Result<>> fail_when(Signal& breaks) {
    CO_TRY(co_await breaks.wait());
    co_return fail(Outcome::lost, "the watch fell over");
  }

  ControllerPart part_;
};

class RunPartTest : public PartFixture {
 protected:
  void run(FrailPart& part) {
    scope.spawn(run_part, std::ref(part), std::cref(drains), std::ref(one.log));
  }

  bool drains = false;
  Scope scope{world.loop};
};

TEST_F(RunPartTest, one_that_fails_is_unhealthy_and_the_other_goes_on) {
  FrailPart frail(context);
  FrailPart sound(context);
  run(frail);
  run(sound);
  pass(seconds(1));
  frail.breaks.set();
  pass(seconds(1));

  EXPECT_EQ(frail.controllers().check().outcome(), Outcome::lost);
  EXPECT_THAT(frail.controllers().check().error().message, HasSubstr("the watch fell over"));
  EXPECT_FALSE(frail.controllers().is_running());
  EXPECT_TRUE(sound.controllers().check().has_value());
  sound.controllers().queue().enqueue({.name = "node1"});
  pass(seconds(1));
  EXPECT_EQ(sound.reconciler.keys.size(), 1u);
  EXPECT_FALSE(scope.is_cancelled());
  scope.cancel();
  pass(seconds(1));
}

TEST_F(RunPartTest, one_that_is_drained_has_not_failed) {
  FrailPart part(context);
  run(part);
  pass(seconds(1));
  drains = true;
  part.controllers().queue().stop();
  pass(seconds(1));
  EXPECT_EQ(scope.children(), 0u);
  EXPECT_TRUE(part.controllers().check().has_value());
}

TEST_F(RunPartTest, one_whose_scope_ends_has_not_failed) {
  FrailPart part(context);
  run(part);
  pass(seconds(1));
  scope.cancel();
  pass(seconds(1));
  EXPECT_EQ(scope.children(), 0u);
  EXPECT_TRUE(part.controllers().check().has_value());
}

}  // namespace
}  // namespace isthmus::app
