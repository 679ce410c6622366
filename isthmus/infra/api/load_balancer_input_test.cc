#include "isthmus/infra/api/load_balancer_input.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "isthmus/base/json.h"
#include "isthmus/infra/api/object_testing.h"

namespace isthmus::infra::api {
namespace {

using namespace std::chrono_literals;

Input<LoadBalancer> balancer_of(std::string_view body) {
  return decode_load_balancer_input(body, "prod", "web");
}

json::value document(std::string_view text) {
  Result<json::value> parsed = parse_json(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(json::value());
}

// A right body with one member of the spec replaced or added.
Input<LoadBalancer> with(std::string_view key, std::string_view value) {
  json::value body = document(R"({"spec": {
      "listeners": [{"port": 80, "targetGroup": "a"}],
      "targetGroups": [{"name": "a", "targets": [{"address": "10.0.0.1", "port": 80}]}]}})");
  body.as_object()["spec"].as_object()[key] = document(value);
  return balancer_of(compact_json(body));
}

template <class Object>
std::vector<std::string> pointers(const Input<Object>& input) {
  std::vector<std::string> pointers;
  for (const FieldError& error : input.errors) pointers.push_back(error.pointer);
  std::ranges::sort(pointers);
  return pointers;
}

using Pointers = std::vector<std::string>;

TEST(load_balancer_input, takes_the_whole_wish) {
  Input<LoadBalancer> input = balancer_of(encode_input(a_load_balancer()));
  ASSERT_EQ(input.errors, std::vector<FieldError>{});
  EXPECT_EQ(input.object.spec, a_load_balancer().spec);
  EXPECT_EQ(input.object.metadata.owner, "prod");
  EXPECT_EQ(input.object.metadata.name, "web");
  EXPECT_EQ(input.object.metadata.labels, a_load_balancer().metadata.labels);
  EXPECT_TRUE(input.object.metadata.deletion_protection);
}

TEST(load_balancer_input, may_be_what_a_get_answered) {
  Input<LoadBalancer> input = balancer_of(encode(a_load_balancer()));
  ASSERT_EQ(input.errors, std::vector<FieldError>{});
  EXPECT_EQ(input.object.spec, a_load_balancer().spec);
  EXPECT_EQ(input.object.metadata.generation, 0u);
  EXPECT_EQ(input.object.metadata.uid, "");
  EXPECT_FALSE(input.object.metadata.deletion_requested_at);
  EXPECT_EQ(input.object.status, LoadBalancerStatus{});
}

TEST(load_balancer_input, says_the_defaults) {
  Input<LoadBalancer> input = balancer_of(R"({"spec": {
      "listeners": [{"port": 80, "targetGroup": "a"},
                    {"port": 80, "protocol": "UDP", "targetGroup": "b"}],
      "targetGroups": [{"name": "a", "targetSet": "workers", "port": 30080,
                        "healthCheck": {"interval": "1s"}},
                       {"name": "b", "targets": [{"address": "10.0.0.1", "port": 53}]}]}})");
  ASSERT_EQ(input.errors, std::vector<FieldError>{});
  const LoadBalancerSpec& spec = input.object.spec;
  EXPECT_EQ(spec.families, std::vector{IpFamily::v4});
  EXPECT_EQ(spec.listeners[0], (Listener{"tcp-80", Protocol::tcp, 80, "a"}));
  EXPECT_EQ(spec.listeners[1], (Listener{"udp-80", Protocol::udp, 80, "b"}));
  EXPECT_EQ(spec.target_groups[0].health_check->timeout, 1s);
  EXPECT_EQ(spec.target_groups[1].targets[0].weight, 1u);
  EXPECT_FALSE(spec.source_address);
  // What is equal after defaulting is the same wish.
  EXPECT_EQ(balancer_of(encode_input(input.object)).object.spec, spec);
}

TEST(load_balancer_input, families_are_those_of_the_addresses) {
  Input<LoadBalancer> input = with("addresses", R"(["2001:db8::1", "192.0.2.1", "192.0.2.2"])");
  ASSERT_EQ(input.errors, std::vector<FieldError>{});
  EXPECT_EQ(input.object.spec.families, (std::vector{IpFamily::v6, IpFamily::v4}));
  EXPECT_EQ(with("families", R"(["IPv6", "IPv4"])").object.spec.families,
            (std::vector{IpFamily::v6, IpFamily::v4}));
  EXPECT_EQ(pointers(balancer_of(R"({"spec": {
      "families": ["IPv6"], "addresses": ["192.0.2.1"],
      "listeners": [{"port": 80, "targetGroup": "a"}],
      "targetGroups": [{"name": "a", "targets": []}]}})")),
            (Pointers{"/spec/families", "/spec/families"}));
}

