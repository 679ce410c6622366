#include "isthmus/infra/object_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "isthmus/base/duration.h"
#include "isthmus/base/ip.h"
#include "isthmus/base/text.h"
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/infra/responses.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;
using Errors = std::vector<api::FieldError>;

constexpr std::uint64_t kRevisionMax = (std::uint64_t{1} << 53) - 1;  // What JSON numbers hold.

template <class Number>
std::optional<Number> parse_number(std::string_view text, Number most, int base = 10) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  bool whole = error == std::errc{} && end == text.data() + text.size() && number <= most;
  return whole && !text.empty() ? std::optional(number) : std::nullopt;
}

// FNV-1a: only has to tell an honest client that it changed its selector between pages.
std::uint32_t fingerprint(std::string_view text) {
  std::uint32_t hash = 2166136261;
  for (unsigned char c : text) hash = (hash ^ c) * 16777619;
  return hash;
}

// Unknown and doubled parameters, as errors.
Errors wrong_names(const net::Target& target, std::initializer_list<std::string_view> known) {
  Errors errors;
  std::set<std::string_view> seen;
  for (const auto& [name, value] : target.parameters) {
    bool offered = std::ranges::find(known, name) != known.end();
    if (!offered) errors.push_back({name, "is not offered by this version"});
    if (offered && !seen.insert(name).second) errors.push_back({name, "is given twice"});
  }
  return errors;
}

std::unexpected<api::Problem> wrong_query(Errors errors,
                                          std::string detail = "the query is wrong") {
  api::Problem wrong = api::make_problem(problem::invalid_request, std::move(detail));
  wrong.errors = std::move(errors);
  return std::unexpected(std::move(wrong));
}

void read_selector(const net::Target& target, ListRequest& request, Errors& errors) {
  auto text = target.parameter("labelSelector");
  if (!text) return;
  request.selector_text = *text;
  Result<LabelSelector> selector = LabelSelector::parse(*text);
  if (selector) {
    request.selector = std::move(*selector);
  } else {
    errors.push_back({"labelSelector", selector.error().message});
  }
}

std::expected<ListRequest, api::Problem> read_page(const net::Target& target,
                                                   PageToken::CanBe can_be, ListRequest request,
                                                   Errors errors) {
  if (auto text = target.parameter("limit")) {
    auto limit = parse_number<std::size_t>(*text, kPageMax);
    if (limit && *limit > 0) {
      request.limit = *limit;
    } else {
      errors.push_back({"limit", fmt::format("expected a number from 1 to {}", kPageMax)});
    }
  }
  if (auto text = target.parameter("continue")) {
    request.token = PageToken::parse(*text, request.selector_text, can_be);
    if (!request.token) {
      errors.push_back(
          {"continue", "expected what the page before said, with the same labelSelector"});
    }
  }
  if (!errors.empty()) return wrong_query(std::move(errors));
  return request;
}

constexpr std::array kAwaitable = {api::condition::accepted, api::condition::address_allocated,
                                   api::condition::programmed, api::condition::targets_healthy,
                                   api::condition::ready};

void read_wait_details(const net::Target& target, WaitRequest& wait, Errors& errors) {
  if (std::ranges::find(kAwaitable, wait.condition) == kAwaitable.end()) {
    errors.push_back({"waitFor", fmt::format("expected one of {}", fmt::join(kAwaitable, ", "))});
  }
  if (auto text = target.parameter("generation")) {
    wait.generation = parse_number<std::uint64_t>(*text, kRevisionMax);
    if (!wait.generation || *wait.generation == 0) {
      errors.push_back({"generation", "expected a generation, a number from 1"});
    }
  }
  if (auto text = target.parameter("timeout")) {
    Result<Duration> timeout = parse_duration(*text);
    if (timeout && *timeout >= Duration::zero() && *timeout <= kWaitMax) {
      wait.timeout = *timeout;
    } else {
      errors.push_back(
          {"timeout", fmt::format("expected a duration from 0s to {}", format_duration(kWaitMax))});
    }
  }
}

}  // namespace

