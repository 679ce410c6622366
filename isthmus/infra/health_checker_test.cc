#include "isthmus/infra/health_checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/health_checker_testing.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;
using api::Health;

TEST(health_checker, a_single_new_target_is_asked_at_once) {
  CheckedWorld world;
  world.checker.want("prod/web", {check(1)});
  world.settle();
  EXPECT_EQ(world.prober.asked(1), std::vector<Duration>{0s});
}

TEST(health_checker, what_was_never_judged_or_is_not_wanted_is_unknown) {
  CheckedWorld world;
  world.checker.want("prod/web", {check(1)});
  EXPECT_EQ(world.checker.verdict(check(1)), Verdict{});
  EXPECT_EQ(world.checker.verdict(check(2)), Verdict{});
  world.settle();
  EXPECT_EQ(world.health(1), Health::unknown) << "one good answer of two";
}

TEST(health_checker, rise_good_answers_in_a_row_make_a_target_healthy) {
  CheckedWorld world;
  world.checker.want("prod/web", {check(1, {.rise = 3})});
  world.advance(10s - 1ms);
  EXPECT_EQ(world.checker.verdict(check(1, {.rise = 3})).health, Health::unknown);
  world.advance(1ms);
  EXPECT_EQ(world.checker.verdict(check(1, {.rise = 3})).health, Health::healthy);
}

TEST(health_checker, fall_bad_answers_in_a_row_make_it_unhealthy_with_a_reason) {
  CheckedWorld world;
  world.checker.want("prod/web", {check(1)});
  world.advance(5s);
  ASSERT_EQ(world.health(1), Health::healthy);
  world.prober.answers[1] = {.result = refused()};
  world.advance(5s);
  EXPECT_EQ(world.health(1), Health::healthy);
  world.advance(5s);
  const Verdict unhealthy = {.health = Health::unhealthy, .reason = "connection refused"};
  EXPECT_EQ(world.checker.verdict(check(1)), unhealthy);
}

TEST(health_checker, the_reason_is_that_of_the_last_bad_answer) {
  CheckedWorld world;
  world.prober.answers[1] = {.result = refused()};
  world.checker.want("prod/web", {check(1)});
  world.advance(5s);
  world.prober.answers[1] = {.result = fail(Outcome::lost, "answered 503")};
  world.advance(5s);
  EXPECT_EQ(world.checker.verdict(check(1)).reason, "answered 503");
  world.prober.answers[1] = {};
  world.advance(5s);
  EXPECT_EQ(world.checker.verdict(check(1)).reason, "answered 503") << "one good one of two";
  world.advance(5s);
  EXPECT_EQ(world.checker.verdict(check(1)), (Verdict{.health = Health::healthy, .reason = ""}));
}

TEST(health_checker, a_target_that_flaps_keeps_its_last_verdict) {
  CheckedWorld world;
  world.checker.want("prod/web", {check(1)});
  world.advance(5s);
  ASSERT_EQ(world.health(1), Health::healthy);
  world.checker.take_changed();
  for (int round = 0; round < 50; ++round) {
    world.prober.answers[1].result = round % 2 == 0 ? refused() : Result<>{};
    world.advance(5s);
    ASSERT_EQ(world.health(1), Health::healthy) << round;
  }
  EXPECT_FALSE(world.checker.changed().is_set());
}

TEST(health_checker, the_timeout_bounds_the_whole_answer) {
  CheckedWorld world;
  world.prober.answers[1] = {.after = 2s - 1ms, .result = {}};
  world.prober.answers[2] = {.after = 1h, .result = {}};
  world.checker.want("prod/web", {check(1), check(2)});
  world.advance(7s + 10ms);
  EXPECT_EQ(world.health(1), Health::healthy);
  const Verdict silent = {.health = Health::unhealthy, .reason = "no answer in time"};
  EXPECT_EQ(world.checker.verdict(check(2)), silent);
  EXPECT_EQ(world.prober.under_way, 0U);
}

