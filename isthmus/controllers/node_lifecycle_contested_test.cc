// A taint of ours that somebody else keeps taking away.
#include <gtest/gtest.h>

#include "isthmus/controllers/node_lifecycle_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;

class a_contested_taint : public testing::LifecycleStory {
 protected:
  // Whether it was there, and is not any more.
  bool take_taint() {
    if (!has_taint("node3", kShutdownTaint)) return false;
    change("node3", [](json::value& node) { node.at("spec").as_object().erase("taints"); });
    return true;
  }
};

TEST_F(a_contested_taint, is_left_to_the_other_at_the_third_time) {
  add_nodes(20);
  start();
  shut_down("node3");
  int taken = 0;
  for (int i = 0; i < 20; ++i) {
    pass(30s);
    if (take_taint()) ++taken;
  }
  EXPECT_EQ(taken, 3) << "set once, and put back twice";
  EXPECT_FALSE(has_taint("node3", kShutdownTaint));
  EXPECT_EQ(events.count("FieldContested node3: spec.taints[" + std::string(kShutdownTaint) + "]"),
            1U);
}

}  // namespace
}  // namespace isthmus::controllers