std::string PageToken::text(const std::string& selector) const {
  return fmt::format("1.{}.{:08x}.{}", revision, fingerprint(selector), after);
}

std::optional<PageToken> PageToken::parse(std::string_view text, const std::string& selector,
                                          CanBe can_be) {
  std::array<std::string_view, 3> parts;
  for (std::string_view& part : parts) {
    std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    part = text.substr(0, dot);
    text.remove_prefix(dot + 1);
  }
  auto revision = parse_number<std::uint64_t>(parts[1], kRevisionMax);
  auto hash = parse_number<std::uint32_t>(parts[2], UINT32_MAX, 16);
  bool ours = parts[0] == "1" && revision && hash == fingerprint(selector) && can_be(text);
  if (!ours) return std::nullopt;
  return PageToken{*revision, std::string(text)};
}

bool is_uid(std::string_view text) { return !api::wrong_uid(text); }
bool is_name(std::string_view text) { return !api::wrong_object_name(text); }
bool is_ip(std::string_view text) { return parse_ip(text).has_value(); }

std::expected<ListRequest, api::Problem> read_list_request(const net::Target& target,
                                                           PageToken::CanBe can_be) {
  Errors errors = wrong_names(target, {"labelSelector", "limit", "continue"});
  ListRequest request;
  read_selector(target, request, errors);
  return read_page(target, can_be, std::move(request), std::move(errors));
}

std::expected<ListRequest, api::Problem> read_plain_list_request(const net::Target& target,
                                                                 PageToken::CanBe can_be) {
  return read_page(target, can_be, {}, wrong_names(target, {"limit", "continue"}));
}

std::expected<Revision, api::Problem> read_watch_request(const net::Target& target) {
  Errors errors = wrong_names(target, {"from"});
  auto text = target.parameter("from");
  auto from = text ? parse_number<std::uint64_t>(*text, kRevisionMax) : std::nullopt;
  if (!from) {
    errors.push_back({"from", text ? "expected a revision" : "is required: a list's revision"});
  }
  if (!errors.empty()) return wrong_query(std::move(errors));
  return *from;
}

std::optional<api::Problem> refuse_parameters(const net::Target& target) {
  Errors errors = wrong_names(target, {});
  if (errors.empty()) return std::nullopt;
  return wrong_query(std::move(errors)).error();
}

std::expected<Preconditions, api::Problem> read_preconditions(const net::Headers& headers) {
  Preconditions preconditions;
  if (auto match = headers.find("If-Match")) {
    std::string_view text = trimmed(*match);
    bool tag = text.size() > 2 && text.starts_with('"') && text.ends_with('"');
    if (text == "*") {
      preconditions.exists = true;
    } else if (tag) {
      preconditions.revision =
          parse_number<std::uint64_t>(text.substr(1, text.size() - 2), kRevisionMax);
    }
    if (!preconditions.exists && !preconditions.revision) {
      return std::unexpected(wrong_parameter("If-Match", "expected one ETag of ours, or *"));
    }
  }
  if (auto none = headers.find("If-None-Match")) {
    if (trimmed(*none) != "*") {
      return std::unexpected(wrong_parameter("If-None-Match", "expected *"));
    }
    preconditions.absent = true;
  }
  return preconditions;
}

namespace {

// `errors` are those of the query so far.
std::expected<WriteRequest, api::Problem> read_write(const net::Target& target,
                                                     const net::Headers& headers, Errors errors) {
  auto text = target.parameter("dryRun");
  if (text && *text != "true" && *text != "false") {
    errors.push_back({"dryRun", "expected true or false"});
  }
  auto preconditions = read_preconditions(headers);
  if (!preconditions) {
    if (errors.empty()) return std::unexpected(std::move(preconditions).error());
    const api::FieldError header = preconditions.error().errors.front();
    errors.push_back(header);
    return wrong_query(std::move(errors),
                       fmt::format("the query and {} are wrong", header.pointer));
  }
  if (!errors.empty()) return wrong_query(std::move(errors));
  return WriteRequest{*preconditions, text == "true"};
}

std::vector<IpAddress> read_preferred(const net::Target& target, Errors& errors) {
  std::vector<IpAddress> preferred;
  auto text = target.parameter("preferAddresses");
  if (!text) return preferred;
  const std::vector<std::string_view> parts = split(*text, ',');
  if (parts.size() > api::kBalancerAddressesMax) {
    errors.push_back({"preferAddresses", fmt::format("expected at most {} addresses, found {}",
                                                     api::kBalancerAddressesMax, parts.size())});
    return preferred;
  }
  for (std::string_view part : parts) {
    auto address = parse_ip(part);
    if (address) {
      preferred.push_back(*address);
      continue;
    }
    errors.push_back({"preferAddresses", fmt::format("expected IP addresses with commas between "
                                                     "them, found {}",
                                                     quoted(shortened(part, 80)))});
  }
  return preferred;
}

}  // namespace

