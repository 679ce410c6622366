#include "isthmus/infra/api/problem.h"

#include <gtest/gtest.h>

namespace isthmus::infra::api {
namespace {

Problem a_problem() {
  Problem problem = make_problem(problem::invalid_spec, "2 fields are wrong");
  problem.instance = "/v1/instances/m1";
  problem.errors = {{"/spec/type", "expected a label value"}, {"/metadata/name", "is missing"}};
  return problem;
}

TEST(problem, is_read_as_it_was_written) {
  Problem written = a_problem();
  written.retry_after_s = 3;
  EXPECT_EQ(decode_problem(encode(written), 422).value(), written);
}

TEST(problem, takes_status_title_and_reason_from_its_type) {
  Problem retired = make_problem(problem::instance_retired, "retired in May");
  EXPECT_EQ(retired.type, "https://isthmus.dev/problems/instance-retired");
  EXPECT_EQ(retired.suffix(), problem::instance_retired);
  EXPECT_EQ(retired.status, 404);
  EXPECT_EQ(retired.reason, "InstanceRetired");
  EXPECT_FALSE(retired.retryable);
  EXPECT_TRUE(make_problem(problem::unavailable, "").retryable);
}

TEST(problem, of_a_type_unknown_to_us_is_still_read) {
  Problem read =
      decode_problem(R"({"type":"https://other/x","status":409,"new":[1]})", 409).value();
  EXPECT_EQ(read.suffix(), "https://other/x");
  EXPECT_EQ(read.status, 409);
}

TEST(problem, a_page_of_a_proxy_is_lost_and_never_not_found) {
  for (std::string_view body : {"<html>404 Not Found</html>", "", "{}", R"({"status":404})",
                                R"({"type":"","status":404})", R"({"type":"x","status":"404"})"}) {
    EXPECT_EQ(decode_problem(body, 404).outcome(), Outcome::lost) << body;
  }
}

TEST(problem, that_contradicts_the_answers_status_is_lost) {
  EXPECT_EQ(decode_problem(encode(a_problem()), 404).outcome(), Outcome::lost);
}

TEST(problem, makes_one_line_for_people) {
  EXPECT_EQ(to_sentence(a_problem()),
            "InvalidSpec: 2 fields are wrong (/spec/type: expected a label value; "
            "/metadata/name: is missing)");
}

}  // namespace
}  // namespace isthmus::infra::api
