// authentication.k8s.io/v1 TokenRequest: a token of a ServiceAccount, made by the API server for
// who may ask for it. It is created below the account and never stored; the answer holds the token.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"
#include "isthmus/kube/api/meta.h"

namespace isthmus::kube {

struct ServiceAccount {
  static constexpr ResourceType resource{"v1", "ServiceAccount", "serviceaccounts", true};
};

// The body of a creation.
std::string service_account_body(const ObjectKey& account);

struct TokenRequest {
  Secret token;
  Duration life;  // From when it was made; a server may give another than was asked for.
};

// The body of the request for a token that is good for so long, by the second.
std::string token_request_body(Duration life);

// lost: not the answer to such a request, or one without a token or a positive life.
Result<TokenRequest> decode_token_request(std::string_view json);

}  // namespace isthmus::kube
