#include "isthmus/providers/infra/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/infra/api/load_balancer_input.h"
#include "isthmus/providers/infra/server_testing.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using cloud::LoadBalancerSpec;
using cloud::LoadBalancerState;
using infra::testing::ip;
using infra::testing::ready_balancer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

LoadBalancerSpec a_spec() {
  return {.name = "svc-a",
          .labels = {{"isthmus.dev/cluster", "c"}},
          .pool = "public",
          .families = {IpFamily::v4, IpFamily::v6},
          .listeners = {{"http", cloud::Protocol::tcp, 80, 30080},
                        {"dns", cloud::Protocol::udp, 53, 30053},
                        {"dns-tcp", cloud::Protocol::tcp, 53, 30053}},
          .target_set = "nodes-c"};
}

// As the server reads what we write, which must have found nothing wrong.
api::LoadBalancer understood(const LoadBalancerSpec& spec) {
  const std::string body = api::encode_input(to_api(spec));
  auto input = api::decode_load_balancer_input(body, "prod", spec.name);
  EXPECT_FALSE(input.unreadable) << body;
  EXPECT_THAT(input.errors, IsEmpty())
      << body << input.errors.front().pointer << input.errors.front().detail;
  EXPECT_THAT(input.not_offered, IsEmpty());
  return std::move(input.object);
}

TEST(translate, makes_one_target_group_for_each_port_that_is_sent_to) {
  const api::LoadBalancer read = understood(a_spec());
  EXPECT_EQ(read.metadata.labels, a_spec().labels);
  EXPECT_EQ(read.spec.pool, "public");
  EXPECT_THAT(read.spec.listeners,
              ElementsAre(api::Listener{"http", api::Protocol::tcp, 80, "port-30080"},
                          api::Listener{"dns", api::Protocol::udp, 53, "port-30053"},
                          api::Listener{"dns-tcp", api::Protocol::tcp, 53, "port-30053"}));
  ASSERT_EQ(read.spec.target_groups.size(), 2U);
  EXPECT_EQ(read.spec.target_groups[0].name, "port-30053");
  EXPECT_EQ(read.spec.target_groups[0].target_set, "nodes-c");
  EXPECT_EQ(read.spec.target_groups[0].port, 30053);
  EXPECT_EQ(read.spec.target_groups[1].port, 30080);
  EXPECT_FALSE(read.spec.target_groups[0].health_check);
}

TEST(translate, names_the_targets_addresses_of_the_families_each_once_where_there_is_no_set) {
  LoadBalancerSpec spec = a_spec();
  spec.target_set.clear();
  spec.families = {IpFamily::v4};
  spec.listeners.resize(1);
  spec.targets = {{.name = "n1", .addresses = {ip("10.0.0.1"), ip("2001:db8::1")}},
                  {.name = "n2", .addresses = {ip("10.0.0.1")}},
                  {.name = "n3", .addresses = {ip("2001:db8::3")}}};
  const api::LoadBalancer read = understood(spec);
  ASSERT_EQ(read.spec.target_groups.size(), 1U);
  EXPECT_THAT(read.spec.target_groups[0].targets,
              ElementsAre(api::Target{.address = ip("10.0.0.1"), .port = 30080}));
  spec.targets.clear();
  EXPECT_THAT(understood(spec).spec.target_groups[0].targets, IsEmpty());
}

