#include "isthmus/app/guarded_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "isthmus/base/json.h"
#include "isthmus/base/text.h"

namespace isthmus::app {
namespace {

constexpr const char* kName = "isthmus_secure_port_requests_total";
constexpr const char* kHelp = "Requests to the secure port, by what became of them at its door.";

constexpr Duration kTellingsApart = std::chrono::minutes(1);

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return text;
}

}  // namespace

net::Response refusal_status(int code, std::string_view reason, std::string_view message) {
  const json::object status{
      {"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", json::object{}},
      {"status", "Failure"}, {"message", message}, {"reason", reason},
      {"code", code}};
  net::Response response{.status = code, .headers = {}, .body = compact_json(status) + "\n"};
  response.headers.set("Content-Type", "application/json");
  response.headers.set("Cache-Control", "no-cache, private");
  response.headers.set("X-Content-Type-Options", "nosniff");
  return response;
}

GuardedHandler::GuardedHandler(net::HttpHandler& next, Authenticator& authenticator,
                               Authorizer& authorizer, Strangers strangers, const Clock& clock,
                               Metrics& metrics, Logger& log)
    : next_(next),
      authenticator_(authenticator),
      authorizer_(authorizer),
      strangers_(strangers),
      clock_(clock),
      log_(log),
      allowed_(metrics.counter(kName, kHelp, {{"result", "allowed"}})),
      unauthenticated_(metrics.counter(kName, kHelp, {{"result", "unauthenticated"}})),
      forbidden_(metrics.counter(kName, kHelp, {{"result", "forbidden"}})),
      unavailable_(metrics.counter(kName, kHelp, {{"result", "unavailable"}})) {}

Task<Result<>> GuardedHandler::serve(net::Request request, net::Peer peer,
                                     net::ResponseWriter& writer) {
  Result<net::Target> target = net::parse_target(request.target);
  if (!target) {
    co_return co_await writer.respond(refusal_status(400, "BadRequest", target.error().message));
  }
  std::optional<net::Response> refusal = CO_TRY(co_await refuse(
      request.method, std::move(target->path), credentials_of(request, peer), peer.is_local));
  if (refusal) co_return co_await writer.respond(std::move(*refusal));
  allowed_.add();
  co_return co_await next_.serve(std::move(request), std::move(peer), writer);
}

Task<Result<std::optional<net::Response>>> GuardedHandler::refuse(std::string method,
                                                                  std::string path,
                                                                  Credentials credentials,
                                                                  bool is_local) {
  if (authorizer_.is_open_to_all(path)) co_return std::nullopt;
  const std::string verb = lower(std::move(method));
  if (strangers_ == Strangers::local_only) co_return refuse_stranger(verb, path, is_local);

  std::string network = credentials.network;
  Result<kube::UserInfo> user = co_await authenticator_.identify(std::move(credentials));
  if (user.outcome() == Outcome::denied) co_return unauthorized(user.error());
  if (user.outcome() == Outcome::cancelled) co_return std::unexpected(user.error());
  if (!user) co_return unanswerable(user.error());

  const Result<> verdict = co_await authorizer_.check(*user, verb, path, std::move(network));
  if (verdict.outcome() == Outcome::denied) co_return forbidden(*user, verb, path);
  if (verdict.outcome() == Outcome::cancelled) co_return std::unexpected(verdict.error());
  if (!verdict) co_return unanswerable(verdict.error());
  co_return std::nullopt;
}

std::optional<net::Response> GuardedHandler::refuse_stranger(const std::string& verb,
                                                             const std::string& path,
                                                             bool is_local) {
  const bool only_reads = verb == "get" || verb == "head";
  if (is_local && only_reads) return std::nullopt;
  return forbidden(anonymous(), verb, path);
}

net::Response GuardedHandler::forbidden(const kube::UserInfo& user, const std::string& verb,
                                        const std::string& path) {
  forbidden_.add();
  return refusal_status(
      403, "Forbidden",
      fmt::format("forbidden: User {} cannot {} path {}", quoted(user.name), verb, quoted(path)));
}

net::Response GuardedHandler::unauthorized(const Error& error) {
  unauthenticated_.add();
  tell(unauthenticated_told_at_, "a caller of the secure port is not who it says", error);
  net::Response response = refusal_status(401, "Unauthorized", "Unauthorized");
  response.headers.set("WWW-Authenticate", "Bearer");
  return response;
}

net::Response GuardedHandler::unanswerable(const Error& error) {
  unavailable_.add();
  tell(unavailable_told_at_, "callers of the secure port cannot be looked up", error);
  net::Response response =
      refusal_status(503, "ServiceUnavailable", "the API server cannot be asked who may do this");
  response.headers.set("Retry-After", "1");
  return response;
}

// Callers decide how often something is wrong with them, so not how much is logged.
void GuardedHandler::tell(std::optional<Moment>& told_at, std::string_view what,
                          const Error& error) {
  if (told_at && clock_.now() - *told_at < kTellingsApart) return;
  told_at = clock_.now();
  log_.warning(what, {{"error", error}});
}

}  // namespace isthmus::app
