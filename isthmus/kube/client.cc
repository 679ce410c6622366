#include "isthmus/kube/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "isthmus/base/scope.h"
#include "isthmus/kube/status_error.h"

namespace isthmus::kube {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

// A refusal's body is a Status; what is longer than this is something else.
constexpr std::size_t kRefusalBytesMax = 1024 * 1024;

// What we understand of answers.
constexpr const char* kWhole = "application/json";
constexpr const char* kMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

std::string path_of(const ResourceType& resource, const ObjectKey& key) {
  const bool is_core = resource.api_version.find('/') == std::string_view::npos;
  std::string path = fmt::format("/{}/{}", is_core ? "api" : "apis", resource.api_version);
  if (!key.name_space.empty()) path += "/namespaces/" + net::percent_encode(key.name_space);
  path += fmt::format("/{}", resource.plural);
  return path;
}

std::string path_of(const ObjectName& object) {
  return path_of(object.resource, object.key) + "/" + net::percent_encode(object.key.name);
}

// A role that names this one object in its resourceNames allows such a list and watch too.
void select(const ObjectKey& only, Parameters& parameters) {
  if (only.name.empty()) return;
  parameters.emplace_back("fieldSelector", "metadata.name=" + only.name);
}

bool is_json(const net::Headers& headers) {
  const std::optional<std::string_view> type = headers.find("Content-Type");
  return type && type->starts_with("application/json");
}

// A document that begins and ends as one; whoever decodes it finds what is wrong in between.
Result<> looks_whole(const net::Response& response) {
  if (!is_json(response.headers)) return fail(Outcome::lost, "the answer is not JSON");
  const std::string_view body = response.body;
  const std::size_t last = body.find_last_not_of(" \r\n\t");
  const bool is_object = body.starts_with('{') && last != body.npos && body[last] == '}';
  if (!is_object) return fail(Outcome::lost, "the answer is not a whole JSON object");
  return {};
}

// What a status code means by itself, whoever sent it; nullopt: only a Status can say.
std::optional<Outcome> outcome_of_code(int code) {
  if (code == 401 || code == 403) return Outcome::denied;
  if (code == 429 || code >= 500) return Outcome::busy;
  return std::nullopt;
}

}  // namespace

net::Request http_get(const ObjectName& object) { return {"GET", path_of(object), {}, {}}; }

net::Request http_list(const ListRequest& request) {
  Parameters parameters;
  if (request.limit > 0) parameters.emplace_back("limit", std::to_string(request.limit));
  if (!request.continue_token.empty()) parameters.emplace_back("continue", request.continue_token);
  select(request.only, parameters);
  return {"GET", net::with_query(path_of(request.resource, request.only), parameters), {}, {}};
}

net::Request http_watch(const WatchRequest& request) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(request.timeout).count();
  Parameters parameters = {{"watch", "true"},
                           {"allowWatchBookmarks", "true"},
                           {"resourceVersion", request.resource_version},
                           {"timeoutSeconds", std::to_string(seconds)}};
  if (request.send_initial_events) {
    parameters.emplace_back("sendInitialEvents", "true");
    parameters.emplace_back("resourceVersionMatch", "NotOlderThan");
  }
  select(request.only, parameters);
  return {"GET", net::with_query(path_of(request.resource, request.only), parameters), {}, {}};
}

net::Request http_create(const CreateRequest& request) {
  return {"POST",
          path_of(request.object.resource, request.object.key),
          {{"Content-Type", "application/json"}},
          request.body};
}

net::Request http_patch(const PatchRequest& request) {
  std::string path = path_of(request.object);
  if (!request.subresource.empty()) path += "/" + request.subresource;
  return {request.patch.type == PatchType::whole ? "PUT" : "PATCH",
          std::move(path),
          {{"Content-Type", std::string(content_type(request.patch.type))},
           {"Accept", request.metadata_only ? kMetadataOnly : kWhole}},
          request.patch.body};
}

net::Request http_delete(const DeleteRequest& request) {
  ISTHMUS_ASSERT(!request.precondition.uid.empty(), "a delete names the uid it means");
  return {"DELETE",
          path_of(request.object),
          {{"Content-Type", "application/json"}},
          delete_options_body(request.precondition)};
}

