#include "isthmus/infra/object_requests.h"

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
  auto back = PageToken::parse(token.text("rack=7"), "rack=7", is_uid);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->revision, 42u);
  EXPECT_EQ(back->after, "m.1_a-b");
}

TEST(page_token, of_another_selector_or_making_is_none_of_ours) {
  PageToken token{42, "m1"};
  EXPECT_FALSE(PageToken::parse(token.text("rack=7"), "", is_uid));
  for (std::string_view text : {"", "nonsense", "1.42", "1.x.811c9dc5.m1", "2.42.811c9dc5.m1",
                                "1.42.811c9dc5.", "1.-1.811c9dc5.m1", "1.42.811c9dc5.a/b"}) {
    EXPECT_FALSE(PageToken::parse(text, "", is_uid)) << text;
  }
  EXPECT_TRUE(PageToken::parse("1.42.811c9dc5.m1", "", is_uid));
}

TEST(list_request, has_defaults) {
  auto request = read_list_request(target("/v1/instances"), is_uid);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->limit, 200u);
  EXPECT_FALSE(request->token);
  EXPECT_TRUE(request->selector.matches({}));
}

TEST(list_request, all_wrong_parameters_are_named_at_once) {
  auto request = read_list_request(
      target("/v1/instances?limit=0&labelSelector=a%20b&continue=x&dryRun=true&limit=5"), is_uid);
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().suffix(), problem::invalid_request);
  EXPECT_EQ(wrong_of(request.error()),
            (std::vector<std::string>{"dryRun", "limit", "labelSelector", "continue"}));
  for (std::string_view limit : {"1001", "x", "", "-1", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(read_list_request(target("/v1/instances?limit=" + std::string(limit)), is_uid))
        << limit;
  }
  EXPECT_EQ(read_list_request(target("/v1/instances?limit=1000"), is_uid)->limit, 1000u);
}

TEST(watch_request, needs_a_revision) {
  EXPECT_EQ(read_watch_request(target("/v1/watch?from=0")).value(), 0u);
  for (std::string_view query :
       {"", "?from=", "?from=x", "?from=-1", "?from=1&extra=1", "?from=99999999999999999"}) {
    EXPECT_FALSE(read_watch_request(target("/v1/watch" + std::string(query)))) << query;
  }
}

TEST(preconditions, are_read_from_the_headers) {
  auto of = [](net::Headers headers) { return read_preconditions(headers); };
  EXPECT_EQ(of({{"If-Match", "\"42\""}})->revision, 42u);
  EXPECT_TRUE(of({{"if-match", " * "}})->exists);
  EXPECT_TRUE(of({{"If-None-Match", "*"}})->absent);
  for (std::string_view tag : {"42", "\"\"", "\"x\"", "W/\"42\"", "\"1\", \"2\"", ""}) {
    auto wrong = of({{"If-Match", std::string(tag)}});
    ASSERT_FALSE(wrong) << tag;
    EXPECT_EQ(wrong_of(wrong.error()), (std::vector<std::string>{"If-Match"}));
  }
  EXPECT_FALSE(of({{"If-None-Match", "\"42\""}}));
  EXPECT_TRUE(refuse_parameters(target("/v1?dryRun=true")));
}

TEST(page_token, goes_on_after_what_its_list_is_ordered_by) {
  PageToken token{42, "2001:db8::1"};
  EXPECT_EQ(PageToken::parse(token.text(""), "", is_ip)->after, "2001:db8::1");
  EXPECT_FALSE(PageToken::parse(token.text(""), "", is_name));
  EXPECT_FALSE(read_plain_list_request(target("/v1?labelSelector=a"), is_name));
}

TEST(write_request, may_be_a_dry_run) {
  auto of = [](std::string_view text) { return read_write_request(target(text), {}); };
  EXPECT_FALSE(of("/v1")->dry_run);
  EXPECT_FALSE(of("/v1?dryRun=false")->dry_run);
  EXPECT_TRUE(of("/v1?dryRun=true")->dry_run);
  EXPECT_FALSE(of("/v1?dryRun=yes"));
  auto wrong = read_write_request(target("/v1?dryRun=&x=1"), {{"If-Match", "1"}});
  EXPECT_EQ(wrong_of(wrong.error()), (std::vector<std::string>{"x", "dryRun", "If-Match"}));
}

