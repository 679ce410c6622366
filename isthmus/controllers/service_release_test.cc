// How load balancers go: with their Service, with its type, and after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/service.h"
#include "isthmus/controllers/service_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;

class service_release : public testing::ServiceStory {};

TEST_F(service_release, a_deleted_service_goes_after_its_load_balancer) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  events.lines.clear();
  cloud.load_balancers.release_takes = 20s;
  delete_service("web");
  pass(10s);
  EXPECT_TRUE(has_finalizer("web"));
  EXPECT_EQ(events.count("DeletingLoadBalancer"), 1u);
  pass(11s);
  EXPECT_FALSE(exists("web"));
  EXPECT_TRUE(cloud.load_balancers.standing.empty());
  EXPECT_THAT(events.lines,
              ::testing::ElementsAre("Normal DeletingLoadBalancer web: Deleting load balancer",
                                     "Normal DeletedLoadBalancer web: Deleted load balancer"));
}

TEST_F(service_release, the_news_that_it_is_gone_come_sooner_than_the_next_look) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  cloud.load_balancers.release_takes = 1h;
  delete_service("web");
  pass(1min);
  EXPECT_TRUE(has_finalizer("web"));
  cloud.load_balancers.take_away(balancer_name("web"));
  pass(100ms);
  EXPECT_FALSE(exists("web"));
}

// D-S1: only the cloud can say that no remnant exists, so it is asked whatever is known.
TEST_F(service_release, is_asked_for_even_where_nothing_is_known_to_exist) {
  start_with_nodes();
  put_service("web", R"(, "clusterIP": "10.96.0.1")");
  pass(1s);
  cloud.load_balancers.take_all_away();
  kill();
  const std::size_t releases = cloud.load_balancers.releases;
  delete_service("web");
  start();
  pass(1s);
  EXPECT_EQ(cloud.load_balancers.releases, releases + 1);
  EXPECT_FALSE(exists("web"));
}

// D-S15: what never existed was not deleted.
TEST_F(service_release, tells_of_no_deletion_where_nothing_existed) {
  start_with_nodes();
  put_service("web");
  set_finalizers("web", {kServiceFinalizer});
  cloud.faults.error = Error{Outcome::conflict, "the pool is exhausted"};
  pass(1s);
  cloud.faults = {};
  delete_service("web");
  pass(10s);
  EXPECT_FALSE(exists("web"));
  EXPECT_EQ(events.count("DeletingLoadBalancer"), 0u);
  EXPECT_EQ(events.count("DeletedLoadBalancer"), 0u);
}

TEST_F(service_release, a_changed_type_takes_everything_away_and_keeps_the_service) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  set_spec("web", "type", "ClusterIP");
  pass(1s);
  EXPECT_FALSE(has_finalizer("web"));
  EXPECT_EQ(address("web"), "");
  EXPECT_TRUE(cloud.load_balancers.standing.empty());
  set_spec("web", "type", "LoadBalancer");
  pass(1s);
  EXPECT_EQ(address("web"), "192.0.2.1");
}

// D-S5: a finalizer of somebody else that came meanwhile survives, and so does a namesake.
TEST_F(service_release, takes_only_its_own_finalizer_away) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  bool added = false;
  api.on_call = [&](Verb verb, const kube::ObjectName& object) {
    if (verb != Verb::patch || object.resource.plural != "services" || added) return;
    added = true;
    set_finalizers("web", {"example.com/late", kServiceFinalizer});
  };
  delete_service("web");
  pass(10s);
  EXPECT_TRUE(added);
  EXPECT_EQ(compact_json(at("web", "/metadata/finalizers")), R"(["example.com/late"])");
}

// D-S5: every patch names the uid, so a namesake that took the place is never hit.
TEST_F(service_release, never_touches_the_finalizer_of_a_namesake) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  const std::string old_name = balancer_name("web");
  bool replaced = false;
  api.on_call = [&](Verb verb, const kube::ObjectName& object) {
    if (verb != Verb::patch || object.resource.plural != "services" || replaced) return;
    replaced = true;
    api.erase(kube::Service::resource, {"default", "web"});
    put_service("web", R"(, "loadBalancerClass": "example.com/lb")");
    set_finalizers("web", {kServiceFinalizer});
  };
  delete_service("web");
  pass(1min);
  EXPECT_TRUE(has_finalizer("web"));
  EXPECT_FALSE(cloud.load_balancers.standing.contains(old_name));
}

// D-S7: a Service that is being deleted and has no finalizer of ours is nobody's business here.
TEST_F(service_release, leaves_a_dying_service_without_our_finalizer_alone) {
  put_service("web");
  set_finalizers("web", {"example.com/theirs"});
  delete_service("web");
  start_with_nodes();
  pass(10min);
  EXPECT_EQ(patches(), 0u);
  EXPECT_EQ(cloud.load_balancers.ensures, 0u);
  EXPECT_TRUE(events.lines.empty());
}

// D-S10: the finalizer was taken away by hand and the Service deleted. That the API server has lost
// it looks the same, so it waits for its grace.
TEST_F(service_release, follows_a_service_that_vanished_without_us) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  api.erase(kube::Service::resource, {"default", "web"});
  pass(9min);
  EXPECT_EQ(cloud.load_balancers.standing.size(), 1u);
  EXPECT_EQ(cloud.target_sets.standing.at(set_name()).targets.size(), 2u);
  pass(5min);
  EXPECT_TRUE(cloud.load_balancers.standing.empty());
  EXPECT_TRUE(cloud.target_sets.standing.empty());
}

