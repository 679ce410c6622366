// What a caller of the secure port may do: the API server is asked (SubjectAccessReview), and its
// verdict counts for a while.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/app/review_cache.h"
#include "isthmus/base/clock.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api/review.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::app {

struct AuthorizationOptions {
  // For everybody, without a question; one that ends in "*" stands for all that begin so.
  std::vector<std::string> always_allow_paths = {"/healthz", "/readyz", "/livez"};
  Duration authorized_ttl = std::chrono::seconds(10);
  Duration unauthorized_ttl = std::chrono::seconds(10);
};

// A resource; everything it is given outlives it.
class Authorizer final {
 public:
  // `reviews` may be null: then only those pass who need not be asked about.
  Authorizer(kube::ApiDoor* reviews, AuthorizationOptions options, Loop& loop);

  bool is_open_to_all(std::string_view path) const;

  // ok: yes. denied: no, and why, which is for logs; busy, lost, deadline: nobody could tell, now.
  // Members of system:masters may do everything. `verb` is the HTTP method in lower case, `network`
  // where the user asks from (network_of).
  Task<Result<>> check(kube::UserInfo user, std::string verb, std::string path,
                       std::string network);

 private:
  struct Question {
    std::string fingerprint;
    std::string body;
  };
  using VerdictCache = ReviewCache<Question, kube::SubjectAccessReview>;

  static Task<Result<kube::SubjectAccessReview>> review(kube::ApiDoor& reviews, std::string body);

  const AuthorizationOptions options_;
  std::optional<VerdictCache> verdicts_;
};

}  // namespace isthmus::app
