// authentication/v1 TokenReview and authorization/v1 SubjectAccessReview: questions that a server
// asks the API server about its own callers. They are created and never stored; the answer to the
// creation is the verdict.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"
#include "isthmus/kube/api/meta.h"

namespace isthmus::kube {

// Somebody, as Kubernetes knows people and programs.
struct UserInfo {
  std::string name = {};
  std::string uid = {};
  std::vector<std::string> groups = {};
  std::map<std::string, std::vector<std::string>> extra = {};

  bool is_in(std::string_view group) const;

  friend bool operator==(const UserInfo&, const UserInfo&) = default;
};

// Whose token is this?
struct TokenReview {
  static constexpr ResourceType resource{"authentication.k8s.io/v1", "TokenReview", "tokenreviews",
                                         false};

  bool authenticated = false;
  UserInfo user = {};      // Of an authenticated one.
  std::string error = {};  // Why not; for logs.
};

// The body of the creation. It holds the token.
std::string token_review_body(const Secret& token);

// lost: not such a review, or one that authenticates nobody by name.
Result<TokenReview> decode_token_review(std::string_view json);

// May this user do that? Only about paths that are no resources, such as /metrics.
struct SubjectAccessReview {
  static constexpr ResourceType resource{"authorization.k8s.io/v1", "SubjectAccessReview",
                                         "subjectaccessreviews", false};

  bool allowed = false;
  std::string reason = {};  // For logs.
};

// `verb` is the HTTP method in lower case.
std::string access_review_body(const UserInfo& user, std::string_view verb, std::string_view path);

// lost: not such a review.
Result<SubjectAccessReview> decode_access_review(std::string_view json);

}  // namespace isthmus::kube