// Wrong in every way a load balancer can be.
constexpr std::string_view kAllWrong = R"({
    "kind": "Service", "extra": 1,
    "metadata": {"owner": "other", "name": "wob", "labels": {"a b": "c"}, "deletionProtection": 1,
                 "nam": ""},
    "spec": {
      "pool": "Public", "addresses": ["127.0.0.1", "::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1"],
      "families": ["IPv4", "IPv5"], "sharingKey": "a b", "affinity": "Cookie", "port": 1,
      "sourceAddress": "proxy", "allowedSources": ["192.0.2.1/24", "10.0.0.0/8", "10.0.0.0/8"],
      "listeners": [
        {"port": 0, "targetGroup": "a"}, {"port": 65536, "targetGroup": "a"},
        {"port": 80, "targetGroup": "a"}, {"port": 80, "protocol": "TCP", "targetGroup": "a"},
        {"port": 81, "name": "tcp-80", "targetGroup": "nobody"},
        {"port": 82, "name": "../x", "protocol": "TLS", "targetGroup": "a", "x": 1}],
      "targetGroups": [
        {"name": "a", "targets": [{"address": "10.0.0.1", "port": 1, "weight": 1001},
                                  {"address": "10.0.0.1", "port": 1},
                                  {"address": "10.0.0.999", "port": 70000, "drain": "yes",
                                   "y": 2}]},
        {"name": "a", "targetSet": "workers"},
        {"name": "unused", "targetSet": "workers", "port": 1, "targets": []},
        {"name": "x"}, {"name": "x y", "targets": [], "port": 3, "healthCheck": {
          "protocol": "ICMP", "port": 0, "path": "healthz", "interval": "1ms", "timeout": "2h",
          "rise": 0, "fall": 1000, "z": 1}}]}})";

TEST(load_balancer_input, lists_everything_that_is_wrong_at_once) {
  Input<LoadBalancer> input = balancer_of(kAllWrong);
  EXPECT_EQ(pointers(input), (Pointers{"/extra",
                                       "/kind",
                                       "/metadata/deletionProtection",
                                       "/metadata/labels/a b",
                                       "/metadata/nam",
                                       "/metadata/name",
                                       "/metadata/owner",
                                       "/spec/addresses/0",
                                       "/spec/addresses/1",
                                       "/spec/addresses/3",
                                       "/spec/affinity",
                                       "/spec/allowedSources/0",
                                       "/spec/allowedSources/2",
                                       "/spec/families/1",
                                       "/spec/listeners/0/port",
                                       "/spec/listeners/1/port",
                                       "/spec/listeners/3/port",
                                       "/spec/listeners/4/name",
                                       "/spec/listeners/4/targetGroup",
                                       "/spec/listeners/5/name",
                                       "/spec/listeners/5/protocol",
                                       "/spec/listeners/5/x",
                                       "/spec/pool",
                                       "/spec/port",
                                       "/spec/sharingKey",
                                       "/spec/sourceAddress",
                                       "/spec/targetGroups/0/targets/0/weight",
                                       "/spec/targetGroups/0/targets/1",
                                       "/spec/targetGroups/0/targets/2/address",
                                       "/spec/targetGroups/0/targets/2/drain",
                                       "/spec/targetGroups/0/targets/2/port",
                                       "/spec/targetGroups/0/targets/2/y",
                                       "/spec/targetGroups/1/name",
                                       "/spec/targetGroups/1/port",
                                       "/spec/targetGroups/2",
                                       "/spec/targetGroups/2/targets",
                                       "/spec/targetGroups/3",
                                       "/spec/targetGroups/3",
                                       "/spec/targetGroups/4",
                                       "/spec/targetGroups/4/healthCheck/fall",
                                       "/spec/targetGroups/4/healthCheck/interval",
                                       "/spec/targetGroups/4/healthCheck/path",
                                       "/spec/targetGroups/4/healthCheck/path",
                                       "/spec/targetGroups/4/healthCheck/port",
                                       "/spec/targetGroups/4/healthCheck/protocol",
                                       "/spec/targetGroups/4/healthCheck/rise",
                                       "/spec/targetGroups/4/healthCheck/timeout",
                                       "/spec/targetGroups/4/healthCheck/z",
                                       "/spec/targetGroups/4/name",
                                       "/spec/targetGroups/4/port"}));
}