TEST(health_checker, silent_targets_delay_nobody) {
  CheckedWorld world;
  std::vector<Check> checks;
  for (std::uint32_t number = 1; number <= 100; ++number) {
    checks.push_back(check(number));
    if (number > 10) world.prober.answers[number] = {.after = 1h, .result = {}};
  }
  world.checker.want("prod/web", checks);
  world.advance(60s);
  for (std::uint32_t number = 1; number <= 10; ++number) {
    const std::vector<Duration> asked = world.prober.asked(number);
    ASSERT_GE(asked.size(), 12U);
    for (std::size_t i = 1; i < asked.size(); ++i) EXPECT_EQ(asked[i] - asked[i - 1], 5s);
  }
}

TEST(health_checker, nothing_drifts_in_an_hour) {
  CheckedWorld world;
  world.prober.answers[1] = {.after = 1'234'567ns, .result = {}};
  world.checker.want("prod/web", {check(1)});
  world.advance(1h);
  const std::vector<Duration> asked = world.prober.asked(1);
  ASSERT_EQ(asked.size(), 721U);
  EXPECT_EQ(asked.back() - asked.front(), 1h);
}

TEST(health_checker, an_answer_that_takes_longer_than_the_interval_keeps_to_its_beat) {
  CheckedWorld world;
  const Check slow = check(1, {.interval = 1s, .timeout = 3s});
  world.prober.answers[1] = {.after = 1500ms, .result = {}};
  world.checker.want("prod/web", {slow});
  world.advance(6s);
  EXPECT_EQ(world.prober.asked(1), (std::vector<Duration>{0s, 2s, 4s, 6s}));
}

TEST(health_checker, equal_checks_are_made_once) {
  CheckedWorld world;
  for (int user = 0; user < 1000; ++user) {
    world.checker.want("prod/web-" + std::to_string(user), {check(1), check(2), check(1)});
  }
  world.advance(5s);
  EXPECT_EQ(world.prober.asked(1).size(), 2U);
  EXPECT_EQ(world.metric(R"(infra_health_checks{kind="http"})"), "2");
}

TEST(health_checker, a_check_goes_on_until_its_last_user_has_gone) {
  CheckedWorld world;
  world.checker.want("prod/a", {check(1)});
  world.checker.want("prod/b", {check(1)});
  world.advance(5s);
  world.checker.want("prod/a", {});
  EXPECT_EQ(world.health(1), Health::healthy);
  world.advance(5s);
  EXPECT_EQ(world.prober.asked(1).size(), 3U);
  world.checker.want("prod/b", {});
  EXPECT_EQ(world.health(1), Health::unknown);
  world.advance(1h);
  EXPECT_EQ(world.prober.asked(1).size(), 3U);
  EXPECT_EQ(world.metric(R"(infra_health_checks{kind="http"})"), "0");
}

TEST(health_checker, another_wish_leaves_what_stays_undisturbed) {
  CheckedWorld world;
  world.checker.want("prod/web", {check(1), check(2)});
  world.advance(7s);
  ASSERT_EQ(world.health(1), Health::healthy);
  world.checker.want("prod/web", {check(1), check(3)});
  EXPECT_EQ(world.health(1), Health::healthy);
  world.advance(3s);
  EXPECT_EQ(world.prober.asked(1), (std::vector<Duration>{0s, 5s, 10s}));
  EXPECT_EQ(world.prober.asked(3), std::vector<Duration>{7s});
}

TEST(health_checker, another_timing_is_another_check) {
  CheckedWorld world;
  world.checker.want("prod/web", {check(1)});
  world.advance(5s);
  const Check fast = check(1, {.interval = 1s});
  world.checker.want("prod/web", {fast});
  EXPECT_EQ(world.checker.verdict(fast).health, Health::unknown);
  world.advance(1s);
  EXPECT_EQ(world.checker.verdict(fast).health, Health::healthy);
}