Error error_of(const net::Response& response, const ObjectName& about, Decoder& decoder,
               WallTime now) {
  std::string body = response.body;
  const Result<Status> status = decoder.status(body);
  Error error{Outcome::lost, fmt::format("HTTP {}, and no Status", response.status), {}};
  if (status) {
    Status said = *status;
    said.code = response.status;  // The head of the answer is the authority.
    error = error_of(said, about);
  } else if (const std::optional<Outcome> outcome = outcome_of_code(response.status)) {
    error.outcome = *outcome;
  }
  const std::optional<Duration> wait = net::retry_after(response.headers, now);
  if (error.outcome == Outcome::busy && wait) error.retry_after = std::min(*wait, kRetryAfterMax);
  return error;
}

HttpApi::HttpApi(net::Transport& transport, TokenSource& tokens, HttpApiOptions options,
                 const Clock& clock, Metrics& metrics)
    : transport_(transport),
      tokens_(tokens),
      options_(std::move(options)),
      clock_(clock),
      metrics_(options_.host, metrics) {}

// The request is complete but for who we are and what we understand. Answers the token it carries.
Result<Secret> HttpApi::authorize(net::Request& request) {
  request.headers.set("User-Agent", options_.user_agent);
  if (!request.headers.find("Accept")) request.headers.set("Accept", kWhole);
  const Secret token = TRY(tokens_.token());
  if (!token.empty()) request.headers.set("Authorization", "Bearer " + token.reveal());
  return token;
}

Error HttpApi::refusal(const net::Response& response, const ObjectName& about,
                       const Secret& token) {
  if (response.status == 401) tokens_.rejected(token);
  return error_of(response, about, decoder_, clock_.wall_now());
}

Task<Result<std::string>> HttpApi::call(net::Request request, ObjectName about, Duration timeout) {
  const Secret token = CO_TRY(authorize(request));
  const RestCall measured = metrics_.begin(request, clock_.now());
  Result<net::Response> answer =
      co_await with_timeout(timeout, transport_.call(std::move(request)));
  metrics_.end(measured, clock_.now(), answer ? answer->status : 0,
               answer ? answer->body.size() : 0);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  if (answer->status < 200 || answer->status > 299) {
    co_return std::unexpected(refusal(*answer, about, token));
  }
  CO_TRY(looks_whole(*answer));
  co_return std::move(answer->body);
}

Task<Result<std::string>> HttpApi::get(ObjectName object) {
  return call(http_get(object), object, options_.call_timeout);
}

Task<Result<std::string>> HttpApi::list(ListRequest request) {
  return call(http_list(request), {request.resource, {}}, options_.list_timeout);
}

Task<Result<std::string>> HttpApi::create(CreateRequest request) {
  return call(http_create(request), request.object, options_.call_timeout);
}

Task<Result<std::string>> HttpApi::patch(PatchRequest request) {
  return call(http_patch(request), request.object, options_.call_timeout);
}

Task<Result<>> HttpApi::remove(DeleteRequest request) {
  const std::string gone =
      CO_TRY(co_await call(http_delete(request), request.object, options_.call_timeout));
  co_return Result<>{};
}

namespace {

// The body of a refused watch.
Task<Result<std::string>> read_refusal(net::BodyStream& body) {
  std::string text;
  for (;;) {
    const std::string piece = CO_TRY(co_await body.next());
    if (piece.empty()) co_return text;
    text += piece;
    if (text.size() > kRefusalBytesMax) co_return fail(Outcome::lost, "an endless refusal");
  }
}

}  // namespace

Task<Result<std::unique_ptr<WatchStream>>> HttpApi::watch(WatchRequest request) {
  net::Request sent = http_watch(request);
  const Secret token = CO_TRY(authorize(sent));
  const RestCall measured = metrics_.begin(sent, clock_.now());
  Result<net::StreamedResponse> answer =
      co_await with_timeout(options_.list_timeout, transport_.open(std::move(sent)));
  metrics_.end(measured, clock_.now(), answer ? answer->status : 0, 0);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  if (answer->status == 200) {
    if (!is_json(answer->headers)) co_return fail(Outcome::lost, "the watch is not JSON");
    co_return std::unique_ptr<WatchStream>(std::make_unique<LineStream>(std::move(answer->body)));
  }
  Result<std::string> body =
      co_await with_timeout(options_.call_timeout, read_refusal(*answer->body));
  net::Response refused{answer->status, std::move(answer->headers), {}};
  if (body) refused.body = std::move(*body);
  co_return std::unexpected(refusal(refused, {request.resource, request.only}, token));
}

}  // namespace isthmus::kube