TEST_F(service_release, ends_a_release_that_was_begun_although_the_service_vanishes) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  cloud.load_balancers.release_takes = 20s;
  delete_service("web");
  pass(1s);
  api.erase(kube::Service::resource, {"default", "web"});
  pass(30s);
  EXPECT_TRUE(cloud.load_balancers.standing.empty());
}

TEST_F(service_release, asks_what_an_ensure_without_an_answer_came_to) {
  cloud.has_target_sets = false;
  start_with_nodes();
  put_service("stays");
  pass(1s);
  cloud.load_balancers.tells = false;
  cloud.load_balancers.cut_follows();
  pass(2s);
  cloud.faults.answers_lost = 1000;
  put_service("web");
  pass(1s);
  const std::string name = balancer_name("web");
  EXPECT_TRUE(cloud.load_balancers.standing.contains(name));
  api.erase(kube::Service::resource, {"default", "web"});
  pass(1s);
  cloud.faults = {};
  pass(2min);
  EXPECT_TRUE(measures("isthmus_load_balancer_orphans 1"));
  pass(12min);
  EXPECT_FALSE(cloud.load_balancers.standing.contains(name));
}

// D-S10: a new Service of the name, whose address is still held by the old one.
TEST_F(service_release, makes_room_for_a_recreated_service_of_the_same_name) {
  start_with_nodes();
  put_service("web", R"(, "loadBalancerIP": "192.0.2.7")");
  pass(1s);
  const std::string old_name = balancer_name("web");
  api.frozen = true;
  api.erase(kube::Service::resource, {"default", "web"});
  put_service("web", R"(, "loadBalancerIP": "192.0.2.7")");
  api.frozen = false;
  api.bookmark();
  pass(30s);
  EXPECT_FALSE(cloud.load_balancers.standing.contains(old_name));
  EXPECT_EQ(address("web"), "192.0.2.7");
}

// D-S8: the time that the cloud names is honoured in cleanup as well.
TEST_F(service_release, asks_again_when_the_cloud_said_and_not_before) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  cloud.faults.calls_until_limit = 0;
  cloud.faults.busy_for = 5min;
  const std::size_t before = cloud.load_balancers.releases;
  delete_service("web");
  pass(4min);
  EXPECT_EQ(cloud.load_balancers.releases, before + 1);
  cloud.faults = {};
  pass(2min);
  EXPECT_FALSE(exists("web"));
}

// D-S9: a cloud that says "there is none" has said that it is gone.
TEST_F(service_release, is_done_when_the_cloud_says_that_there_is_none) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  cloud.faults.error = Error{Outcome::absent, "there is none"};
  delete_service("web");
  pass(1s);
  EXPECT_FALSE(exists("web"));
}

TEST_F(service_release, is_asked_for_once_while_the_cloud_works_on_it) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  cloud.load_balancers.release_takes = 30s;
  const std::size_t before = cloud.load_balancers.releases;
  delete_service("web");
  pass(25s);
  EXPECT_EQ(cloud.load_balancers.releases, before + 1);
  pass(10s);
  EXPECT_FALSE(exists("web"));
}

TEST_F(service_release, a_watch_that_lags_makes_no_second_release) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  const std::size_t before = cloud.load_balancers.releases;
  api.on_call = [&](Verb verb, const kube::ObjectName&) {
    if (verb == Verb::patch) api.frozen = true;  // The store goes on showing the Service.
  };
  delete_service("web");
  pass(10s);
  api.frozen = false;
  api.bookmark();
  pass(10s);
  EXPECT_FALSE(exists("web"));
  EXPECT_EQ(cloud.load_balancers.releases, before + 1);
  EXPECT_FALSE(log.mentions("vanished"));
}

TEST_F(service_release, tells_why_it_does_not_get_on) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  cloud.faults.error = Error{Outcome::denied, "this token may not delete"};
  delete_service("web");
  pass(10min);
  EXPECT_TRUE(has_finalizer("web"));
  EXPECT_EQ(events.count("DeleteLoadBalancerFailed"), 1u);
  EXPECT_EQ(events.count("this token may not delete"), 1u);
}

TEST_F(service_release, polls_where_the_cloud_does_not_tell_by_itself) {
  cloud.load_balancers.tells = false;
  start_with_nodes();
  put_service("web");
  pass(1s);
  cloud.load_balancers.release_takes = 12s;
  delete_service("web");
  pass(30s);
  EXPECT_FALSE(exists("web"));
}

TEST_F(service_release, takes_the_target_set_away_with_the_last_load_balancer) {
  start_with_nodes();
  put_service("web");
  put_service("other");
  pass(1s);
  delete_service("web");
  pass(1s);
  EXPECT_TRUE(cloud.target_sets.standing.contains(set_name()));
  delete_service("other");
  pass(2min);
  EXPECT_TRUE(cloud.target_sets.standing.empty());
  put_service("web");
  pass(1s);
  EXPECT_EQ(address("web"), "192.0.2.1");
}

}  // namespace
}  // namespace isthmus::controllers
