// What a request about any kind of object asks for, understood: queries and headers become values,
// and everything that is wrong with them is named at once. Plain functions without IO.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/ip.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/instance_plan.h"
#include "isthmus/infra/label_selector.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {

inline constexpr std::size_t kPageDefault = 200;
inline constexpr std::size_t kPageMax = 1000;

// Where a list goes on: opaque to clients, bound to the revision and the selector of its first
// page.
struct PageToken {
  Revision revision = 0;
  std::string after;  // What the last item of the page before is called.

  std::string text(const std::string& selector) const;

  // nullopt for what we never gave out, or gave out for another selector. `can_be` judges `after`.
  using CanBe = bool (*)(std::string_view after);
  static std::optional<PageToken> parse(std::string_view text, const std::string& selector,
                                        CanBe can_be);
};

// labelSelector, limit and continue.
struct ListRequest {
  LabelSelector selector;
  std::string selector_text;
  std::size_t limit = kPageDefault;
  std::optional<PageToken> token;

  // What all pages of the list are read at; nullopt for the first one: what stands now.
  std::optional<Revision> revision() const {
    return token ? std::optional(token->revision) : std::nullopt;
  }
};
std::expected<ListRequest, api::Problem> read_list_request(const net::Target& target,
                                                           PageToken::CanBe can_be);

// A list of what has no labels: limit and continue.
std::expected<ListRequest, api::Problem> read_plain_list_request(const net::Target& target,
                                                                 PageToken::CanBe can_be);

// What a page can go on after.
bool is_uid(std::string_view text);
bool is_name(std::string_view text);
bool is_ip(std::string_view text);

// The revision in "?from=".
std::expected<Revision, api::Problem> read_watch_request(const net::Target& target);

// If-Match and If-None-Match.
std::expected<Preconditions, api::Problem> read_preconditions(const net::Headers& headers);

// Those, and dryRun.
struct WriteRequest {
  Preconditions preconditions;
  bool dry_run = false;
};
std::expected<WriteRequest, api::Problem> read_write_request(const net::Target& target,
                                                             const net::Headers& headers);

// Likewise of the PUT of a load balancer, which may say which addresses it would like to have.
struct BalancerPutRequest {
  WriteRequest write;
  std::vector<IpAddress> preferred;
};
std::expected<BalancerPutRequest, api::Problem> read_balancer_put_request(
    const net::Target& target, const net::Headers& headers);

// waitFor, generation and timeout, which go together.
struct WaitRequest {
  std::string condition;                    // Its type.
  std::optional<std::uint64_t> generation;  // Nothing: the one that stands.
  Duration timeout;
};
inline constexpr Duration kWaitDefault = std::chrono::seconds(25);
inline constexpr Duration kWaitMax = std::chrono::seconds(60);  // Shorter than clients' patience.

// Nothing when the request does not wait.
std::expected<std::optional<WaitRequest>, api::Problem> read_wait_request(
    const net::Target& target);

// No parameters at all.
std::optional<api::Problem> refuse_parameters(const net::Target& target);

// body-too-large or unsupported-media-type, before anybody reads the body.
std::optional<api::Problem> refuse_body(const net::Request& request, std::size_t bytes_max);

// The problem of a body that is no JSON document, or whose fields are wrong; nothing for neither.
std::optional<api::Problem> wrong_body(const std::optional<std::string>& unreadable,
                                       std::vector<api::FieldError> errors);

}  // namespace isthmus::infra
