#include "isthmus/app/authentication.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "isthmus/base/text.h"
#include "isthmus/kube/tokens.h"
#include "isthmus/net/client_certificates.h"
#include "isthmus/net/digest.h"

namespace isthmus::app {
namespace {

constexpr std::string_view kAuthenticated = "system:authenticated";

bool equal_without_case(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

// Every way that ends well is a member of that group.
kube::UserInfo authenticated(kube::UserInfo user) {
  if (!user.is_in(kAuthenticated)) user.groups.emplace_back(kAuthenticated);
  return user;
}

}  // namespace

Credentials credentials_of(const net::Request& request, const net::Peer& peer) {
  Credentials credentials{.certificates = peer.certificates, .network = network_of(peer.address)};
  const std::string_view header = trimmed(request.headers.find("Authorization").value_or(""));
  const std::size_t blank = header.find(' ');
  if (blank != header.npos && equal_without_case(header.substr(0, blank), "bearer")) {
    credentials.token = Secret(std::string(trimmed(header.substr(blank))));
  }
  return credentials;
}

kube::UserInfo anonymous() {
  return {.name = "system:anonymous", .groups = {"system:unauthenticated"}};
}

Authenticator::Authenticator(const ClientTrust* trust, kube::ApiDoor* reviews, Duration cache_ttl,
                             Loop& loop)
    : trust_(trust), clock_(loop) {
  if (reviews == nullptr) return;
  tokens_.emplace(
      loop, [reviews](Question question) { return review(*reviews, std::move(question.token)); },
      [cache_ttl](const kube::TokenReview& verdict) {
        return TokenCache::Sense{.lets_in = verdict.authenticated, .counts_for = cache_ttl};
      });
}

Task<Result<kube::UserInfo>> Authenticator::identify(Credentials credentials) {
  std::optional<Error> refusal;
  if (trust_ != nullptr && !credentials.certificates.empty()) {
    Result<kube::UserInfo> user = by_certificate(credentials.certificates);
    if (user) co_return user;
    refusal = std::move(user.error());
  }
  if (tokens_ && !credentials.token.empty()) {
    Result<kube::UserInfo> user =
        co_await by_token(std::move(credentials.token), std::move(credentials.network));
    co_return user;
  }
  if (refusal) co_return std::unexpected(std::move(*refusal));
  co_return anonymous();
}

Result<kube::UserInfo> Authenticator::by_certificate(const std::vector<std::string>& chain) const {
  const net::ClientAuthorities* authorities = trust_->authorities();
  if (authorities == nullptr) {
    return fail(Outcome::denied, "client certificate: no authority is known");
  }
  net::CertificateSubject subject = TRY(authorities->verify(chain, clock_.wall_now()));
  return authenticated(
      {.name = std::move(subject.common_name), .groups = std::move(subject.organizations)});
}

Task<Result<kube::UserInfo>> Authenticator::by_token(Secret token, std::string network) {
  const Result<> sendable = kube::check_token(token.reveal());
  if (!sendable) co_return fail(Outcome::denied, "bearer token: " + sendable.error().message);
  std::string fingerprint = net::sha256(token.reveal());
  kube::TokenReview verdict =
      CO_TRY(co_await tokens_->get({std::move(fingerprint), std::move(token)}, std::move(network)));
  if (!verdict.authenticated) co_return fail(Outcome::denied, "bearer token: " + verdict.error);
  co_return authenticated(std::move(verdict.user));
}

Task<Result<kube::TokenReview>> Authenticator::review(kube::ApiDoor& reviews, Secret token) {
  kube::CreateRequest request{{kube::TokenReview::resource, {}}, kube::token_review_body(token)};
  const std::string answer = CO_TRY(co_await reviews.create(std::move(request)));
  co_return kube::decode_token_review(answer);
}

}  // namespace isthmus::app
