#include "isthmus/kube/api/review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::kube {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(review, asks_whose_a_token_is) {
  EXPECT_EQ(token_review_body(Secret("abc")),
            R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1",)"
            R"("spec":{"token":"abc"}})");
}

TEST(review, a_token_names_its_user) {
  const TokenReview review = decode_token_review(R"({"kind":"TokenReview","status":{
      "authenticated":true,"user":{"username":"system:serviceaccount:a:b","uid":"7",
      "groups":["system:serviceaccounts","system:authenticated"],
      "extra":{"authentication.kubernetes.io/pod-name":["p"]}}}})")
                                 .value();
  EXPECT_TRUE(review.authenticated);
  EXPECT_EQ(review.user.name, "system:serviceaccount:a:b");
  EXPECT_EQ(review.user.uid, "7");
  EXPECT_TRUE(review.user.is_in("system:authenticated"));
  EXPECT_FALSE(review.user.is_in("system:masters"));
  EXPECT_EQ(review.user.extra.at("authentication.kubernetes.io/pod-name").front(), "p");
}

TEST(review, a_token_of_nobody_is_an_answer_and_not_an_error) {
  const TokenReview review =
      decode_token_review(
          R"({"kind":"TokenReview","status":{"user":{},"error":"[invalid bearer token]"}})")
          .value();
  EXPECT_FALSE(review.authenticated);
  EXPECT_EQ(review.error, "[invalid bearer token]");
}

TEST(review, what_authenticates_a_user_without_a_name_is_not_believed) {
  EXPECT_EQ(
      decode_token_review(R"({"kind":"TokenReview","status":{"authenticated":true}})").outcome(),
      Outcome::lost);
  for (const char* text :
       {"", "<html>", R"({"kind":"Status","status":{"authenticated":true}})",
        R"({"kind":"TokenReview"})",
        R"({"kind":"TokenReview","status":{"authenticated":"yes","user":{"username":"a"}}})"}) {
    EXPECT_EQ(decode_token_review(text).outcome(), Outcome::lost) << text;
  }
}

TEST(review, asks_whether_a_user_may_read_a_path) {
  const UserInfo user{.name = "a", .uid = "7", .groups = {"g"}, .extra = {{"scopes", {"x"}}}};
  EXPECT_EQ(access_review_body(user, "get", "/metrics"),
            R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":)"
            R"({"user":"a","nonResourceAttributes":{"verb":"get","path":"/metrics"},)"
            R"("uid":"7","groups":["g"],"extra":{"scopes":["x"]}}})");
  EXPECT_THAT(access_review_body({.name = "a"}, "get", "/"), Not(HasSubstr("groups")));
}

TEST(review, only_a_clear_yes_is_a_yes) {
  const auto allows = [](std::string_view status) {
    return decode_access_review(R"({"kind":"SubjectAccessReview","status":)" + std::string(status) +
                                "}")
        .value()
        .allowed;
  };
  EXPECT_TRUE(allows(R"({"allowed":true,"reason":"RBAC: allowed"})"));
  EXPECT_FALSE(allows(R"({"allowed":false})"));
  EXPECT_FALSE(allows(R"({"allowed":true,"denied":true})"));
  EXPECT_FALSE(allows("{}"));
  EXPECT_EQ(decode_access_review(R"({"kind":"SubjectAccessReview"})").outcome(), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::kube
