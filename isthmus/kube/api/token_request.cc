#include "isthmus/kube/api/token_request.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "isthmus/base/json.h"
#include "isthmus/base/mistakes.h"

namespace isthmus::kube {
namespace {

constexpr std::string_view kKind = "TokenRequest";

// A token with every claim there is has 2 KB.
constexpr std::size_t kTokenBytesMax = std::size_t{64} * 1024;

// A hundred years; beyond that no number of seconds is a life.
constexpr std::int64_t kLifeSecondsMax = 100LL * 366 * 24 * 3600;

}  // namespace

std::string service_account_body(const ObjectKey& account) {
  return json::serialize(
      json::object{{"apiVersion", ServiceAccount::resource.api_version},
                   {"kind", ServiceAccount::resource.kind},
                   {"metadata", {{"namespace", account.name_space}, {"name", account.name}}}});
}

std::string token_request_body(Duration life) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(life).count();
  return json::serialize(json::object{{"apiVersion", "authentication.k8s.io/v1"},
                                      {"kind", kKind},
                                      {"spec", {{"expirationSeconds", seconds}}}});
}

Result<TokenRequest> decode_token_request(std::string_view text) {
  Result<json::value> document = parse_json(text);
  // The text may hold a token, so no message of the parser's may quote it.
  if (!document) return fail(Outcome::lost, "the answer is no JSON");
  Mistakes mistakes;
  JsonReader root(*document, mistakes);
  if (root.required("kind").text() != kKind) {
    return fail(Outcome::lost, "the answer is no TokenRequest");
  }
  const std::int64_t seconds =
      root.required("spec").required("expirationSeconds").integer(1, kLifeSecondsMax);
  const std::string token = root.required("status").required("token").text(kTokenBytesMax);
  if (!mistakes.empty()) return fail(Outcome::lost, "the answer is no whole TokenRequest");
  return TokenRequest{Secret(token), std::chrono::seconds(seconds)};
}

}  // namespace isthmus::kube
