#include "isthmus/infra/balancer_codec.h"

#include <gtest/gtest.h>

#include "isthmus/infra/ledger_testing.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

BalancerRecord a_full_record() {
  BalancerRecord record;
  api::LoadBalancer said = a_balancer(kWeb, {80, 443});
  record.metadata = said.metadata;
  record.metadata.uid = "7c9e";
  record.metadata.generation = 3;
  record.metadata.revision = 42;
  record.metadata.deletion_requested_at = at_second(1);
  record.spec = said.spec;
  record.spec.pool = "public";
  record.spec.addresses = {ip("192.0.2.1"), ip("2001:db8::1")};
  record.spec.families = {IpFamily::v4, IpFamily::v6};
  record.spec.sharing_key = "edge";
  record.spec.allowed_sources = {parse_prefix("10.0.0.0/8").value()};
  record.spec.affinity = api::Affinity::client_ip;
  record.spec.source_address = api::SourceAddress::keep;
  record.spec.listeners[1].protocol = api::Protocol::udp;
  record.spec.target_groups[0].targets = {
      {ip("10.0.0.1"), 8080, 1, false},
      {ip("10.0.0.2"), 8080, 0, false},
      {ip("10.0.0.3"), 8080, 5, true},
      {ip("fd00::1"), 65535, 1, true},
  };
  record.spec.target_groups[0].health_check = api::HealthCheck{};
  api::HealthCheck http{api::HealthCheck::Protocol::http, 9000, "/ready", 1500ms, 1s, 1, 3};
  record.spec.target_groups.push_back({"set", "nodes", 8080, {}, http});
  record.addresses = {ip("192.0.2.1"), ip("2001:db8::1")};
  record.deleted_at = at_second(2) + 3ns;
  return record;
}

TEST(balancer_codec, a_load_balancer_is_read_back) {
  BalancerRecord record = a_full_record();
  EXPECT_EQ(decode_balancer_record(encode(record), 42).value(), record);

  api::LoadBalancer said = a_balancer(kWeb);
  BalancerRecord plain{said.metadata, said.spec, {}, std::nullopt};
  plain.metadata.uid = "7c9e";
  EXPECT_EQ(decode_balancer_record(encode(plain), 0).value(), plain);
}

TEST(balancer_codec, where_the_targets_lie_is_known_of_what_is_read) {
  BalancerRecord record = a_full_record();
  const std::pair ends{ip("10.0.0.1"), ip("fd00::1")};
  EXPECT_EQ(decode_balancer_record(encode(record), 0)->target_span.ends, ends);
  record.spec.target_groups.clear();
  EXPECT_EQ(decode_balancer_record(encode(record), 0)->target_span.ends, std::nullopt);
}

TEST(balancer_codec, five_thousand_inline_targets_fit_in_a_value_of_the_store) {
  BalancerRecord record = a_full_record();
  std::vector<api::Target>& targets = record.spec.target_groups[0].targets;
  targets.clear();
  for (std::size_t i = 0; i < api::kTargetsMax; ++i) {
    api::Target target{ip("2001:db8:1111:2222:3333:4444:5555:0"), 65535, 1000, true};
    target.address.bytes[14] = static_cast<std::uint8_t>(i / 256 + 16);
    target.address.bytes[15] = static_cast<std::uint8_t>(i % 256);
    targets.push_back(target);
  }
  std::string value = encode(record);
  EXPECT_LT(value.size(), kValueBytesMax);
  EXPECT_EQ(decode_balancer_record(value, 42).value(), record);
}

TEST(balancer_codec, a_target_that_is_none_is_damage) {
  const std::string value = encode(a_full_record());
  for (std::string_view wrong : {"10.0.0.1", "10.0.0.1:", "10.0.0.1:70000", "10.0.0.1:80 ",
                                 "10.0.0.1:80 weight=", "10.0.0.1:80 weight=1001", "[10.0.0.1]:80",
                                 "fd00::1:80", "[fd00::1:80", "x:80"}) {
    std::string damaged = value;
    const std::string right = "10.0.0.1:8080";
    damaged.replace(damaged.find(right), right.size(), wrong);
    EXPECT_EQ(decode_balancer_record(damaged, 1).outcome(), Outcome::lost) << wrong;
  }
}

TEST(balancer_codec, a_status_is_read_back_without_the_health_of_single_targets) {
  StatusRecord record;
  record.revision = 42;
  api::LoadBalancerStatus& status = record.status;
  status.addresses = {ip("192.0.2.1")};
  status.observed_generation = 3;
  status.applied_generation = 2;
  status.conditions = {{std::string(api::condition::programmed), api::ConditionStatus::is_false,
                        "AddressTaken", "02:00:00:00:00:01 answers for it", at_second(1) + 1ms, 3},
                       {"Ready", api::ConditionStatus::unknown, "", "", at_second(0), 0}};
  status.targets = 3;
  status.targets_healthy = 2;
  status.targets_serving = 1;
  status.repairs = 4;
  status.last_repair = at_second(2);
  status.last_repair_reason = "an address was gone";
  const std::string value = encode(record);
  EXPECT_EQ(decode_status_record(value, 42).value(), record);

  api::TargetStatus target;
  target.address = ip("10.0.0.1");
  record.status.target_health = {target};
  EXPECT_EQ(encode(record), value);
}

TEST(balancer_codec, damage_and_a_newer_version_are_lost) {
  for (std::string_view value : {"", "[]", "{}", R"({"metadata": {}, "spec": {}})"}) {
    EXPECT_EQ(decode_balancer_record(value, 1).outcome(), Outcome::lost) << value;
    EXPECT_EQ(decode_status_record(value, 1).outcome(), Outcome::lost) << value;
  }
  std::string newer = encode(a_full_record());
  const std::string known = R"("affinity":"ClientIP")";
  newer.replace(newer.find(known), known.size(), R"("affinity":"Cookie")");
  EXPECT_EQ(decode_balancer_record(newer, 1).outcome(), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::infra
