#include "isthmus/infra/api/load_balancer.h"

#include <gtest/gtest.h>

#include <chrono>

#include "isthmus/infra/api/object_testing.h"

namespace isthmus::infra::api {
namespace {

using namespace std::chrono_literals;

TEST(load_balancer, is_read_as_it_was_written) {
  LoadBalancer balancer = a_load_balancer();
  Result<LoadBalancer> read = decode_load_balancer(encode(balancer));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, balancer);

  LoadBalancer smallest;
  smallest.metadata = {.owner = "o", .name = "n", .uid = "u", .generation = 1, .revision = 1};
  read = decode_load_balancer(encode(smallest));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, smallest);
}

TEST(load_balancer, is_written_as_the_document_says) {
  EXPECT_EQ(
      encode_input(a_load_balancer()),
      R"({"kind":"LoadBalancer",)"
      R"("metadata":{"name":"web","labels":{"app":"web"},"deletionProtection":true},)"
      R"("spec":{"pool":"public","addresses":["192.0.2.1","2001:db8::1"],)"
      R"("families":["IPv4","IPv6"],"sharingKey":"k",)"
      R"("listeners":[)"
      R"({"name":"http","protocol":"TCP","port":80,"targetGroup":"nodes"},)"
      R"({"name":"udp-53","protocol":"UDP","port":53,"targetGroup":"dns"}],)"
      R"("targetGroups":[)"
      R"({"name":"nodes","targetSet":"workers","port":30080,)"
      R"("healthCheck":{"protocol":"HTTP","port":10256,"path":"/healthz","interval":"5s",)"
      R"("timeout":"500ms","rise":1,"fall":3}},)"
      R"({"name":"dns","targets":[)"
      R"({"address":"10.0.0.1","port":53,"weight":1,"drain":false},)"
      R"({"address":"2001:db8::53","port":5353,"weight":0,"drain":true}],)"
      R"("healthCheck":{"protocol":"TCP","interval":"5s","timeout":"2s","rise":2,"fall":2}}],)"
      R"("allowedSources":["198.51.100.0/24","::/0"],"affinity":"ClientIP",)"
      R"("sourceAddress":"keep"}})");
}

TEST(load_balancer, list_is_read_as_it_was_written) {
  LoadBalancerList list{.items = {a_load_balancer()}, .revision = 9, .continue_token = "next"};
  Result<LoadBalancerList> read = decode_load_balancer_list(encode(list));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, list);
}

TEST(load_balancer, one_bad_item_of_a_list_is_counted_and_hides_no_other) {
  std::string good = encode(a_load_balancer());
  std::string list = R"({"kind":"LoadBalancerList","metadata":{"revision":1},"items":[)" + good +
                     R"(,{"kind":"LoadBalancer"},)" + good + "]}";
  Result<LoadBalancerList> read = decode_load_balancer_list(list);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->items.size(), 2u);
  EXPECT_EQ(read->not_understood, 1u);
}

// What a server of a later version may say.
TEST(load_balancer, what_is_not_known_is_passed_over) {
  Result<LoadBalancer> read = decode_load_balancer(R"({
    "kind": "LoadBalancer", "more": 1,
    "metadata": {"owner": "o", "name": "n", "uid": "u", "generation": 1, "revision": 1, "x": 1},
    "spec": {"families": ["IPv4", "IPv8"], "affinity": "Cookie", "sourceAddress": "proxy",
             "listeners": [{"name": "a", "protocol": "SCTP", "port": 1, "targetGroup": "g"},
                           {"name": "b", "protocol": "TCP", "port": 2, "targetGroup": "g"}],
             "targetGroups": [{"name": "g", "targets": [{"address": "10.0.0.1", "port": 1, "x": 2}],
                               "healthCheck": {"protocol": "GRPC"}}]},
    "status": {"conditions": [{"type": "New", "status": "True"}],
               "targetHealth": [{"address": "10.0.0.1", "port": 1, "health": "sleepy"}]}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->spec.families, std::vector<IpFamily>{IpFamily::v4});
  ASSERT_EQ(read->spec.listeners.size(), 1u);
  EXPECT_EQ(read->spec.listeners[0].port, 2);
  EXPECT_EQ(read->spec.affinity, Affinity::none);
  EXPECT_FALSE(read->spec.source_address);
  EXPECT_FALSE(read->spec.target_groups[0].health_check);
  EXPECT_EQ(read->status.target_health[0].health, Health::unknown);
}

TEST(load_balancer, that_is_none_is_lost) {
  std::string good = encode(a_load_balancer());
  for (std::string_view broken :
       {R"("kind":"LoadBalancer")", R"("revision":42)", R"("address":"10.0.0.1")",
        R"("interval":"5s")", R"("lastTransitionTime":"2026-01-01T00:00:00.000000Z")"}) {
    std::string text = good;
    std::size_t at = text.find(broken);
    ASSERT_NE(at, text.npos) << broken;
    std::size_t colon = broken.find(':');
    text.replace(at, broken.size(), std::string(broken.substr(0, colon)) + R"(:"?")");
    EXPECT_EQ(decode_load_balancer(text).outcome(), Outcome::lost) << broken;
  }
  for (std::string_view text : {"", "<html>", "[]", "{}", R"({"kind":"Instance"})"}) {
    EXPECT_EQ(decode_load_balancer(text).outcome(), Outcome::lost) << text;
  }
}

TEST(load_balancer, checks_compare_by_everything_they_are) {
  HealthCheck check;
  HealthCheck other = check;
  EXPECT_EQ(check, other);
  other.interval = 6s;
  EXPECT_LT(check, other);
}

}  // namespace
}  // namespace isthmus::infra::api
