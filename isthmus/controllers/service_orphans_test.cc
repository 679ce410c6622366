#include "isthmus/controllers/service_orphans.h"

#include <gtest/gtest.h>

#include "isthmus/controllers/service_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;

// The manager is down while a Service vanishes: D-S10.
class service_orphans : public testing::ServiceStory {
 protected:
  // So many Services that stay, and so many that vanish.
  void lose(int staying, int vanishing) {
    start_with_nodes();
    for (int i = 0; i < staying; ++i) put_service(fmt::format("stays{}", i));
    for (int i = 0; i < vanishing; ++i) put_service(fmt::format("goes{}", i));
    pass(1s);
    kill();
    for (int i = 0; i < vanishing; ++i) {
      lost.push_back(balancer_name(fmt::format("goes{}", i)));
      api.erase(kube::Service::resource, {"default", fmt::format("goes{}", i)});
    }
    start();
    pass(1s);
  }
  std::size_t standing() const { return cloud.load_balancers.standing.size(); }

  std::vector<std::string> lost;
};

TEST_F(service_orphans, are_reported_at_once_and_released_after_their_grace) {
  lose(2, 1);
  EXPECT_TRUE(measures("isthmus_load_balancer_orphans 1"));
  EXPECT_TRUE(log.mentions("load balancer without a Service"));
  pass(9min);
  EXPECT_EQ(standing(), 3u);
  pass(3min);
  EXPECT_EQ(standing(), 2u);
  EXPECT_TRUE(measures("isthmus_load_balancer_orphans 0"));
  EXPECT_TRUE(measures("isthmus_load_balancer_orphans_released_total 1"));
}

TEST_F(service_orphans, one_whose_service_was_made_anew_under_its_name_need_not_wait) {
  lose(2, 1);
  put_service("goes0");
  pass(2min);
  EXPECT_FALSE(cloud.load_balancers.standing.contains(lost[0]));
  EXPECT_TRUE(stands("goes0"));
}

TEST_F(service_orphans, many_at_once_are_only_reported) {
  lose(2, 4);
  pass(3h);
  EXPECT_EQ(standing(), 6u);
  EXPECT_TRUE(measures("isthmus_load_balancer_orphans 4"));
  EXPECT_TRUE(log.mentions("restored from a backup"));
}

TEST_F(service_orphans, many_that_are_few_among_all_are_released) {
  lose(9, 4);
  pass(12min);
  EXPECT_EQ(standing(), 9u);
}

TEST_F(service_orphans, a_live_list_that_cannot_be_had_keeps_them) {
  lose(2, 1);
  pass(5min);
  api.inject(
      {.verb = Verb::list, .plural = "services", .error = {Outcome::lost, "cut"}, .times = 1000});
  pass(1h);
  EXPECT_EQ(standing(), 3u);
  api.heal();
  pass(2min);
  EXPECT_EQ(standing(), 2u);
}

// The watch shows less than there is: the live list has the last word.
TEST_F(service_orphans, what_the_server_says_live_counts_more_than_the_watch) {
  start_with_nodes();
  for (const char* name : {"one", "two", "web"}) put_service(name);
  pass(1s);
  kill();
  api.frozen = true;
  start();
  pass(1h);
  EXPECT_EQ(standing(), 3u);
  api.frozen = false;
  api.bookmark();
  pass(1h);
  EXPECT_EQ(standing(), 3u);
}

TEST_F(service_orphans, the_live_list_is_read_to_its_last_page) {
  lose(6, 1);
  api.page_max = 2;
  pass(12min);
  EXPECT_EQ(standing(), 6u);
  EXPECT_GE(api.calls(Verb::list, "services"), 3u);
}

TEST_F(service_orphans, what_is_leaving_already_is_none) {
  start_with_nodes();
  put_service("web");
  put_service("goes0");
  pass(1s);
  cloud.load_balancers.release_takes = 1h;
  delete_service("goes0");
  pass(1s);
  kill();
  set_finalizers("goes0", {});
  api.erase(kube::Service::resource, {"default", "goes0"});
  start();
  pass(1min);
  EXPECT_TRUE(measures("isthmus_load_balancer_orphans 0"));
}

TEST_F(service_orphans, a_service_that_cannot_be_read_keeps_its_load_balancer) {
  start_with_nodes();
  put_service("web");
  put_service("other");
  pass(1s);
  kill();
  set_spec("web", "ports", "none");
  start();
  pass(3h);
  EXPECT_TRUE(stands("web"));
}

}  // namespace
}  // namespace isthmus::controllers