TEST(translate, says_whatever_else_a_spec_can_ask_for) {
  LoadBalancerSpec spec = a_spec();
  spec.requested_addresses = {ip("192.0.2.7"), ip("2001:db8::7")};
  spec.preferred_addresses = {ip("192.0.2.9")};
  spec.source_ranges = {parse_prefix("198.51.100.0/24").value()};
  spec.affinity = LoadBalancerSpec::Affinity::client_ip;
  spec.source_address = LoadBalancerSpec::SourceAddress::keep;
  spec.health_check = {.protocol = LoadBalancerSpec::HealthCheck::Protocol::http,
                       .port = 10256,
                       .http_path = "/healthz",
                       .interval = std::chrono::seconds(7),
                       .timeout = std::chrono::seconds(3),
                       .rise = 4,
                       .fall = 5};
  const api::LoadBalancer read = understood(spec);
  EXPECT_EQ(read.spec.addresses, spec.requested_addresses);
  EXPECT_EQ(read.spec.families, spec.families);
  EXPECT_EQ(read.spec.allowed_sources, spec.source_ranges);
  EXPECT_EQ(read.spec.affinity, api::Affinity::client_ip);
  EXPECT_EQ(read.spec.source_address, api::SourceAddress::keep);
  EXPECT_EQ(read.spec.target_groups[0].health_check,
            (api::HealthCheck{.protocol = api::HealthCheck::Protocol::http,
                              .port = 10256,
                              .path = "/healthz",
                              .interval = std::chrono::seconds(7),
                              .timeout = std::chrono::seconds(3),
                              .rise = 4,
                              .fall = 5}));
}

TEST(translate, says_the_targets_of_a_set) {
  const cloud::TargetSetSpec spec{
      .name = "nodes-c",
      .labels = {{"isthmus.dev/cluster", "c"}},
      .targets = {{.name = "n1", .addresses = {ip("10.0.0.1"), ip("2001:db8::1")}}}};
  auto input = api::decode_target_set_input(api::encode_input(to_api(spec)), "prod", "nodes-c");
  EXPECT_THAT(input.errors, IsEmpty());
  EXPECT_EQ(input.object.metadata.labels, spec.labels);
  EXPECT_THAT(input.object.targets,
              ElementsAre(api::SetTarget{.name = "n1", .addresses = spec.targets[0].addresses}));
}

TEST(translate, prefers_addresses_of_the_families_where_none_is_requested) {
  LoadBalancerSpec spec = a_spec();
  spec.families = {IpFamily::v4};
  spec.preferred_addresses = {ip("192.0.2.9"), ip("2001:db8::9"), ip("192.0.2.9")};
  EXPECT_THAT(preferences(spec), ElementsAre(ip("192.0.2.9")));
  spec.requested_addresses = {ip("192.0.2.7")};
  EXPECT_THAT(preferences(spec), IsEmpty());
}

api::Condition a_condition(std::string_view type, api::ConditionStatus status, std::string reason,
                           std::uint64_t generation = 1) {
  return {.type = std::string(type),
          .status = status,
          .reason = std::move(reason),
          .message = "what to do",
          .last_transition = {},
          .observed_generation = generation};
}

LoadBalancerState with(api::Condition condition, api::LoadBalancer balancer = ready_balancer()) {
  set(balancer.status.conditions, std::move(condition));
  return to_cloud(std::move(balancer));
}

TEST(translate, calls_settled_what_is_ready_for_the_present_generation) {
  api::LoadBalancer balancer = ready_balancer();
  const LoadBalancerState state = to_cloud(balancer);
  EXPECT_TRUE(state.settled);
  EXPECT_EQ(state.name, "web");
  EXPECT_THAT(state.addresses, ElementsAre(ip("192.0.2.1")));
  EXPECT_EQ(state.generation, 1U);
  EXPECT_EQ(state.revision, 7U);
  EXPECT_FALSE(state.is_leaving);
  balancer.metadata.generation = 2;
  EXPECT_FALSE(to_cloud(balancer).settled);
  balancer.status.conditions.clear();
  EXPECT_FALSE(to_cloud(balancer).settled);
}

TEST(translate, tells_that_it_is_leaving_and_what_was_repaired) {
  api::LoadBalancer balancer = ready_balancer();
  balancer.metadata.deletion_requested_at = WallTime{};
  balancer.status.repairs = 3;
  balancer.status.last_repair_reason = "the rules were gone";
  const LoadBalancerState state = to_cloud(balancer);
  EXPECT_TRUE(state.is_leaving);
  EXPECT_EQ(state.repairs, 3U);
  EXPECT_EQ(state.last_repair, "the rules were gone");
}