TEST(load_balancer_input, that_is_no_wish_says_so) {
  for (std::string_view text : {"", "{", "<html>"}) EXPECT_TRUE(balancer_of(text).unreadable);
  EXPECT_EQ(pointers(balancer_of("[]")), (Pointers{""}));
  EXPECT_EQ(pointers(balancer_of("{}")), (Pointers{"/spec"}));
  EXPECT_EQ(pointers(balancer_of(R"({"spec":{}})")),
            (Pointers{"/spec/listeners", "/spec/targetGroups"}));
  EXPECT_EQ(pointers(balancer_of(R"({"spec":{"listeners":[],"targetGroups":[]}})")),
            (Pointers{"/spec/listeners", "/spec/targetGroups"}));
  EXPECT_EQ(pointers(with("families", "[]")), (Pointers{"/spec/families"}));
  EXPECT_EQ(pointers(balancer_of(R"({"spec":1,"spec":{"listeners":1,"targetGroups":{}}})")),
            (Pointers{"/spec", "/spec/listeners", "/spec/targetGroups"}));
}

TEST(load_balancer_input, too_many_of_something_is_one_clear_error) {
  auto many = [](int count, std::string_view element) {
    std::string list = "[";
    for (int i = 1; i <= count; ++i) {
      list += (i == 1 ? "" : ",") + fmt::format(fmt::runtime(element), fmt::arg("i", i));
    }
    return list + "]";
  };
  EXPECT_EQ(with("listeners", many(100, R"({{"port":{i},"targetGroup":"a"}})")).errors,
            std::vector<FieldError>{});
  EXPECT_EQ(with("listeners", many(500, R"({{"port":{i},"targetGroup":"a"}})")).errors,
            (std::vector<FieldError>{{"/spec/listeners", "has 500 elements, 100 are allowed"}}));
  EXPECT_EQ(with("targetGroups", many(101, R"({{"name":"g{i}","targets":[]}})")).errors,
            (std::vector<FieldError>{{"/spec/targetGroups", "has 101 elements, 100 are allowed"}}));
  EXPECT_EQ(
      with("allowedSources", many(501, R"("10.{i}.0.0/32")")).errors,
      (std::vector<FieldError>{{"/spec/allowedSources", "has 501 elements, 500 are allowed"}}));
  EXPECT_EQ(pointers(with("addresses", many(9, R"("192.0.2.{i}")"))),
            (Pointers{"/spec/addresses"}));

  auto group = [&](int targets) {
    return R"([{"name":"a","targets":)" +
           many(targets, R"({{"address":"10.0.0.1","port":{i},"weight":{i},"drain":true}})") + "}]";
  };
  EXPECT_EQ(with("targetGroups", group(1000)).object.spec.target_groups[0].targets.size(), 1000u);
  EXPECT_EQ(with("targetGroups", group(5001)).errors,
            (std::vector<FieldError>{
                {"/spec/targetGroups/0/targets", "has 5001 elements, 5000 are allowed"}}));
}

TEST(load_balancer_input, five_thousand_targets_fit_in_a_group_and_the_body) {
  LoadBalancer balancer = a_load_balancer();
  std::vector<Target>& targets = balancer.spec.target_groups[1].targets;
  targets.clear();
  for (int i = 0; i < 5000; ++i) {
    targets.push_back(
        {ip(fmt::format("2001:db8:1234:5678:9abc:def0:1234:{:x}", i + 1)), 65535, 1000, true});
  }
  std::string body = encode_input(balancer);
  EXPECT_LE(body.size(), kBalancerBodyMax);
  Input<LoadBalancer> input = balancer_of(body);
  EXPECT_EQ(input.errors, std::vector<FieldError>{});
  EXPECT_EQ(input.object.spec, balancer.spec);
}

