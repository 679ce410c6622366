#include "isthmus/infra/balancer_status.h"

#include <gtest/gtest.h>

#include "isthmus/infra/kernel_testing.h"

namespace isthmus::infra {
namespace {

using testing::ip;

constexpr WallTime kNow{std::chrono::seconds(1'800'000'000)};

BalancerRecord a_record() {
  BalancerRecord record;
  record.metadata.generation = 3;
  record.addresses = {ip("192.0.2.1")};
  return record;
}

Findings all_well() {
  Findings findings;
  findings.applied_generation = 3;
  findings.targets.targets = 3;
  findings.targets.healthy = 3;
  findings.targets.serving = 3;
  return findings;
}

std::string said(const api::LoadBalancerStatus& status, std::string_view type) {
  const api::Condition* condition = api::find(status.conditions, type);
  if (condition == nullptr) return "";
  return std::string(api::to_string(condition->status)) + " " + condition->reason;
}

std::string said(const Findings& findings, std::string_view type) {
  return said(status_of(a_record(), findings, {}, kNow), type);
}

TEST(balancer_status, all_well_is_ready) {
  const api::LoadBalancerStatus status = status_of(a_record(), all_well(), {}, kNow);
  EXPECT_EQ(said(status, "Accepted"), "True Accepted");
  EXPECT_EQ(said(status, "AddressAllocated"), "True Allocated");
  EXPECT_EQ(said(status, "Programmed"), "True Programmed");
  EXPECT_EQ(said(status, "TargetsHealthy"), "True AllHealthy");
  EXPECT_EQ(said(status, "ReturnPathMissing"), "False NotNeeded");
  EXPECT_EQ(said(status, "Ready"), "True Ready");
  EXPECT_EQ(status.observed_generation, 3);
  EXPECT_EQ(status.targets_serving, 3);
  EXPECT_EQ(api::find(status.conditions, "Ready")->observed_generation, 3);
}

TEST(balancer_status, ready_says_why_not) {
  Findings findings = all_well();
  findings.trouble = Trouble{reason::address_conflict, "another has it"};
  EXPECT_EQ(said(findings, "Programmed"), "False AddressConflict");
  EXPECT_EQ(said(findings, "Ready"), "False AddressConflict");
  EXPECT_EQ(said(findings, "Accepted"), "True Accepted");
  findings.refused = true;
  EXPECT_EQ(said(findings, "Accepted"), "False AddressConflict");
}

TEST(balancer_status, health_never_makes_it_unready) {
  Findings findings = all_well();
  findings.targets.healthy = 0;
  findings.targets.unhealthy = 3;
  findings.targets.all_kept = true;
  EXPECT_EQ(said(findings, "TargetsHealthy"), "False NoneHealthy");
  EXPECT_EQ(said(findings, "Ready"), "True Ready");
}

TEST(balancer_status, health_is_unknown_until_everybody_was_judged) {
  Findings findings = all_well();
  findings.targets.healthy = 1;
  findings.targets.unknown = 2;
  EXPECT_EQ(said(findings, "TargetsHealthy"), "Unknown NotJudgedYet");
  findings.targets.unknown = 0;
  findings.targets.unhealthy = 2;
  EXPECT_EQ(said(findings, "TargetsHealthy"), "False SomeUnhealthy");
  findings.targets = {.targets = 3, .unchecked = 3, .serving = 3, .missing_sets = {}};
  EXPECT_EQ(said(findings, "TargetsHealthy"), "Unknown Unchecked");
  EXPECT_EQ(status_of(a_record(), findings, {}, kNow).targets_healthy, 3);
  findings.targets = {};
  EXPECT_EQ(said(findings, "TargetsHealthy"), "False NoTargets");
  findings.targets.missing_sets = {"nodes"};
  EXPECT_EQ(said(findings, "TargetsHealthy"), "False TargetSetMissing");
}

TEST(balancer_status, an_address_that_no_target_can_serve_is_named) {
  Resolution resolution;
  resolution.balancer.addresses = {ip("192.0.2.1"), ip("2001:db8::1")};
  resolution.balancer.listeners = {{drivers::Protocol::tcp, 80, 0}};
  drivers::Target target{.endpoint = {ip("10.0.0.1"), 80}};
  resolution.balancer.groups = {{target}};
  resolution.targets.emplace_back().verdict = {.health = api::Health::unchecked, .reason = {}};
  auto found = [&] {
    Findings findings = all_well();
    findings.targets = facts_of(resolution, {});
    return status_of(a_record(), findings, {}, kNow);
  };
  EXPECT_EQ(said(found(), "TargetsHealthy"), "False NoTargets");
  EXPECT_EQ(said(found(), "Ready"), "True Ready");
  EXPECT_NE(api::find(found().conditions, "TargetsHealthy")->message.find("[2001:db8::1]:80"),
            std::string::npos);
  resolution.balancer.addresses.pop_back();
  EXPECT_EQ(said(found(), "TargetsHealthy"), "Unknown Unchecked");
  resolution.balancer.groups[0][0].weight = 0;
  EXPECT_EQ(said(found(), "TargetsHealthy"), "False NoTargets");
  resolution.balancer.announce_only = true;  // Others know better.
  EXPECT_EQ(said(found(), "TargetsHealthy"), "Unknown Unchecked");
}

TEST(balancer_status, a_missing_way_back_is_told_under_keep_only) {
  Findings findings = all_well();
  findings.targets.keeps_source = true;
  EXPECT_EQ(said(findings, "ReturnPathMissing"), "False RepliesPass");
  findings.return_path_missing = true;
  EXPECT_EQ(said(findings, "ReturnPathMissing"), "True NoReplies");
}

TEST(balancer_status, an_announcer_says_whether_it_has_a_target_of_its_own) {
  Resolution resolution;
  auto said_now = [&] {
    Findings findings = all_well();
    findings.targets = facts_of(resolution, {});
    return said(findings, "NoLocalTarget");
  };
  EXPECT_EQ(said_now(), "");
  resolution.balancer.announce_only = true;
  EXPECT_EQ(said_now(), "Unknown Unchecked");
  resolution.targets.resize(2);
  for (ResolvedTarget& target : resolution.targets) {
    target.endpoint = {ip("10.0.0.1"), 30080};
    target.check = Check{ip("10.0.0.1"), {}};
    target.check->how.port = 30123;
    target.check->how.protocol = api::HealthCheck::Protocol::http;
    target.check->how.path = "/healthz";
    target.verdict = {};
  }
  EXPECT_EQ(said_now(), "Unknown NotJudgedYet");
  resolution.targets[0].verdict.health = resolution.targets[1].verdict.health =
      api::Health::healthy;
  EXPECT_EQ(said_now(), "False LocalTarget");
  resolution.targets[0].verdict = {api::Health::unhealthy, "connection refused"};
  EXPECT_EQ(said_now(), "True NoLocalTarget");
  EXPECT_EQ(facts_of(resolution, {}).local_failure,
            "(10.0.0.1:30123/healthz) fails: connection refused");
}

TEST(balancer_status, what_an_announcer_said_goes_with_it) {
  Findings findings = all_well();
  findings.targets.local = api::Health::healthy;
  const api::LoadBalancerStatus before = status_of(a_record(), findings, {}, kNow);
  EXPECT_EQ(said(before, "NoLocalTarget"), "False LocalTarget");
  EXPECT_EQ(said(status_of(a_record(), all_well(), before, kNow), "NoLocalTarget"), "");
}

TEST(balancer_status, a_condition_that_stays_keeps_its_time) {
  const api::LoadBalancerStatus first = status_of(a_record(), all_well(), {}, kNow);
  const WallTime then = kNow + std::chrono::hours(1);
  EXPECT_EQ(status_of(a_record(), all_well(), first, then), first);
  Findings findings = all_well();
  findings.trouble = Trouble{reason::foreign_table, ""};
  const api::LoadBalancerStatus second = status_of(a_record(), findings, first, then);
  EXPECT_EQ(api::find(second.conditions, "Ready")->last_transition, then);
  EXPECT_EQ(api::find(second.conditions, "Accepted")->last_transition, kNow);
}

TEST(balancer_status, a_target_counts_once_however_many_groups_it_is_in) {
  Resolution resolution;
  const Endpoint endpoint{ip("10.0.0.1"), 80};
  for (std::size_t group : {0U, 1U}) {
    ResolvedTarget& target = resolution.targets.emplace_back();
    target.group = group;
    target.endpoint = endpoint;
    target.verdict.health = group == 0 ? api::Health::healthy : api::Health::unhealthy;
  }
  const TargetFacts facts = facts_of(resolution, {{0, endpoint}, {1, endpoint}});
  EXPECT_EQ(facts.targets, 1);
  EXPECT_EQ(facts.unhealthy, 1);
  EXPECT_EQ(facts.serving, 1);
}

}  // namespace
}  // namespace isthmus::infra
