// The life of a Service, from its creation to its end.
#include "isthmus/controllers/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/service_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class service_controller : public testing::ServiceStory {};

TEST_F(service_controller, gives_a_new_service_an_address_and_tells_its_story) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  EXPECT_EQ(address("web"), "192.0.2.1");
  EXPECT_EQ(text("web", "/status/loadBalancer/ingress/0/ipMode"), "VIP");
  EXPECT_TRUE(has_finalizer("web"));
  EXPECT_EQ(balancer("web").spec.target_set, set_name());
  EXPECT_EQ(cloud.target_sets.standing.at(set_name()).targets.size(), 2u);
  EXPECT_THAT(events.lines,
              ElementsAre("Normal EnsuringLoadBalancer web: Ensuring load balancer",
                          "Normal EnsuredLoadBalancer web: Ensured load balancer: 192.0.2.1"));
}

TEST_F(service_controller, makes_two_patches_and_one_call_for_a_new_service) {
  start_with_nodes();
  put_service("web");
  pass(10min);
  EXPECT_EQ(patches(), 2u);
  EXPECT_EQ(cloud.load_balancers.ensures, 1u);
  EXPECT_EQ(cloud.load_balancers.gets, 0u);
  EXPECT_EQ(cloud.target_sets.ensures, 1u);
}

TEST_F(service_controller, puts_the_finalizer_there_before_it_asks_the_cloud_for_anything) {
  start_with_nodes();
  api.inject({.verb = Verb::patch, .error = {Outcome::lost, "cut"}, .times = 3});
  put_service("web");
  pass(1s);
  EXPECT_FALSE(has_finalizer("web"));
  EXPECT_EQ(cloud.load_balancers.ensures, 0u);
  pass(30s);
  EXPECT_TRUE(has_finalizer("web"));
  EXPECT_EQ(address("web"), "192.0.2.1");
}

TEST_F(service_controller, publishes_an_address_once_it_answers_and_not_before) {
  cloud.load_balancers.settle_after = 7s;
  start_with_nodes();
  put_service("web");
  pass(5s);
  EXPECT_TRUE(stands("web"));
  EXPECT_EQ(address("web"), "");
  pass(3s);
  EXPECT_EQ(address("web"), "192.0.2.1");
  EXPECT_EQ(events.count("EnsuredLoadBalancer"), 1u);
}

TEST_F(service_controller, keeps_what_is_published_while_the_load_balancer_is_being_changed) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  cloud.load_balancers.settle_after = 20s;
  set_spec("web", "sessionAffinity", "ClientIP");
  pass(5s);
  EXPECT_EQ(balancer("web").spec.affinity, cloud::LoadBalancerSpec::Affinity::client_ip);
  EXPECT_FALSE(balancer("web").settled);
  EXPECT_EQ(address("web"), "192.0.2.1");
  EXPECT_EQ(events.count("EnsuredLoadBalancer"), 1u);
  pass(20s);
  EXPECT_EQ(events.count("EnsuringLoadBalancer"), 2u);
  EXPECT_EQ(events.count("EnsuredLoadBalancer"), 2u);
}

TEST_F(service_controller, says_proxy_where_traffic_must_pass_the_load_balancer) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  balancer("web").must_be_passed = true;
  cloud.load_balancers.touched(balancer_name("web"));
  pass(1s);
  EXPECT_EQ(text("web", "/status/loadBalancer/ingress/0/ipMode"), "Proxy");
}

// D-S14: what the API server sets by itself is no difference.
TEST_F(service_controller, writes_no_status_that_stands_already) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  const unsigned before = patches();
  set_spec("web", "sessionAffinity", "ClientIP");
  pass(1h);
  EXPECT_EQ(patches(), before);
}

// D-S17, D-S19: what has no meaning for a load balancer costs no call.
TEST_F(service_controller, is_not_moved_by_labels_and_annotations_of_others) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  const std::size_t calls = cloud.load_balancers.ensures;
  for (int i = 0; i < 5; ++i) {
    change("web", [&](json::object& service) {
      service["metadata"].as_object()["labels"] = json::object{{"round", std::to_string(i)}};
      service["metadata"].as_object()["annotations"] =
          json::object{{"kubectl.kubernetes.io/last-applied-configuration", std::to_string(i)}};
    });
    pass(1s);
  }
  EXPECT_EQ(cloud.load_balancers.ensures, calls);
}

// D-S17: what has one is seen.
TEST_F(service_controller, follows_an_annotation_of_ours) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  change("web", [](json::object& service) {
    service["metadata"].as_object()["annotations"] =
        json::object{{"isthmus.dev/source-address", "keep"}};
  });
  pass(1s);
  EXPECT_EQ(balancer("web").spec.source_address, cloud::LoadBalancerSpec::SourceAddress::keep);
}

// D-S2: a status that somebody cleared is written again, without asking the cloud.
TEST_F(service_controller, repairs_a_status_that_somebody_cleared) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  change("web", [](json::object& service) { service.erase("status"); });
  pass(1s);
  EXPECT_EQ(address("web"), "192.0.2.1");
  EXPECT_EQ(cloud.load_balancers.ensures, 1u);
}

