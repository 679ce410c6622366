#include "isthmus/infra/responses.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

TEST(responses, a_problem_says_when_to_come_back) {
  api::Problem busy = problem_of(Error{Outcome::busy, "others write", 2500ms}, true);
  net::Response response = problem_response(busy);
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers.find("content-type"), "application/problem+json");
  EXPECT_EQ(response.headers.find("retry-after"), "3");
  EXPECT_EQ(api::decode_problem(response.body, 503).value(), busy);
  EXPECT_TRUE(busy.retryable);
}

TEST(responses, a_failing_store_is_unavailable_and_keeps_its_words_to_this_machine) {
  const Error error{Outcome::lost, "/var/lib/infra.db: disk is full", {}};
  api::Problem problem = problem_of(error, false);
  EXPECT_EQ(problem.suffix(), api::problem::unavailable);
  EXPECT_EQ(problem.detail.find("/var"), std::string::npos);
  EXPECT_EQ(problem.retry_after_s, 1u);
  EXPECT_EQ(problem_of(error, true).detail, "the store failed: /var/lib/infra.db: disk is full");
}

TEST(responses, a_revision_out_of_the_history_is_gone) {
  EXPECT_EQ(problem_of(Error{kRevisionGone, "revision 3", {}}, true).status, 410);
}

TEST(responses, an_entity_tag_is_quoted) { EXPECT_EQ(entity_tag(42), "\"42\""); }

}  // namespace
}  // namespace isthmus::infra
