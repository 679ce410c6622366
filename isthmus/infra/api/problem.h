// What the infrastructure API answers when it does not do what was asked: problem details (RFC
// 9457) with members of ours. Clients decide by `type`, and by the status class of a type they do
// not know; `title` and `detail` are for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"

namespace isthmus::infra::api {

inline constexpr std::string_view kProblemMediaType = "application/problem+json";

// Every type begins with this; what follows is the suffix below.
inline constexpr std::string_view kProblemTypePrefix = "https://isthmus.dev/problems/";

// The suffixes this version can answer. Two of them are 404 and mean different things: a retired
// machine is gone, and this is proof of it; of a machine that was not found the server only knows
// nothing, for instance because its store was lost, and that is no proof.
namespace problem {
inline constexpr std::string_view instance_retired = "instance-retired";                // 404
inline constexpr std::string_view instance_not_found = "instance-not-found";            // 404
inline constexpr std::string_view path_not_found = "path-not-found";                    // 404
inline constexpr std::string_view method_not_allowed = "method-not-allowed";            // 405
inline constexpr std::string_view unauthenticated = "unauthenticated";                  // 401
inline constexpr std::string_view forbidden = "forbidden";                              // 403
inline constexpr std::string_view not_owner = "not-owner";                              // 403
inline constexpr std::string_view quota_exceeded = "quota-exceeded";                    // 403
inline constexpr std::string_view routes_not_allowed = "routes-not-allowed";            // 403
inline constexpr std::string_view load_balancer_not_found = "load-balancer-not-found";  // 404
inline constexpr std::string_view target_set_not_found = "target-set-not-found";        // 404
inline constexpr std::string_view route_table_not_found = "route-table-not-found";      // 404
inline constexpr std::string_view pool_not_found = "pool-not-found";                    // 404
inline constexpr std::string_view orphan_not_found = "orphan-not-found";                // 404
inline constexpr std::string_view invalid_request = "invalid-request";  // 400, query or header
inline constexpr std::string_view invalid_spec = "invalid-spec";        // 422, body
inline constexpr std::string_view body_too_large = "body-too-large";    // 413
inline constexpr std::string_view unsupported_media = "unsupported-media-type";  // 415
inline constexpr std::string_view already_used = "already-used";  // 409, name, uuid, address
inline constexpr std::string_view uid_retired = "uid-retired";    // 409, PUT of a retired uid
inline constexpr std::string_view managed_by_file = "managed-by-inventory-file";  // 409
inline constexpr std::string_view deletion_protected = "deletion-protected";      // 409
inline constexpr std::string_view target_set_in_use = "target-set-in-use";        // 409
inline constexpr std::string_view cluster_cidr_in_use = "cluster-cidr-in-use";    // 409
inline constexpr std::string_view pool_exhausted = "pool-exhausted";              // 409
inline constexpr std::string_view address_in_use = "address-in-use";              // 409
inline constexpr std::string_view address_not_in_pool = "address-not-in-pool";    // 409
inline constexpr std::string_view not_offered = "not-offered";  // 422, of this host's driver
inline constexpr std::string_view revision_conflict = "revision-conflict";  // 412
inline constexpr std::string_view revision_gone = "revision-gone";      // 410, list or watch anew
inline constexpr std::string_view rate_limited = "rate-limited";        // 429
inline constexpr std::string_view inventory_stale = "inventory-stale";  // 503
inline constexpr std::string_view unavailable = "unavailable";          // 503
inline constexpr std::string_view internal = "internal";                // 500
}  // namespace problem

// One wrong field: where (RFC 6901 JSON pointer into the body, or the parameter's name for a query
// parameter or header), and what is wrong with it.
struct FieldError {
  std::string pointer;
  std::string detail;

  friend bool operator==(const FieldError&, const FieldError&) = default;
};

struct Problem {
  std::string type;      // The whole URI.
  std::string title;     // The same for every problem of the type.
  int status = 0;        // The HTTP status.
  std::string detail;    // This occurrence, in one sentence.
  std::string instance;  // The path that was asked, and the request's id as fragment.
  std::string reason;    // The type in one word, as Kubernetes events write it: InstanceRetired.
  bool retryable = false;
  std::uint32_t retry_after_s = 0;  // JSON retryAfter, whole seconds; 0: not said.
  std::vector<FieldError> errors;

  // What follows the prefix; the whole type when it has another prefix.
  std::string_view suffix() const;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// A problem of one of the suffixes above with its status, title, reason and retryability. An
// unknown suffix is a bug.
Problem make_problem(std::string_view suffix, std::string detail);

std::string encode(const Problem& problem);

// Reads an answer. Lost: not JSON, or type or status missing or ill-typed; so a 404 page of a proxy
// never reads as "not found". The status inside must be the one of the answer, which is `status`.
Result<Problem> decode_problem(std::string_view json, int status);

// "InvalidSpec: 2 fields are wrong (/spec/type: …; /metadata/name: …)": one line for a log or
// event.
std::string to_sentence(const Problem& problem);

}  // namespace isthmus::infra::api