struct FactRow {
  std::string_view type;
  api::ConditionStatus status;
  std::string reason;
  std::string told;  // Empty: nothing.
};

TEST(translate, tells_the_conditions_that_are_not_as_they_should_be) {
  constexpr auto kTrue = api::ConditionStatus::is_true;
  constexpr auto kFalse = api::ConditionStatus::is_false;
  constexpr auto kUnknown = api::ConditionStatus::unknown;
  for (const FactRow& row : std::vector<FactRow>{
           {"Accepted", kFalse, "DriverRefused", "DriverRefused"},
           {"Accepted", kTrue, "Accepted", ""},
           {"AddressAllocated", kFalse, "NoAddress", "NoAddress"},
           {"Programmed", kFalse, "AddressConflict", "AddressConflict"},
           {"Programmed", kFalse, "ListenerTaken", "ListenerTaken"},
           {"Programmed", kFalse, "", "NotProgrammed"},
           {"Programmed", kFalse, "Pending", ""},
           {"Programmed", kFalse, "ProbingAddress", ""},
           {"Programmed", kUnknown, "Pending", ""},
           {"TargetsHealthy", kFalse, "NoneHealthy", "TargetsUnhealthy"},
           {"TargetsHealthy", kFalse, "NoTargets", "NoTargets"},
           {"TargetsHealthy", kFalse, "TargetSetMissing", "TargetSetMissing"},
           {"TargetsHealthy", kFalse, "SomeUnhealthy", ""},
           {"TargetsHealthy", kUnknown, "NotJudgedYet", ""},
           {"ReturnPathMissing", kTrue, "NoReplies", "ReturnPathMissing"},
           {"ReturnPathMissing", kFalse, "RepliesPass", ""},
           {"NoLocalTarget", kTrue, "NoPodHere", "NoLocalTarget"},
           {"Ready", kFalse, "AddressConflict", ""},
           {"MoonIsFull", kTrue, "MoonIsFull", ""},
       }) {
    const LoadBalancerState state = with(a_condition(row.type, row.status, row.reason));
    if (row.told.empty()) {
      EXPECT_THAT(state.facts, IsEmpty()) << row.type << row.reason;
    } else {
      EXPECT_THAT(state.facts, ElementsAre(LoadBalancerState::Fact{row.told, "what to do"}))
          << row.type << row.reason;
    }
  }
}

TEST(translate, does_not_tell_of_an_older_spec_what_only_concerned_that) {
  api::LoadBalancer balancer = ready_balancer();
  balancer.metadata.generation = 2;
  constexpr auto kFalse = api::ConditionStatus::is_false;
  EXPECT_THAT(with(a_condition("Programmed", kFalse, "ListenerTaken"), balancer).facts, IsEmpty());
  EXPECT_THAT(with(a_condition("TargetsHealthy", kFalse, "NoneHealthy"), balancer).facts,
              ::testing::SizeIs(1));
}

TEST(translate, tells_one_trouble_once_that_is_behind_two_conditions) {
  api::LoadBalancer balancer = ready_balancer();
  constexpr auto kFalse = api::ConditionStatus::is_false;
  set(balancer.status.conditions, a_condition("Accepted", kFalse, "DriverRefused"));
  EXPECT_THAT(with(a_condition("Programmed", kFalse, "DriverRefused"), balancer).facts,
              ::testing::SizeIs(1));
}