std::expected<WriteRequest, api::Problem> read_write_request(const net::Target& target,
                                                             const net::Headers& headers) {
  return read_write(target, headers, wrong_names(target, {"dryRun"}));
}

std::expected<BalancerPutRequest, api::Problem> read_balancer_put_request(
    const net::Target& target, const net::Headers& headers) {
  Errors errors = wrong_names(target, {"dryRun", "preferAddresses"});
  std::vector<IpAddress> preferred = read_preferred(target, errors);
  auto write = read_write(target, headers, std::move(errors));
  if (!write) return std::unexpected(std::move(write).error());
  return BalancerPutRequest{*write, std::move(preferred)};
}

std::expected<std::optional<WaitRequest>, api::Problem> read_wait_request(
    const net::Target& target) {
  Errors errors = wrong_names(target, {"waitFor", "generation", "timeout"});
  std::optional<WaitRequest> wait;
  if (auto text = target.parameter("waitFor")) {
    wait = WaitRequest{std::string(*text), std::nullopt, kWaitDefault};
    read_wait_details(target, *wait, errors);
  } else {
    for (std::string_view name : {"generation", "timeout"}) {
      if (target.parameter(name))
        errors.push_back({std::string(name), "means nothing without waitFor"});
    }
  }
  if (!errors.empty()) return wrong_query(std::move(errors));
  return wait;
}

namespace {

// Nobody decodes what is sent, and a request that says so should not be told that it is no JSON.
std::optional<api::Problem> refuse_encoding(const net::Headers& headers) {
  for (const auto& [name, value] : headers) {
    const std::string_view encoding = trimmed(value);
    if (api::lower_case(name) != "content-encoding") continue;
    if (api::lower_case(encoding) == "identity") continue;
    return api::make_problem(
        problem::unsupported_media,
        fmt::format("Content-Encoding {} is not understood; send the body as it is",
                    quoted(shortened(encoding, 80))));
  }
  return std::nullopt;
}

}  // namespace

std::optional<api::Problem> refuse_body(const net::Request& request, std::size_t bytes_max) {
  if (request.body.size() > bytes_max) {
    return api::make_problem(
        problem::body_too_large,
        fmt::format("the body has {} bytes; at most {} are read", request.body.size(), bytes_max));
  }
  if (auto refusal = refuse_encoding(request.headers)) return refusal;
  std::string_view type = request.headers.find("Content-Type").value_or("application/json");
  std::string media = api::lower_case(trimmed(type.substr(0, type.find(';'))));
  if (media == "application/json") return std::nullopt;
  return api::make_problem(
      problem::unsupported_media,
      fmt::format("expected Content-Type application/json, found {}; curl says it with --json",
                  quoted(shortened(media, 80))));
}

std::optional<api::Problem> wrong_body(const std::optional<std::string>& unreadable,
                                       Errors errors) {
  if (unreadable) {
    return api::make_problem(problem::invalid_request, "the body is not JSON: " + *unreadable);
  }
  if (errors.empty()) return std::nullopt;
  api::Problem wrong =
      api::make_problem(problem::invalid_spec,
                        errors.size() == 1 ? "one field is wrong"
                                           : fmt::format("{} fields are wrong", errors.size()));
  wrong.errors = std::move(errors);
  return wrong;
}

}  // namespace isthmus::infra
