// Who a caller of the secure port is: by its client certificate, by its bearer token, or nobody in
// particular.
//
// Tokens are not judged here: the API server is asked whose one is (TokenReview), and its verdict
// counts for a while. Tokens themselves are not remembered, only their fingerprints.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/app/client_trust.h"
#include "isthmus/app/review_cache.h"
#include "isthmus/base/clock.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/secret.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api/review.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/net/http.h"
#include "isthmus/net/http_server.h"

namespace isthmus::app {

// What a request shows of its sender.
struct Credentials {
  Secret token = {};                           // Of "Authorization: Bearer …"; empty: none.
  std::vector<std::string> certificates = {};  // As in net::Peer.
  std::string network = {};                    // Where it comes from (network_of).
};
Credentials credentials_of(const net::Request& request, const net::Peer& peer);

// Who shows nothing that we could look at.
kube::UserInfo anonymous();

// A resource; everything it is given outlives it.
class Authenticator final {
 public:
  // Either may be null: then certificates, or tokens, are as if they had not been shown.
  Authenticator(const ClientTrust* trust, kube::ApiDoor* reviews, Duration cache_ttl, Loop& loop);

  // Whom the credentials name. denied: what was shown is not good, and why; busy, lost, deadline:
  // nobody could tell, now. A good token makes up for a certificate that is not.
  Task<Result<kube::UserInfo>> identify(Credentials credentials);

 private:
  struct Question {
    std::string fingerprint;
    Secret token;
  };
  using TokenCache = ReviewCache<Question, kube::TokenReview>;

  static Task<Result<kube::TokenReview>> review(kube::ApiDoor& reviews, Secret token);
  Result<kube::UserInfo> by_certificate(const std::vector<std::string>& chain) const;
  Task<Result<kube::UserInfo>> by_token(Secret token, std::string network);

  const ClientTrust* const trust_;
  const Clock& clock_;
  std::optional<TokenCache> tokens_;
};

}  // namespace isthmus::app
