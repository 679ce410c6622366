// What a request about machines asks for, understood: queries and headers become values, and
// everything that is wrong with them is named at once. Plain functions without IO.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>

#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/instance_plan.h"
#include "isthmus/infra/label_selector.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {

inline constexpr std::size_t kPageDefault = 200;
inline constexpr std::size_t kPageMax = 1000;

// 64 addresses and 64 labels of full length take 60 KB.
inline constexpr std::size_t kInstanceBodyMax = 256 * 1024;

// Where a list goes on: opaque to clients, bound to the revision and the selector of its first
// page.
struct PageToken {
  Revision revision = 0;
  std::string after;  // The last uid of the page before.

  std::string text(const std::string& selector) const;

  // nullopt for what we never gave out, or gave out for another selector.
  static std::optional<PageToken> parse(std::string_view text, const std::string& selector);
};

struct ListRequest {
  LabelSelector selector;
  std::string selector_text;
  std::size_t limit = kPageDefault;
  std::optional<PageToken> token;
};
std::expected<ListRequest, api::Problem> read_list_request(const net::Target& target);

// The revision in "?from=".
std::expected<Revision, api::Problem> read_watch_request(const net::Target& target);

// If-Match and If-None-Match; a query is wrong, since these operations take none.
std::expected<Preconditions, api::Problem> read_preconditions(const net::Target& target,
                                                              const net::Headers& headers);

// No parameters at all.
std::optional<api::Problem> refuse_parameters(const net::Target& target);

// The body of a PUT: body-too-large, unsupported-media-type, invalid-request (no JSON) or
// invalid-spec with every wrong field.
std::expected<api::Instance, api::Problem> read_instance_body(const net::Request& request,
                                                              const std::string& uid);

}  // namespace isthmus::infra