TEST(health_checker, what_is_no_longer_wanted_ends_while_it_is_under_way) {
  CheckedWorld world;
  world.prober.answers[1] = {.after = 1s, .result = {}};
  world.checker.want("prod/web", {check(1)});
  world.advance(500ms);
  ASSERT_EQ(world.prober.under_way, 1U);
  world.checker.want("prod/web", {});
  world.settle();
  EXPECT_EQ(world.prober.under_way, 0U);
  EXPECT_EQ(world.prober.cut_short.size(), 1U);
}

TEST(health_checker, checks_under_way_end_in_the_order_in_which_they_were_wanted) {
  CheckedWorld world;
  for (std::uint32_t number : {1U, 2U, 3U})
    world.prober.answers[number] = {.after = 1s, .result = {}};
  world.checker.want("first", {check(1), check(2), check(3)});
  world.checker.want("then", {check(3), check(1), check(2), check(1)});
  world.checker.want("first", {});
  world.advance(100ms);
  ASSERT_EQ(world.prober.under_way, 3U);
  world.checker.want("then", {});
  world.settle();
  EXPECT_EQ(world.prober.cut_short, (std::vector<std::uint32_t>{3, 1, 2}));
}

TEST(health_checker, what_ends_and_begins_in_one_turn_is_asked_anew) {
  CheckedWorld world;
  world.prober.answers[1] = {.after = 1s, .result = {}};
  world.checker.want("prod/web", {check(1)});
  world.advance(500ms);
  world.checker.want("prod/web", {});
  world.checker.want("prod/web", {check(1)});
  world.advance(1s);
  EXPECT_EQ(world.prober.asked(1).size(), 2U);
  EXPECT_EQ(world.prober.under_way, 0U);
  EXPECT_EQ(world.metric(R"(infra_health_checks_made_total{kind="http",result="ok"})"), "1");
}

TEST(health_checker, what_ends_before_its_probe_has_begun_is_never_asked) {
  CheckedWorld world;
  world.checker.want("prod/web", {check(1)});
  world.checker.want("prod/web", {});
  world.advance(1h);
  EXPECT_TRUE(world.prober.asked(1).empty());
}

TEST(health_checker, who_is_affected_is_told_once_and_by_name) {
  CheckedWorld world;
  world.checker.want("prod/a", {check(1), check(2)});
  world.checker.want("prod/b", {check(2)});
  world.checker.want("prod/c", {check(3)});
  world.advance(5s + 20ms);
  EXPECT_TRUE(world.checker.changed().is_set());
  EXPECT_EQ(world.checker.take_changed(), (std::vector<std::string>{"prod/a", "prod/b", "prod/c"}));
  EXPECT_FALSE(world.checker.changed().is_set());
  EXPECT_TRUE(world.checker.take_changed().empty());

  world.prober.answers[2] = {.result = refused()};
  world.advance(10s + 20ms);
  EXPECT_TRUE(world.checker.changed().is_set());
  EXPECT_EQ(world.checker.take_changed(), (std::vector<std::string>{"prod/a", "prod/b"}));
  world.advance(1h);
  EXPECT_FALSE(world.checker.changed().is_set());
}

TEST(health_checker, what_was_unhealthy_before_a_restart_is_so_until_it_has_answered_well) {
  CheckedWorld world;
  world.checker.want("prod/web", {check(1), check(2)});
  world.checker.assume_unhealthy(check(1), "answered 503");
  world.checker.assume_unhealthy(check(3), "nobody wants it");
  const Verdict known = {.health = Health::unhealthy, .reason = "answered 503"};
  EXPECT_EQ(world.checker.verdict(check(1)), known);
  EXPECT_EQ(world.checker.verdict(check(3)), Verdict{});
  world.advance(1s);
  EXPECT_EQ(world.checker.verdict(check(1)), known);
  EXPECT_FALSE(world.checker.changed().is_set());
  world.advance(5s);
  EXPECT_EQ(world.health(1), Health::healthy);
  world.checker.assume_unhealthy(check(1), "too late");
  EXPECT_EQ(world.health(1), Health::healthy);
  EXPECT_EQ(world.metric("infra_health_checks_unhealthy"), "0");
}

