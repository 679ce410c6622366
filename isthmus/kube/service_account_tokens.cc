#include "isthmus/kube/service_account_tokens.h"

#include <algorithm>
#include <utility>

#include "isthmus/kube/tokens.h"

namespace isthmus::kube {
namespace {

constexpr BackoffPolicy kAgain{.start = std::chrono::seconds(1), .cap = std::chrono::minutes(1)};

// "Absent" would say that the object of the call is not there, which nobody has said, and the
// others that the call itself was wrong.
Error refused(Error error, const ObjectKey& account) {
  const bool passes =
      error.outcome == Outcome::busy || error.outcome == Outcome::lost || is_our_own(error.outcome);
  if (!passes) error.outcome = Outcome::denied;
  error.message = "no token of the service account " + to_string(account) + ": " + error.message;
  return error;
}

}  // namespace

// The one request under way. However it ends, those who wait look again.
struct ServiceAccountTokens::Asking {
  explicit Asking(ServiceAccountTokens& owner) : tokens(owner) {
    tokens.is_asking_ = true;
    tokens.asked_.clear();
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() {
    tokens.is_asking_ = false;
    tokens.asked_.set();
  }
  ServiceAccountTokens& tokens;
};

ServiceAccountTokens::ServiceAccountTokens(ApiDoor& api, ObjectKey account, const Clock& clock,
                                           Random& random, Logger& log)
    : api_(api),
      account_(std::move(account)),
      collection_("serviceaccounts/" + account_.name + "/token"),
      clock_(clock),
      random_(random),
      log_(log) {}

Task<Result<>> ServiceAccountTokens::ensure() {
  for (;;) {
    if (!is_due()) co_return Result<>{};
    if (is_good() && (is_asking_ || clock_.now() < again_at_)) co_return Result<>{};
    if (is_asking_) {
      CO_TRY(co_await asked_.wait());
      continue;
    }
    if (failure_ && clock_.now() < again_at_) co_return std::unexpected(*failure_);
    Result<> asked = co_await ask();
    if (asked || is_good()) co_return Result<>{};
    co_return asked;
  }
}

Task<Result<>> ServiceAccountTokens::ask() {
  const Asking asking(*this);
  const Moment sent_at = clock_.now();
  Result<TokenRequest> answer = co_await request();
  if (answer) {
    failures_ = 0;
    failure_.reset();
    token_ = std::move(answer->token);
    made_at_ = sent_at;
    life_ = answer->life;
    co_return Result<>{};
  }
  Error error = refused(std::move(answer.error()), account_);
  if (is_our_own(error.outcome)) co_return std::unexpected(std::move(error));
  if (failures_++ == 0) {
    log_.warning("no token of a service account",
                 {{"account", to_string(account_)}, {"error", error}});
  }
  failure_ = error;
  again_at_ = clock_.now() + backoff_delay(kAgain, failures_, random_);
  co_return std::unexpected(std::move(error));
}

Task<Result<TokenRequest>> ServiceAccountTokens::request() {
  const ResourceType tokens{"v1", "TokenRequest", collection_, true};
  for (bool may_create = true;; may_create = false) {
    Result<std::string> answer =
        co_await api_.create({{tokens, account_}, token_request_body(kLife)});
    if (answer) {
      Result<TokenRequest> read = decode_token_request(*answer);
      if (read) CO_TRY(check_token(read->token.reveal()));
      co_return read;
    }
    if (answer.outcome() != Outcome::absent || !may_create) {
      co_return std::unexpected(std::move(answer.error()));
    }
    Result<std::string> made = co_await api_.create(
        {{ServiceAccount::resource, account_}, service_account_body(account_)});
    if (!made && made.outcome() != Outcome::conflict) {
      co_return std::unexpected(std::move(made.error()));
    }
    if (made) log_.info("made a service account", {{"account", to_string(account_)}});
  }
}

bool ServiceAccountTokens::is_due() const {
  return token_.empty() ||
         clock_.now() >= made_at_ + std::max(life_ / 5 * 4, std::min(life_, kLifeMin));
}

bool ServiceAccountTokens::is_good() const {
  return !token_.empty() && clock_.now() < made_at_ + life_;
}

Result<Secret> ServiceAccountTokens::token() {
  if (is_good()) return token_;
  return fail(Outcome::denied, "no token of the service account " + to_string(account_));
}

void ServiceAccountTokens::rejected(const Secret& token) {
  if (token == token_) token_ = {};
}

template <class T>
Task<Result<T>> AccountApi::with_token(Task<Result<T>> call) {
  CO_TRY(co_await tokens_.ensure());
  Result<T> answer = co_await std::move(call);
  co_return answer;
}

Task<Result<std::string>> AccountApi::get(ObjectName object) {
  return with_token(next_.get(std::move(object)));
}

Task<Result<std::string>> AccountApi::list(ListRequest request) {
  return with_token(next_.list(std::move(request)));
}

Task<Result<std::unique_ptr<WatchStream>>> AccountApi::watch(WatchRequest request) {
  return with_token(next_.watch(std::move(request)));
}

Task<Result<std::string>> AccountApi::create(CreateRequest request) {
  return with_token(next_.create(std::move(request)));
}

Task<Result<std::string>> AccountApi::patch(PatchRequest request) {
  return with_token(next_.patch(std::move(request)));
}

Task<Result<>> AccountApi::remove(DeleteRequest request) {
  return with_token(next_.remove(std::move(request)));
}

}  // namespace isthmus::kube