TEST(write_request, only_a_load_balancers_put_prefers_addresses) {
  auto of = [](std::string_view query) {
    return read_balancer_put_request(target("/v1?" + std::string(query)), {});
  };
  EXPECT_TRUE(of("")->preferred.empty());
  BalancerPutRequest both = of("preferAddresses=192.0.2.7,2001:DB8::1&dryRun=true").value();
  EXPECT_EQ(both.preferred, (std::vector{*parse_ip("192.0.2.7"), *parse_ip("2001:db8::1")}));
  EXPECT_TRUE(both.write.dry_run);
  EXPECT_EQ(of("preferAddresses=192.0.2.1%2c192.0.2.2")->preferred.size(), 2u);
  EXPECT_FALSE(read_write_request(target("/v1?preferAddresses=192.0.2.7"), {}));
}

TEST(write_request, every_address_that_is_none_is_named) {
  auto of = [](std::string_view list) {
    auto request =
        read_balancer_put_request(target("/v1?preferAddresses=" + std::string(list)), {});
    return request ? std::vector<std::string>{} : wrong_of(request.error());
  };
  const std::vector<std::string> once{"preferAddresses"};
  EXPECT_EQ(of(""), once);
  EXPECT_EQ(of("192.0.2.1,"), once);
  EXPECT_EQ(of("192.0.2.1,web,192.0.2.0/24"), (std::vector{once[0], once[0]}));
  EXPECT_EQ(of("1.1.1.1,1.1.1.2,1.1.1.3,1.1.1.4,1.1.1.5,1.1.1.6,1.1.1.7,1.1.1.8"),
            std::vector<std::string>{});
  EXPECT_EQ(of("1.1.1.1,1.1.1.2,1.1.1.3,1.1.1.4,1.1.1.5,1.1.1.6,1.1.1.7,1.1.1.8,1.1.1.9"), once);
}

TEST(write_request, a_wrong_header_is_not_called_a_query) {
  auto header = read_write_request(target("/v1?dryRun=true"), {{"If-Match", "1"}});
  EXPECT_EQ(header.error().detail, "If-Match is wrong");
  auto both = read_write_request(target("/v1?x=1"), {{"If-Match", "1"}});
  EXPECT_EQ(both.error().detail, "the query and If-Match are wrong");
  EXPECT_EQ(wrong_of(both.error()), (std::vector<std::string>{"x", "If-Match"}));
}

TEST(wait_request, counts_generations_from_one) {
  EXPECT_TRUE(read_wait_request(target("/v1?waitFor=Ready&generation=1")));
  auto none = read_wait_request(target("/v1?waitFor=Ready&generation=0"));
  ASSERT_FALSE(none);
  EXPECT_EQ(wrong_of(none.error()), std::vector<std::string>{"generation"});
}

TEST(body, that_is_encoded_is_refused) {
  auto of = [](net::Headers headers) {
    std::optional<api::Problem> refusal = refuse_body(
        {.method = "PUT", .target = "/", .headers = std::move(headers), .body = "x"}, 1);
    return refusal ? std::string(refusal->suffix()) : "";
  };
  EXPECT_EQ(of({}), "");
  EXPECT_EQ(of({{"Content-Encoding", "Identity"}}), "");
  EXPECT_EQ(of({{"Content-Encoding", "gzip"}}), problem::unsupported_media);
  EXPECT_EQ(of({{"Content-Encoding", "identity"}, {"Content-Encoding", "br"}}),
            problem::unsupported_media);
}

TEST(wait_request, names_a_condition_and_has_defaults) {
  auto of = [](std::string_view query) {
    return read_wait_request(target("/v1?" + std::string(query)));
  };
  EXPECT_FALSE(of("").value());
  WaitRequest wait = of("waitFor=Ready").value().value();
  EXPECT_EQ(wait.condition, "Ready");
  EXPECT_FALSE(wait.generation);
  EXPECT_EQ(wait.timeout, kWaitDefault);
  WaitRequest all = of("waitFor=Programmed&generation=7&timeout=1m0s").value().value();
  EXPECT_EQ(all.generation, 7u);
  EXPECT_EQ(all.timeout, kWaitMax);
}

TEST(wait_request, everything_wrong_is_named_at_once) {
  auto wrong = read_wait_request(target("/v1?waitFor=ready&generation=x&timeout=61s&y"));
  EXPECT_EQ(wrong_of(wrong.error()),
            (std::vector<std::string>{"y", "waitFor", "generation", "timeout"}));
  auto alone = read_wait_request(target("/v1?generation=7&timeout=1s"));
  EXPECT_EQ(wrong_of(alone.error()), (std::vector<std::string>{"generation", "timeout"}));
}

}  // namespace
}  // namespace isthmus::infra
