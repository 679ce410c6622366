#include <gtest/gtest.h>

#include "isthmus/controllers/node_lifecycle_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;

class out_of_service_taint : public testing::LifecycleStory {
 protected:
  out_of_service_taint() : LifecycleStory({.plan = {.out_of_service = true}}) {}
};

TEST_F(out_of_service_taint, taints_after_a_confirmed_power_off_and_untaints) {
  add_nodes(20);
  start();
  shut_down("node3");
  pass(60s);
  EXPECT_FALSE(has_taint("node3", kOutOfServiceTaint));
  pass(3min);
  EXPECT_TRUE(has_taint("node3", kOutOfServiceTaint));
  power_on("node3");
  start_kubelet("node3");
  pass(75s);
  EXPECT_FALSE(has_taint("node3", kOutOfServiceTaint));
  EXPECT_FALSE(has_taint("node3", kShutdownTaint));
}

TEST_F(out_of_service_taint, never_taints_while_the_kubelet_is_heard_of) {
  add_nodes(20);
  start();
  machine("node3").power = cloud::Power::stopped;
  set_ready("node3", false);
  pass(1h);
  EXPECT_FALSE(has_taint("node3", kOutOfServiceTaint));
}

TEST_F(out_of_service_taint, taints_nothing_for_what_a_cloud_says_that_was_caught) {
  add_nodes(20);
  start();
  stop.stop_until(world.loop.now() + 10min, "a lie");
  shut_down("node3");
  pass(10min);
  EXPECT_TRUE(has_taint("node3", kShutdownTaint));
  EXPECT_FALSE(has_taint("node3", kOutOfServiceTaint));
  pass(55s);
  EXPECT_FALSE(has_taint("node3", kOutOfServiceTaint)) << "it begins anew";
  pass(3min);
  EXPECT_TRUE(has_taint("node3", kOutOfServiceTaint));
}

TEST_F(out_of_service_taint, taints_nothing_while_nobody_knows_who_the_cloud_is) {
  add_nodes(20);
  start();
  health.is_known = false;
  shut_down("node3");
  pass(10min);
  EXPECT_FALSE(has_taint("node3", kOutOfServiceTaint));
  health.is_known = true;
  pass(55s);
  EXPECT_FALSE(has_taint("node3", kOutOfServiceTaint)) << "it begins anew";
  pass(4min);
  EXPECT_TRUE(has_taint("node3", kOutOfServiceTaint));
}

}  // namespace
}  // namespace isthmus::controllers