TEST(translate, knows_the_health_of_targets_only_when_they_were_judged) {
  using Health = LoadBalancerState::Health;
  struct Row {
    api::ConditionStatus status;
    std::string reason;
    std::uint32_t healthy;
    Health told;
  };
  for (const Row& row : std::vector<Row>{
           {api::ConditionStatus::is_true, "AllHealthy", 3, Health::all},
           {api::ConditionStatus::is_false, "SomeUnhealthy", 2, Health::some},
           {api::ConditionStatus::is_false, "SomeUnhealthy", 0, Health::unknown},
           {api::ConditionStatus::is_false, "NoneHealthy", 0, Health::none},
           {api::ConditionStatus::is_false, "NoTargets", 0, Health::none},
           {api::ConditionStatus::unknown, "NotJudgedYet", 1, Health::unknown},
           {api::ConditionStatus::unknown, "Unchecked", 3, Health::unknown},
       }) {
    api::LoadBalancer balancer = ready_balancer();
    balancer.status.targets = 3;
    balancer.status.targets_healthy = row.healthy;
    const LoadBalancerState state =
        with(a_condition("TargetsHealthy", row.status, row.reason), balancer);
    EXPECT_EQ(state.health, row.told) << row.reason << row.healthy;
    EXPECT_EQ(state.targets, 3U);
  }
  EXPECT_EQ(to_cloud(ready_balancer()).health, Health::unknown);
}

TEST(translate, tells_who_asks_for_one_alone_what_is_unfinished_and_who_is_sick) {
  api::LoadBalancer balancer = testing::ready_balancer();
  EXPECT_EQ(to_cloud_in_detail(balancer), to_cloud(balancer)) << "nothing is";
  for (const auto& [type, status] :
       {std::pair(api::condition::ready, api::ConditionStatus::is_false),
        std::pair(api::condition::accepted, api::ConditionStatus::is_true)}) {
    api::set(balancer.status.conditions, {.type = std::string(type), .status = status});
  }
  api::set(balancer.status.conditions, {.type = std::string(api::condition::programmed),
                                        .status = api::ConditionStatus::is_false,
                                        .reason = "ProbingAddress",
                                        .message = "asking the link"});
  balancer.status.target_health = {{.name = "n1",
                                    .address = testing::ip("10.0.0.1"),
                                    .port = 80,
                                    .health = api::Health::healthy},
                                   {.name = "n2",
                                    .address = testing::ip("10.0.0.2"),
                                    .port = 80,
                                    .health = api::Health::unhealthy,
                                    .reason = "connection refused"}};
  for (int i = 0; i < 20; ++i) {
    balancer.status.target_health.push_back({.address = testing::ip("10.0.0.3"),
                                             .port = 80,
                                             .health = api::Health::unhealthy,
                                             .reason = "no answer"});
  }
  const cloud::LoadBalancerState state = to_cloud_in_detail(balancer);
  EXPECT_EQ(state.unfinished, (std::vector<cloud::LoadBalancerState::Fact>{
                                  {"AddressAllocated", "not begun"},
                                  {"Programmed", "ProbingAddress asking the link"}}));
  ASSERT_EQ(state.sick.size(), 10U);
  EXPECT_EQ(state.sick[0],
            (cloud::LoadBalancerState::Fact{"n2 10.0.0.2:80", "connection refused"}));
  EXPECT_EQ(state.sick[1].reason, "10.0.0.3:80");
  EXPECT_TRUE(to_cloud(balancer).sick.empty());
}

TEST(translate, reads_what_a_dry_run_would_do) {
  using Effect = cloud::LoadBalancerPreview::Effect;
  const api::DryRun plan{.effect = api::DryRun::Effect::changed,
                         .object = "{}",
                         .addresses = {ip("192.0.2.1")},
                         .changes = {{"/spec/pool", "\"a\"", "\"b\""}}};
  const auto preview = to_cloud(plan);
  ASSERT_TRUE(preview);
  EXPECT_EQ(preview->effect, Effect::changed);
  EXPECT_THAT(preview->addresses, ElementsAre(ip("192.0.2.1")));
  EXPECT_THAT(preview->changes,
              ElementsAre(cloud::LoadBalancerPreview::Change{"/spec/pool", "\"a\"", "\"b\""}));
  EXPECT_EQ(to_cloud(api::DryRun{.effect = api::DryRun::Effect::deleted,
                                 .object = "{}",
                                 .addresses = {},
                                 .changes = {}})
                .outcome(),
            Outcome::lost);
}

}  // namespace
}  // namespace isthmus::providers::infra