TEST_F(service_controller, does_not_fight_over_a_status_that_somebody_else_keeps_writing) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  unsigned writes = 0;
  for (int i = 0; i < 200; ++i) {
    if (address("web") == "192.0.2.1") {
      ++writes;
      change("web", [](json::object& service) {
        service["status"] =
            parse_json(R"({"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}]}})").value();
        service["metadata"].as_object()["managedFields"] =
            parse_json(R"([{"manager": "metallb", "operation": "Update", "subresource": "status",
                "time": "2026-11-30T07:20:00Z",
                "fieldsV1": {"f:status": {"f:loadBalancer": {"f:ingress": {}}}}}])")
                .value();
      });
    }
    pass(1s);
  }
  EXPECT_EQ(writes, 3u) << "published, and put right twice";
  EXPECT_EQ(events.count("LoadBalancerStatusContested"), 1u);
  EXPECT_EQ(events.count("last by \"metallb\""), 1u);
}

TEST_F(service_controller, writes_a_contested_status_again_after_an_hour) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  for (int i = 0; i < 10 && address("web") == "192.0.2.1"; ++i) {
    change("web", [](json::object& service) { service.erase("status"); });
    pass(1s);
  }
  ASSERT_EQ(address("web"), "");
  pass(50min);
  EXPECT_EQ(address("web"), "");
  pass(20min);
  EXPECT_EQ(address("web"), "192.0.2.1");
}

// D-S2: once in a while it is ensured whatever we believe, and that writes nothing.
TEST_F(service_controller, is_ensured_anew_now_and_then) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  pass(3h);
  EXPECT_GE(cloud.load_balancers.ensures, 8u);
  EXPECT_LE(cloud.load_balancers.ensures, 12u);
  EXPECT_EQ(cloud.load_balancers.writes, 1u);
  EXPECT_EQ(events.lines.size(), 2u);
}

// D-S18, D-S6: a class of somebody else is left alone, finalizer and all.
TEST_F(service_controller, leaves_a_service_of_a_foreign_class_alone) {
  start_with_nodes();
  put_service("theirs", R"(, "loadBalancerClass": "example.com/lb")");
  put_service("ours", R"(, "loadBalancerClass": "isthmus.dev/lb")");
  set_finalizers("theirs", {kServiceFinalizer});
  pass(1s);
  delete_service("theirs");
  pass(1min);
  EXPECT_TRUE(has_finalizer("theirs"));
  EXPECT_FALSE(stands("theirs"));
  EXPECT_EQ(cloud.load_balancers.releases, 0u);
  EXPECT_EQ(address("ours"), "192.0.2.1");
}

// D-S18: Services without a class can be left to others.
TEST_F(service_controller, can_be_switched_off_for_services_without_a_class) {
  options.plan.serves_unclassed = false;
  start_with_nodes();
  put_service("web");
  put_service("ours", R"(, "loadBalancerClass": "isthmus.dev/lb")");
  pass(1s);
  EXPECT_FALSE(has_finalizer("web"));
  EXPECT_EQ(address("ours"), "192.0.2.1");
}

TEST_F(service_controller, refuses_an_impossible_wish_and_goes_on_once_it_is_possible) {
  start_with_nodes();
  put_service("web", "", R"("isthmus.dev/health-check-port": "many")");
  pass(10min);
  EXPECT_EQ(cloud.load_balancers.ensures, 0u);
  EXPECT_EQ(events.count("InvalidAnnotation"), 1u);
  EXPECT_TRUE(measures(R"(isthmus_load_balancers{state="refused"} 1)"));
  change("web",
         [](json::object& service) { service["metadata"].as_object().erase("annotations"); });
  pass(1s);
  EXPECT_EQ(address("web"), "192.0.2.1");
  EXPECT_TRUE(measures(R"(isthmus_load_balancers{state="refused"} 0)"));
}

TEST_F(service_controller, keeps_what_a_service_has_when_its_new_wish_is_impossible) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  change("web", [](json::object& service) {
    service["metadata"].as_object()["annotations"] = json::object{{"isthmus.dev/pool", "no pool!"}};
  });
  pass(10min);
  EXPECT_TRUE(stands("web"));
  EXPECT_EQ(address("web"), "192.0.2.1");
}

// D-S15: every call counts, and how long a change waits for its first.
TEST_F(service_controller, counts_what_it_does) {
  start_with_nodes();
  put_service("web");
  pass(1s);
  put_service("other");
  pass(1s);
  delete_service("web");
  pass(1s);
  const std::string text = metrics_text();
  EXPECT_THAT(text, HasSubstr("service_controller_loadbalancer_sync_total 3\n"));
  EXPECT_THAT(text, HasSubstr("isthmus_service_first_call_seconds_count 3\n"));
  EXPECT_THAT(text, HasSubstr("isthmus_load_balancers{state=\"ready\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("isthmus_load_balancers{state=\"pending\"} 0\n"));
}

// D-S13: Services that are synced at once do not wait for each other.
TEST_F(service_controller, works_on_many_services_at_once) {
  start_with_nodes();
  cloud.faults.delay = 5s;
  for (int i = 0; i < 10; ++i) put_service(fmt::format("web{}", i));
  pass(11s);
  for (int i = 0; i < 10; ++i) EXPECT_NE(address(fmt::format("web{}", i)), "") << i;
  EXPECT_LE(cloud.target_sets.ensures, 1u);
}

}  // namespace
}  // namespace isthmus::controllers
