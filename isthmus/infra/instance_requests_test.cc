#include "isthmus/infra/instance_requests.h"

#include <gtest/gtest.h>

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

net::Target target(std::string_view text) { return net::parse_target(text).value(); }

std::vector<std::string> wrong_of(const api::Problem& problem) {
  std::vector<std::string> names;
  for (const api::FieldError& error : problem.errors) names.push_back(error.pointer);
  return names;
}

TEST(page_token, comes_back_as_it_was_given_out) {
  PageToken token{42, "m.1_a-b"};
  auto back = PageToken::parse(token.text("rack=7"), "rack=7");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->revision, 42u);
  EXPECT_EQ(back->after, "m.1_a-b");
}

TEST(page_token, of_another_selector_or_making_is_none_of_ours) {
  PageToken token{42, "m1"};
  EXPECT_FALSE(PageToken::parse(token.text("rack=7"), ""));
  for (std::string_view text : {"", "nonsense", "1.42", "1.x.811c9dc5.m1", "2.42.811c9dc5.m1",
                                "1.42.811c9dc5.", "1.-1.811c9dc5.m1", "1.42.811c9dc5.a/b"}) {
    EXPECT_FALSE(PageToken::parse(text, "")) << text;
  }
  EXPECT_TRUE(PageToken::parse("1.42.811c9dc5.m1", ""));
}

TEST(list_request, has_defaults) {
  auto request = read_list_request(target("/v1/instances"));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->limit, 200u);
  EXPECT_FALSE(request->token);
  EXPECT_TRUE(request->selector.matches({}));
}

TEST(list_request, all_wrong_parameters_are_named_at_once) {
  auto request = read_list_request(
      target("/v1/instances?limit=0&labelSelector=a%20b&continue=x&dryRun=true&limit=5"));
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().suffix(), problem::invalid_request);
  EXPECT_EQ(wrong_of(request.error()),
            (std::vector<std::string>{"dryRun", "limit", "labelSelector", "continue"}));
  for (std::string_view limit : {"1001", "x", "", "-1", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(read_list_request(target("/v1/instances?limit=" + std::string(limit)))) << limit;
  }
  EXPECT_EQ(read_list_request(target("/v1/instances?limit=1000"))->limit, 1000u);
}

TEST(watch_request, needs_a_revision) {
  EXPECT_EQ(read_watch_request(target("/v1/watch?from=0")).value(), 0u);
  for (std::string_view query :
       {"", "?from=", "?from=x", "?from=-1", "?from=1&extra=1", "?from=99999999999999999"}) {
    EXPECT_FALSE(read_watch_request(target("/v1/watch" + std::string(query)))) << query;
  }
}

TEST(preconditions, are_read_from_the_headers) {
  auto of = [](net::Headers headers) { return read_preconditions(target("/v1"), headers); };
  EXPECT_EQ(of({{"If-Match", "\"42\""}})->revision, 42u);
  EXPECT_TRUE(of({{"if-match", " * "}})->exists);
  EXPECT_TRUE(of({{"If-None-Match", "*"}})->absent);
  for (std::string_view tag : {"42", "\"\"", "\"x\"", "W/\"42\"", "\"1\", \"2\"", ""}) {
    auto wrong = of({{"If-Match", std::string(tag)}});
    ASSERT_FALSE(wrong) << tag;
    EXPECT_EQ(wrong_of(wrong.error()), (std::vector<std::string>{"If-Match"}));
  }
  EXPECT_FALSE(of({{"If-None-Match", "\"42\""}}));
  EXPECT_FALSE(read_preconditions(target("/v1?dryRun=true"), {}));
}

TEST(instance_body, is_read_or_refused_for_one_clear_reason) {
  auto of = [](std::string body, std::string type) {
    net::Request request;
    request.headers.add("Content-Type", std::move(type));
    request.body = std::move(body);
    auto read = read_instance_body(request, "m1");
    return std::string(read ? "" : read.error().suffix());
  };
  std::string good = R"({"metadata":{"name":"n"}})";
  EXPECT_EQ(of(good, "application/json"), "");
  EXPECT_EQ(of(good, "Application/JSON; charset=utf-8"), "");
  EXPECT_EQ(of(good, "text/plain"), problem::unsupported_media);
  EXPECT_EQ(of("{", "application/json"), problem::invalid_request);
  EXPECT_EQ(of("{}", "application/json"), problem::invalid_spec);
  EXPECT_EQ(of(std::string(kInstanceBodyMax + 1, ' '), "application/json"),
            problem::body_too_large);
}

}  // namespace
}  // namespace isthmus::infra
