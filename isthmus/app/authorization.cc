#include "isthmus/app/authorization.h"

#include <algorithm>
#include <utility>

#include "isthmus/net/digest.h"

namespace isthmus::app {
namespace {

constexpr std::string_view kMasters = "system:masters";

bool matches(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with('*')) return pattern == path;
  pattern.remove_suffix(1);
  return path.starts_with(pattern);
}

}  // namespace

Authorizer::Authorizer(kube::ApiDoor* reviews, AuthorizationOptions options, Loop& loop)
    : options_(std::move(options)) {
  if (reviews == nullptr) return;
  verdicts_.emplace(
      loop, [reviews](Question question) { return review(*reviews, std::move(question.body)); },
      [this](const kube::SubjectAccessReview& verdict) {
        return VerdictCache::Sense{
            .lets_in = verdict.allowed,
            .counts_for = verdict.allowed ? options_.authorized_ttl : options_.unauthorized_ttl};
      });
}

bool Authorizer::is_open_to_all(std::string_view path) const {
  return std::ranges::any_of(options_.always_allow_paths,
                             [path](const std::string& pattern) { return matches(pattern, path); });
}

Task<Result<>> Authorizer::check(kube::UserInfo user, std::string verb, std::string path,
                                 std::string network) {
  if (user.is_in(kMasters)) co_return Result<>{};
  if (!verdicts_) co_return fail(Outcome::denied, "there is no API server to ask");
  std::string body = kube::access_review_body(user, verb, path);
  std::string fingerprint = net::sha256(body);
  kube::SubjectAccessReview verdict = CO_TRY(
      co_await verdicts_->get({std::move(fingerprint), std::move(body)}, std::move(network)));
  if (!verdict.allowed) co_return fail(Outcome::denied, verdict.reason);
  co_return Result<>{};
}

Task<Result<kube::SubjectAccessReview>> Authorizer::review(kube::ApiDoor& reviews,
                                                           std::string body) {
  kube::CreateRequest request{{kube::SubjectAccessReview::resource, {}}, std::move(body)};
  const std::string answer = CO_TRY(co_await reviews.create(std::move(request)));
  co_return kube::decode_access_review(answer);
}

}  // namespace isthmus::app