TEST(load_balancer_input, what_nothing_of_ours_does_is_told_apart_from_what_is_wrong) {
  Input<LoadBalancer> input = balancer_of(R"({"spec": {
      "listeners": [{"port": 80, "targetGroup": "a"},
                    {"port": 80, "protocol": "SCTP", "targetGroup": "b"}],
      "targetGroups": [{"name": "a", "targets": []}, {"name": "b", "targets": []}]}})");
  EXPECT_EQ(input.errors, std::vector<FieldError>{});
  EXPECT_EQ(input.not_offered, (std::vector<FieldError>{{"/spec/listeners/1/protocol", "SCTP"}}));
  EXPECT_EQ(input.object.spec.listeners.size(), 1u);
  EXPECT_EQ(with("listeners", R"([{"port":80,"protocol":"QUIC","targetGroup":"a"}])").errors,
            (std::vector<FieldError>{
                {"/spec/listeners/0/protocol", R"(expected one of "TCP", "UDP", found "QUIC")"}}));
}

TEST(load_balancer_input, a_check_ends_before_the_next_begins) {
  Input<LoadBalancer> input = with("targetGroups", R"([{"name":"a","targets":[],
                                "healthCheck":{"interval":"1s","timeout":"1s1ns"}}])");
  EXPECT_EQ(input.errors, (std::vector<FieldError>{{"/spec/targetGroups/0/healthCheck/timeout",
                                                    "is longer than the interval, 1s"}}));
}

Input<TargetSet> set_of(std::string_view targets) {
  return decode_target_set_input(fmt::format(R"({{"spec":{{"targets":{}}}}})", targets), "prod",
                                 "workers");
}

TEST(target_set_input, takes_the_whole_set) {
  Input<TargetSet> input = decode_target_set_input(encode(a_target_set()), "prod", "workers");
  ASSERT_EQ(input.errors, std::vector<FieldError>{});
  EXPECT_EQ(input.object.targets, a_target_set().targets);
  EXPECT_EQ(input.object.metadata.name, "workers");
  EXPECT_EQ(input.object.metadata.uid, "");
  EXPECT_EQ(input.object.users, 0u);
  EXPECT_EQ(set_of("[]").errors, std::vector<FieldError>{});
}

TEST(target_set_input, lists_everything_that_is_wrong_at_once) {
  Input<TargetSet> input = set_of(R"([
    {"name": "node1", "addresses": ["10.0.0.1"], "port": 80},
    {"name": "node1", "addresses": ["10.0.0.1"]},
    {"name": "Node 2", "addresses": ["10.0.0.2", "10.0.0.3"], "weight": -1},
    {"name": "node4", "addresses": []},
    {"name": "node5", "addresses": ["fe80::1"], "drain": 1},
    {"addresses": ["10.0.0.6", "2001:db8::6", "10.0.0.7"]},
    7])");
  EXPECT_EQ(
      pointers(input),
      (Pointers{"/spec/targets/0/port", "/spec/targets/1/addresses/0", "/spec/targets/1/name",
                "/spec/targets/2/addresses/1", "/spec/targets/2/name", "/spec/targets/2/weight",
                "/spec/targets/3/addresses", "/spec/targets/4/addresses/0", "/spec/targets/4/drain",
                "/spec/targets/5/addresses", "/spec/targets/5/name", "/spec/targets/6"}));
  EXPECT_EQ(pointers(decode_target_set_input(R"({"spec":{"target":[]}})", "prod", "workers")),
            (Pointers{"/spec/target", "/spec/targets"}));
}

TEST(target_set_input, five_thousand_targets_fit_and_no_more) {
  TargetSet set = a_target_set();
  set.targets.clear();
  for (int i = 0; i < 5000; ++i) {
    set.targets.push_back({.name = fmt::format("node-{}.rack-7.example.org", i),
                           .addresses = {ip(fmt::format("10.0.{}.{}", i / 200, 1 + i % 200)),
                                         ip(fmt::format("2001:db8::{:x}", i + 1))},
                           .weight = 1000});
  }
  std::string body = encode_input(set);
  EXPECT_LE(body.size(), kBalancerBodyMax);
  Input<TargetSet> input = decode_target_set_input(body, "prod", "workers");
  EXPECT_EQ(input.errors, std::vector<FieldError>{});
  EXPECT_EQ(input.object.targets, set.targets);

  set.targets.push_back({.name = "one-more", .addresses = {ip("10.1.0.1")}});
  input = decode_target_set_input(encode_input(set), "prod", "workers");
  EXPECT_EQ(input.errors,
            (std::vector<FieldError>{{"/spec/targets", "has 5001 elements, 5000 are allowed"}}));
}

}  // namespace
}  // namespace isthmus::infra::api
