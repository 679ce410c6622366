#include "isthmus/infra/api/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "isthmus/base/json.h"
#include "isthmus/base/text.h"

namespace isthmus::infra::api {
namespace {

struct Kind {
  std::string_view suffix;
  int status;
  std::string_view title;
  std::string_view reason;
  bool retryable;
};

constexpr std::array kKinds = {
    Kind{problem::instance_retired, 404, "The machine was retired", "InstanceRetired", false},
    Kind{problem::instance_not_found, 404, "No such machine is known", "InstanceNotFound", false},
    Kind{problem::path_not_found, 404, "There is nothing at this path", "PathNotFound", false},
    Kind{problem::method_not_allowed, 405, "The path has no such method", "MethodNotAllowed",
         false},
    Kind{problem::unauthenticated, 401, "Who asks is not known", "Unauthenticated", false},
    Kind{problem::forbidden, 403, "Who asks may not do this", "Forbidden", false},
    Kind{problem::not_owner, 403, "It belongs to somebody else", "NotOwner", false},
    Kind{problem::load_balancer_not_found, 404, "There is no such load balancer",
         "LoadBalancerNotFound", false},
    Kind{problem::target_set_not_found, 404, "There is no such target set", "TargetSetNotFound",
         false},
    Kind{problem::route_table_not_found, 404, "There is no such route table", "RouteTableNotFound",
         false},
    Kind{problem::pool_not_found, 404, "There is no such pool", "PoolNotFound", false},
    Kind{problem::orphan_not_found, 404, "There is no such orphan", "OrphanNotFound", false},
    Kind{problem::deletion_protected, 409, "Its deletion is refused while it is protected",
         "DeletionProtected", false},
    Kind{problem::target_set_in_use, 409, "Load balancers refer to the target set",
         "TargetSetInUse", false},
    Kind{problem::quota_exceeded, 403, "The owner has as many as it may", "QuotaExceeded", false},
    Kind{problem::routes_not_allowed, 403, "The owner may not route this", "RoutesNotAllowed",
         false},
    Kind{problem::cluster_cidr_in_use, 409, "Another route table has it", "ClusterCIDRInUse", true},
    Kind{problem::pool_exhausted, 409, "The pool has no free address", "PoolExhausted", true},
    Kind{problem::address_in_use, 409, "Somebody else has the address", "AddressInUse", true},
    Kind{problem::address_not_in_pool, 409, "The address is in no pool that may be used",
         "AddressNotInPool", true},
    Kind{problem::not_offered, 422, "This host does not offer it", "NotOffered", false},
    Kind{problem::invalid_request, 400, "The request is wrong", "InvalidRequest", false},
    Kind{problem::invalid_spec, 422, "The body is wrong", "InvalidSpec", false},
    Kind{problem::body_too_large, 413, "The body is too large", "BodyTooLarge", false},
    Kind{problem::unsupported_media, 415, "The body's media type is not supported",
         "UnsupportedMediaType", false},
    Kind{problem::already_used, 409, "Another machine has it", "AlreadyUsed", false},
    Kind{problem::uid_retired, 409, "The uid was retired and is never used again", "UidRetired",
         false},
    Kind{problem::managed_by_file, 409, "The machine is managed by the inventory file",
         "ManagedByInventoryFile", false},
    Kind{problem::revision_conflict, 412, "What stands is not as the request expects",
         "RevisionConflict", false},
    Kind{problem::revision_gone, 410, "The history does not reach back to the revision",
         "RevisionGone", false},
    Kind{problem::rate_limited, 429, "Too many at once", "RateLimited", true},
    Kind{problem::inventory_stale, 503, "The inventory is too old to answer from", "InventoryStale",
         true},
    Kind{problem::unavailable, 503, "Not available now", "Unavailable", true},
    Kind{problem::internal, 500, "The server made a mistake", "Internal", true},
};

// A whole list with two thousand wrong fields is still read; more is not an answer of ours.
constexpr std::size_t kErrorsMax = 4096;
constexpr std::size_t kTextMax = 64 * 1024;

std::vector<FieldError> read_errors(JsonReader& document) {
  std::vector<FieldError> errors;
  std::optional<JsonReader> list = document.optional("errors");
  if (!list) return errors;
  for (JsonReader& element : list->elements(kErrorsMax)) {
    errors.push_back({element.required("pointer").text(kTextMax, JsonReader::Empty::allowed),
                      element.required("detail").text(kTextMax, JsonReader::Empty::allowed)});
  }
  return errors;
}

std::string optional_text(JsonReader& document, std::string_view key) {
  std::optional<JsonReader> member = document.optional(key);
  return member ? member->text(kTextMax, JsonReader::Empty::allowed) : "";
}

}  // namespace

std::string_view Problem::suffix() const {
  std::string_view text = type;
  return text.starts_with(kProblemTypePrefix) ? text.substr(kProblemTypePrefix.size()) : text;
}

Problem make_problem(std::string_view suffix, std::string detail) {
  auto* kind = std::ranges::find(kKinds, suffix, &Kind::suffix);
  ISTHMUS_ASSERT(kind != kKinds.end(), "every problem we answer is in the table");
  return {.type = fmt::format("{}{}", kProblemTypePrefix, suffix),
          .title = std::string(kind->title),
          .status = kind->status,
          .detail = std::move(detail),
          .instance = {},
          .reason = std::string(kind->reason),
          .retryable = kind->retryable,
          .retry_after_s = 0,
          .errors = {}};
}

std::string encode(const Problem& problem) {
  json::object document{{"type", problem.type},     {"title", problem.title},
                        {"status", problem.status}, {"detail", problem.detail},
                        {"reason", problem.reason}, {"retryable", problem.retryable}};
  if (!problem.instance.empty()) document["instance"] = problem.instance;
  if (problem.retry_after_s != 0) document["retryAfter"] = problem.retry_after_s;
  if (!problem.errors.empty()) {
    json::array errors;
    for (const FieldError& error : problem.errors) {
      errors.push_back(json::object{{"pointer", error.pointer}, {"detail", error.detail}});
    }
    document["errors"] = std::move(errors);
  }
  return compact_json(document);
}

Result<Problem> decode_problem(std::string_view text, int status) {
  Result<json::value> document = parse_json(text);
  if (!document) return fail(Outcome::lost, "not problem details: " + document.error().message);
  Mistakes mistakes;
  JsonReader reader(*document, mistakes);
  Problem problem;
  problem.type = reader.required("type").text(kTextMax);
  problem.status = static_cast<int>(reader.required("status").integer(400, 599));
  if (mistakes.empty() && problem.status != status) {
    reader.required("status").refuse_expected(fmt::format("the answer's status {}", status));
  }
  problem.title = optional_text(reader, "title");
  problem.detail = optional_text(reader, "detail");
  problem.instance = optional_text(reader, "instance");
  problem.reason = optional_text(reader, "reason");
  if (auto retryable = reader.optional("retryable")) problem.retryable = retryable->boolean();
  if (auto seconds = reader.optional("retryAfter")) {
    constexpr std::int64_t kWeek = 7 * 24 * 3600;
    problem.retry_after_s = static_cast<std::uint32_t>(seconds->integer(0, kWeek));
  }
  problem.errors = read_errors(reader);
  if (!mistakes.empty()) return fail(Outcome::lost, "not problem details: " + mistakes.text());
  return problem;
}

std::string to_sentence(const Problem& problem) {
  std::string sentence =
      fmt::format("{}: {}", problem.reason.empty() ? std::string(problem.suffix()) : problem.reason,
                  problem.detail.empty() ? problem.title : problem.detail);
  std::string_view before = " (";
  for (const FieldError& error : problem.errors) {
    sentence += fmt::format("{}{}: {}", before, error.pointer, error.detail);
    before = "; ";
  }
  if (!problem.errors.empty()) sentence += ")";
  return sentence;
}

}  // namespace isthmus::infra::api
