#include "isthmus/providers/infra/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using std::chrono::seconds;

constexpr WallTime kNow{seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z

net::Response problem(std::string_view suffix) {
  const api::Problem details = api::make_problem(suffix, "so it is");
  return {.status = details.status,
          .headers = {{"Content-Type", "application/problem+json"}},
          .body = encode(details)};
}

net::Response page(int status) {
  return {.status = status,
          .headers = {{"Content-Type", "text/html"}},
          .body = "<html><h1>404 Not Found</h1></html>"};
}

// All of them: whoever adds one decides here what it means.
TEST(answers, give_every_problem_its_outcome) {
  struct Row {
    std::string_view suffix;
    Outcome outcome;
  };
  for (const Row& row : {
           // Of one thing, which only says something to whoever asked for that thing.
           Row{api::problem::instance_retired, Outcome::lost},
           Row{api::problem::instance_not_found, Outcome::lost},
           Row{api::problem::load_balancer_not_found, Outcome::lost},
           Row{api::problem::target_set_not_found, Outcome::lost},
           Row{api::problem::pool_not_found, Outcome::lost},
           Row{api::problem::orphan_not_found, Outcome::lost},
           Row{api::problem::path_not_found, Outcome::unsupported},
           Row{api::problem::method_not_allowed, Outcome::unsupported},
           Row{api::problem::unauthenticated, Outcome::denied},
           Row{api::problem::forbidden, Outcome::denied},
           Row{api::problem::not_owner, Outcome::denied},
           Row{api::problem::quota_exceeded, Outcome::denied},
           Row{api::problem::invalid_request, Outcome::invalid},
           Row{api::problem::invalid_spec, Outcome::invalid},
           Row{api::problem::not_offered, Outcome::invalid},
           Row{api::problem::body_too_large, Outcome::invalid},
           Row{api::problem::unsupported_media, Outcome::invalid},
           Row{api::problem::pool_exhausted, Outcome::conflict},
           Row{api::problem::address_in_use, Outcome::conflict},
           Row{api::problem::address_not_in_pool, Outcome::conflict},
           Row{api::problem::deletion_protected, Outcome::conflict},
           Row{api::problem::target_set_in_use, Outcome::conflict},
           Row{api::problem::already_used, Outcome::conflict},
           Row{api::problem::uid_retired, Outcome::conflict},
           Row{api::problem::managed_by_file, Outcome::conflict},
           Row{api::problem::revision_conflict, Outcome::conflict},
           Row{api::problem::revision_gone, Outcome::conflict},
           Row{api::problem::rate_limited, Outcome::busy},
           Row{api::problem::inventory_stale, Outcome::busy},
           Row{api::problem::unavailable, Outcome::busy},
           Row{api::problem::internal, Outcome::lost},
       }) {
    EXPECT_EQ(error_of(problem(row.suffix), kNow).outcome, row.outcome) << row.suffix;
  }
}

// Those that the specification of the API names and our own server does not answer yet.
TEST(answers, take_a_problem_that_others_may_answer_by_its_status_class) {
  struct Row {
    std::string_view suffix;
    int status;
    Outcome outcome;
  };
  for (const Row& row : {
           Row{"ambiguous-request", 422, Outcome::invalid},
           Row{"idempotency-key-missing", 400, Outcome::invalid},
           Row{"idempotency-key-reused", 422, Outcome::invalid},
           Row{"idempotency-conflict", 409, Outcome::conflict},
           Row{"teapot", 418, Outcome::lost},
           Row{"not-implemented", 501, Outcome::unsupported},
           Row{"overloaded", 503, Outcome::busy},
           Row{"strange", 599, Outcome::lost},
       }) {
    api::Problem details = api::make_problem(api::problem::internal, "so it is");
    details.type = std::string(api::kProblemTypePrefix) + std::string(row.suffix);
    details.status = row.status;
    const net::Response told{.status = row.status,
                             .headers = {{"Content-Type", "application/problem+json"}},
                             .body = encode(details)};
    EXPECT_EQ(error_of(told, kNow).outcome, row.outcome) << row.suffix;
  }
}

TEST(answers, believe_a_problem_only_of_the_path_it_speaks_of) {
  api::Problem details = api::make_problem(api::problem::load_balancer_not_found, "none");
  const auto speaks = [&](std::string_view path) { return speaks_of(details, path); };
  EXPECT_EQ(speaks("/v1/a"), std::nullopt);
  details.instance = "https://h/prefix/v1/%61?x=1#id";
  EXPECT_EQ(speaks("/v1/a"), true);
  EXPECT_EQ(speaks("/v1/%61"), true);
  EXPECT_EQ(speaks("/v1/b"), false);
  details.instance = "/v1/%zz";
  EXPECT_EQ(speaks("/v1/a"), false);
}

TEST(answers, take_a_page_of_html_for_no_answer_about_anything) {
  for (const int status : {200, 204, 301, 400, 404, 409, 410, 412, 422, 500, 502, 504}) {
    EXPECT_EQ(error_of(page(status), kNow).outcome, Outcome::lost) << status;
  }
  EXPECT_THAT(error_of(page(404), kNow).message,
              testing::HasSubstr("HTTP 404, text/html: \"<html>"));
}

TEST(answers, believe_anybody_who_refuses_us_or_asks_for_silence) {
  EXPECT_EQ(error_of(page(401), kNow).outcome, Outcome::denied);
  EXPECT_EQ(error_of(page(403), kNow).outcome, Outcome::denied);
  EXPECT_EQ(error_of(page(429), kNow).outcome, Outcome::busy);
  EXPECT_EQ(error_of(page(503), kNow).outcome, Outcome::busy);
}

TEST(answers, read_when_to_come_back_as_seconds_as_date_or_from_the_problem) {
  net::Response limited = problem(api::problem::rate_limited);
  limited.headers.set("Retry-After", "7");
  EXPECT_EQ(error_of(limited, kNow).retry_after, seconds(7));
  limited.headers.set("Retry-After", "Thu, 01 Jan 2026 00:00:30 GMT");
  EXPECT_EQ(error_of(limited, kNow).retry_after, seconds(30));

  api::Problem details = api::make_problem(api::problem::unavailable, "soon");
  details.retry_after_s = 3;
  net::Response told = problem(api::problem::unavailable);
  told.body = encode(details);
  EXPECT_EQ(error_of(told, kNow).retry_after, seconds(3));
}

TEST(answers, do_not_take_a_problem_of_another_status_or_media_type_for_one) {
  net::Response retired = problem(api::problem::instance_retired);
  retired.headers.set("Content-Type", "application/json");
  EXPECT_EQ(error_of(retired, kNow).outcome, Outcome::lost);

  net::Response elsewhere = problem(api::problem::instance_retired);
  elsewhere.status = 410;
  EXPECT_EQ(error_of(elsewhere, kNow).outcome, Outcome::lost);

  net::Response cut = problem(api::problem::instance_retired);
  cut.body.resize(cut.body.size() / 2);
  EXPECT_EQ(error_of(cut, kNow).outcome, Outcome::lost);
}

TEST(answers, take_an_unknown_problem_by_its_status_class) {
  net::Response odd = problem(api::problem::already_used);
  const std::size_t at = odd.body.find("already-used");
  odd.body.replace(at, 12, "moon-is-full");
  EXPECT_EQ(error_of(odd, kNow).outcome, Outcome::conflict);
  net::Response missing = problem(api::problem::instance_retired);
  missing.body.replace(missing.body.find("instance-retired"), 16, "instance-on-moon");
  EXPECT_EQ(error_of(missing, kNow).outcome, Outcome::lost);
}

TEST(answers, speak_of_machines_in_the_words_of_the_contract) {
  const cloud::Instance machine =
      to_cloud("isthmus", {.uid = "7c9e",
                           .name = "node1",
                           .addresses = {{api::AddressType::external_ip, "192.0.2.1"},
                                         {api::AddressType::internal_ip, "10.0.0.1"}},
                           .type = "r640",
                           .region = "home",
                           .zone = "rack-7",
                           .labels = {{"rack", "7"}},
                           .system_uuid = "u",
                           .power = api::Power::stopped,
                           .presence = api::Presence::unknown,
                           .last_confirmed_at = {}});
  EXPECT_EQ(machine, (cloud::Instance{.provider_id = {"isthmus", "7c9e"},
                                      .names = {"node1"},
                                      .system_uuid = "u",
                                      .addresses = {{cloud::AddressType::external_ip, "192.0.2.1"},
                                                    {cloud::AddressType::internal_ip, "10.0.0.1"}},
                                      .type = "r640",
                                      .region = "home",
                                      .zone = "rack-7",
                                      .labels = {{"rack", "7"}},
                                      .power = cloud::Power::stopped,
                                      .presence = cloud::Presence::unknown}));
}

}  // namespace
}  // namespace isthmus::providers::infra
