// The tokens of a ServiceAccount, as which one part of a program speaks to the API server:
// requested from it, renewed in time, and requested anew when the server refuses one.
//
// Nothing is asked for before somebody needs it, and one request at a time. The account is made
// where it is missing, as upstream's managers do.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "isthmus/base/backoff.h"
#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api/token_request.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/client.h"

namespace isthmus::kube {

// A resource; everything it is given outlives it.
class ServiceAccountTokens final : public TokenSource {
 public:
  static constexpr Duration kLife = std::chrono::hours(1);
  static constexpr Duration kLifeMin = std::chrono::minutes(10);  // No renewal is due sooner.

  // `api` may create tokens of the account, and the account.
  ServiceAccountTokens(ApiDoor& api, ObjectKey account, const Clock& clock, Random& random,
                       Logger& log);

  // Sees to it that token() has one: ok at once for four fifths of its life; then, or when there is
  // none, a new one is asked for. While an old one is still good, the failure to get a new one is
  // no error. Else: denied, busy or lost, never that something is absent; and for a pause after a
  // failure (1 s doubling to 1 min) the same answer without asking again.
  Task<Result<>> ensure();

  // denied: there is none; call ensure() first.
  Result<Secret> token() override;
  void rejected(const Secret& token) override;

 private:
  struct Asking;

  bool is_due() const;
  bool is_good() const;
  Task<Result<>> ask();
  Task<Result<TokenRequest>> request();

  ApiDoor& api_;
  const ObjectKey account_;
  const std::string collection_;  // "serviceaccounts/NAME/token": where tokens are created.
  const Clock& clock_;
  Random& random_;
  Logger& log_;

  Secret token_;
  Moment made_at_{};
  Duration life_{};

  bool is_asking_ = false;
  Signal asked_;  // While is_asking_: set when that is over.
  std::optional<Error> failure_;
  unsigned failures_ = 0;
  Moment again_at_{};
};

// A door that has a token of the account before every call. `next` sends what token() answers.
class AccountApi final : public ApiDoor {
 public:
  AccountApi(ApiDoor& next, ServiceAccountTokens& tokens) : next_(next), tokens_(tokens) {}

  Task<Result<std::string>> get(ObjectName object) override;
  Task<Result<std::string>> list(ListRequest request) override;
  Task<Result<std::unique_ptr<WatchStream>>> watch(WatchRequest request) override;
  Task<Result<std::string>> create(CreateRequest request) override;
  Task<Result<std::string>> patch(PatchRequest request) override;
  Task<Result<>> remove(DeleteRequest request) override;

 private:
  // Asks for a token where none is good, then makes the call, which does nothing before.
  template <class T>
  Task<Result<T>> with_token(Task<Result<T>> call);

  ApiDoor& next_;
  ServiceAccountTokens& tokens_;
};

}  // namespace isthmus::kube