TEST(health_checker, a_host_that_cannot_ask_judges_nobody) {
  CheckedWorld world;
  world.checker.want("prod/web", {check(1)});
  world.advance(5s);
  ASSERT_EQ(world.health(1), Health::healthy);
  world.prober.answers[1] = {.result = fail(Outcome::busy, "too many open files")};
  world.advance(1h);
  EXPECT_EQ(world.health(1), Health::healthy);
  EXPECT_EQ(world.metric(R"(infra_health_checks_made_total{kind="http",result="not_asked"})"),
            "720");
}

TEST(health_checker, what_is_asked_is_what_was_said) {
  CheckedWorld world;
  Check tcp = check(1);
  tcp.how.protocol = api::HealthCheck::Protocol::tcp;
  Check http = check(2);
  http.how.path = "/healthz?full=1";
  world.checker.want("prod/web", {tcp, http});
  world.advance(1s);
  ASSERT_EQ(world.prober.calls.size(), 2U);
  std::ranges::sort(world.prober.calls, {},
                    [](const FakeProber::Call& call) { return call.request.endpoint; });
  EXPECT_EQ(world.prober.calls[0].request.kind, net::ProbeRequest::Kind::tcp);
  EXPECT_EQ(world.prober.calls[0].request.endpoint, (Endpoint{tcp.address, 8080}));
  EXPECT_EQ(world.prober.calls[1].request.kind, net::ProbeRequest::Kind::http);
  EXPECT_EQ(world.prober.calls[1].request.path, "/healthz?full=1");
}

TEST(health_checker, the_end_of_its_scope_ends_everything_and_it_can_go_on_later) {
  CheckedWorld world;
  world.prober.answers[1] = {.after = 1s, .result = {}};
  world.checker.want("prod/web", {check(1), check(2)});
  world.advance(5500ms);
  ASSERT_EQ(world.prober.under_way, 1U);
  world.stop();
  EXPECT_EQ(world.prober.under_way, 0U);
  EXPECT_EQ(world.answer.outcome(), Outcome::cancelled);
  EXPECT_EQ(world.health(1), Health::unknown) << "one good one; what was cut short is no answer";

  world.advance(1min);
  const std::size_t asked = world.prober.calls.size();
  world.start();
  world.advance(6s);
  EXPECT_EQ(world.health(1), Health::healthy);
  EXPECT_EQ(world.prober.calls.size(), asked + 4);
}

TEST(health_checker, a_crash_leaves_nothing_behind) {
  CheckedWorld world;
  for (std::uint32_t number = 1; number <= 50; ++number) {
    world.prober.answers[number] = {.after = 1s, .result = {}};
    world.checker.want("prod/web-" + std::to_string(number), {check(number)});
  }
  world.advance(500ms);
  EXPECT_GT(world.prober.under_way, 0U);
  world.crash();
  EXPECT_EQ(world.prober.under_way, 0U);
}

TEST(health_checker, counts_what_it_does) {
  CheckedWorld world;
  Check tcp = check(3);
  tcp.how.protocol = api::HealthCheck::Protocol::tcp;
  world.prober.answers[2] = {.result = refused()};
  world.prober.answers[3] = {.after = 1h, .result = {}};
  world.checker.want("prod/web", {check(1), check(2), tcp});
  world.advance(12s + 10ms);
  EXPECT_EQ(world.metric(R"(infra_health_checks_made_total{kind="http",result="ok"})"), "3");
  EXPECT_EQ(world.metric(R"(infra_health_checks_made_total{kind="http",result="failed"})"), "3");
  EXPECT_EQ(world.metric(R"(infra_health_checks_made_total{kind="tcp",result="timeout"})"), "3");
  EXPECT_EQ(world.metric(R"(infra_health_checks{kind="tcp"})"), "1");
  EXPECT_EQ(world.metric("infra_health_checks_unhealthy"), "2");
  EXPECT_EQ(world.metric("infra_health_checks_waiting"), "0");
  world.checker.want("prod/web", {});
  EXPECT_EQ(world.metric("infra_health_checks_unhealthy"), "0");
}

}  // namespace
}  // namespace isthmus::infra
