#include "isthmus/kube/api/token_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::kube {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(token_request, asks_for_a_life_in_seconds) {
  EXPECT_EQ(token_request_body(std::chrono::hours(1)),
            R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest",)"
            R"("spec":{"expirationSeconds":3600}})");
}

TEST(token_request, makes_an_account_by_name) {
  EXPECT_EQ(service_account_body({"kube-system", "node-controller"}),
            R"({"apiVersion":"v1","kind":"ServiceAccount",)"
            R"("metadata":{"namespace":"kube-system","name":"node-controller"}})");
}

TEST(token_request, the_servers_word_about_the_life_counts) {
  const Result<TokenRequest> read = decode_token_request(R"({"kind": "TokenRequest",
      "apiVersion": "authentication.k8s.io/v1", "metadata": {"name": "node-controller"},
      "spec": {"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 600},
      "status": {"token": "t0ken", "expirationTimestamp": "2026-11-30T08:00:00Z"}})");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->token.reveal(), "t0ken");
  EXPECT_EQ(read->life, std::chrono::minutes(10));
}

TEST(token_request, what_is_no_token_request_is_lost_and_never_quoted) {
  for (const std::string_view text :
       {R"({"kind": "Status"})", R"({"kind": "TokenRequest", "spec": {"expirationSeconds": 600}})",
        R"({"kind": "TokenRequest", "spec": {"expirationSeconds": 600}, "status": {"token": ""}})",
        R"({"kind": "TokenRequest", "spec": {"expirationSeconds": 0},
            "status": {"token": "s3cret"}})",
        R"({"kind": "TokenRequest", "status": {"token": "s3cret")", "<html>"}) {
    const Result<TokenRequest> read = decode_token_request(text);
    ASSERT_EQ(read.outcome(), Outcome::lost) << text;
    EXPECT_THAT(read.error().message, Not(HasSubstr("s3cret")));
  }
}

}  // namespace
}  // namespace isthmus::kube
