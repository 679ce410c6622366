// Two managers that both lead and want different load balancers: it ends in an event.
#include <gtest/gtest.h>

#include "isthmus/controllers/service.h"
#include "isthmus/controllers/service_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;

class service_rivals : public testing::ServiceStory {
 protected:
  void start_both() {
    start_with_nodes();
    ServiceControllerOptions other = options;
    other.plan.node_health = NodeHealth::kubelet;
    rival = std::make_unique<testing::ServiceManager>(world, api, cloud, events, random, log,
                                                      std::move(other));
    pass(1s);
  }

  std::unique_ptr<testing::ServiceManager> rival;
};

TEST_F(service_rivals, end_in_a_message_and_not_in_flapping) {
  start_both();
  put_service("web");
  pass(1min);
  EXPECT_LE(cloud.load_balancers.writes, 6u);
  EXPECT_EQ(events.count("Warning LoadBalancerContested web"), 1u);
  EXPECT_EQ(address("web"), "192.0.2.1");
  const std::size_t ensures = cloud.load_balancers.ensures;
  pass(50min);
  EXPECT_LE(cloud.load_balancers.ensures, ensures + 6);  // The drift passes of the one that won.
  const std::size_t writes = cloud.load_balancers.writes;
  pass(6h);
  EXPECT_LE(cloud.load_balancers.writes, writes + 14);
}

TEST_F(service_rivals, one_that_stops_leaves_it_to_the_other_within_the_hour) {
  start_both();
  put_service("web");
  pass(1min);
  const bool is_the_rivals = balancer("web").spec.health_check->port == 10250;
  if (is_the_rivals) {
    rival.reset();
  } else {
    kill();
  }
  pass(70min);
  EXPECT_EQ(balancer("web").spec.health_check->port == 10250, !is_the_rivals);
}

// What somebody changes now and then is put right each time.
TEST_F(service_rivals, a_change_every_hour_is_no_dispute) {
  start_with_nodes();
  put_service("web");
  for (int i = 0; i < 6; ++i) {
    pass(1h);
    balancer("web").spec.listeners[0].target_port = 1;
    cloud.load_balancers.touched(balancer_name("web"), true);
    pass(1s);
    EXPECT_EQ(balancer("web").spec.listeners[0].target_port, 30080);
  }
  EXPECT_EQ(events.count("LoadBalancerContested"), 0u);
}

}  // namespace
}  // namespace isthmus::controllers
