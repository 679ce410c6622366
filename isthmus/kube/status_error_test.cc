#include "isthmus/kube/status_error.h"

#include <gtest/gtest.h>

#include "isthmus/kube/api/node.h"

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;

const ObjectName kNode{Node::resource, {"", "n1"}};

Outcome outcome_of(Status status) { return error_of(status, kNode).outcome; }

TEST(status_error, is_absent_only_for_the_very_object_asked_for) {
  EXPECT_EQ(outcome_of({.reason = "NotFound", .code = 404, .name = "n1", .kind = "nodes"}),
            Outcome::absent);
  EXPECT_EQ(outcome_of({.reason = "NotFound", .code = 404, .name = "n2", .kind = "nodes"}),
            Outcome::lost);
  EXPECT_EQ(outcome_of({.reason = "NotFound", .code = 404, .name = "n1", .kind = "services"}),
            Outcome::lost);
  EXPECT_EQ(outcome_of({.reason = "NotFound", .code = 404}), Outcome::lost)
      << "the server does not know the resource";
}

TEST(status_error, of_what_is_made_below_an_object_is_about_that_object) {
  const ObjectName below{{"v1", "TokenRequest", "serviceaccounts/a/token", true}, {"ns", "a"}};
  Status status{.reason = "NotFound", .code = 404, .name = "a", .kind = "serviceaccounts"};
  EXPECT_EQ(error_of(status, below).outcome, Outcome::absent);
  status.name = "b";
  EXPECT_EQ(error_of(status, below).outcome, Outcome::lost);
}

TEST(status_error, is_never_absent_where_no_object_was_asked_for) {
  const Status status{.reason = "NotFound", .code = 404, .name = "", .kind = "nodes"};
  EXPECT_EQ(error_of(status, {Node::resource, {}}).outcome, Outcome::lost);
}

TEST(status_error, tells_what_the_caller_should_do) {
  const std::pair<int, Outcome> table[] = {
      {400, Outcome::invalid},     {401, Outcome::denied},      {403, Outcome::denied},
      {404, Outcome::lost},        {405, Outcome::unsupported}, {406, Outcome::unsupported},
      {409, Outcome::conflict},    {410, Outcome::conflict},    {413, Outcome::invalid},
      {415, Outcome::unsupported}, {422, Outcome::invalid},     {429, Outcome::busy},
      {500, Outcome::busy},        {503, Outcome::busy},        {504, Outcome::busy},
      {302, Outcome::lost},        {0, Outcome::lost}};
  for (const auto& [code, outcome] : table) {
    EXPECT_EQ(outcome_of({.reason = "Whatever", .code = code}), outcome) << code;
  }
}

TEST(status_error, takes_a_version_that_is_gone_or_not_there_yet_for_a_conflict) {
  EXPECT_EQ(outcome_of({.reason = "Expired", .code = 410}), Outcome::conflict);
  EXPECT_EQ(
      outcome_of(
          {.reason = "Timeout", .code = 504, .causes = {{.reason = "ResourceVersionTooLarge"}}}),
      Outcome::conflict);
}

TEST(status_error, waits_as_told_but_a_minute_at_most) {
  EXPECT_EQ(error_of({.code = 429, .retry_after = 3s}, kNode).retry_after, 3s);
  EXPECT_EQ(error_of({.code = 429, .retry_after = 24h}, kNode).retry_after, 60s);
  EXPECT_EQ(error_of({.code = 409, .retry_after = 3s}, kNode).retry_after, 0s);
}

}  // namespace
}  // namespace isthmus::kube
