#include "isthmus/infra/instance_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <set>
#include <utility>

#include "isthmus/base/text.h"
#include "isthmus/infra/api/instance_input.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/infra/responses.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;

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
std::vector<api::FieldError> wrong_names(const net::Target& target,
                                         std::initializer_list<std::string_view> known) {
  std::vector<api::FieldError> errors;
  std::set<std::string_view> seen;
  for (const auto& [name, value] : target.parameters) {
    bool offered = std::ranges::find(known, name) != known.end();
    if (!offered) errors.push_back({name, "is not offered by this version"});
    if (offered && !seen.insert(name).second) errors.push_back({name, "is given twice"});
  }
  return errors;
}

api::Problem wrong_query(std::vector<api::FieldError> errors) {
  api::Problem wrong = api::make_problem(problem::invalid_request, "the query is wrong");
  wrong.errors = std::move(errors);
  return wrong;
}

}  // namespace

std::string PageToken::text(const std::string& selector) const {
  return fmt::format("1.{}.{:08x}.{}", revision, fingerprint(selector), after);
}

std::optional<PageToken> PageToken::parse(std::string_view text, const std::string& selector) {
  std::array<std::string_view, 3> parts;
  for (std::string_view& part : parts) {
    std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    part = text.substr(0, dot);
    text.remove_prefix(dot + 1);
  }
  auto revision = parse_number<std::uint64_t>(parts[1], kRevisionMax);
  auto hash = parse_number<std::uint32_t>(parts[2], UINT32_MAX, 16);
  bool ours = parts[0] == "1" && revision && hash == fingerprint(selector) && !api::wrong_uid(text);
  if (!ours) return std::nullopt;
  return PageToken{*revision, std::string(text)};
}

std::expected<ListRequest, api::Problem> read_list_request(const net::Target& target) {
  auto errors = wrong_names(target, {"labelSelector", "limit", "continue"});
  ListRequest request;
  if (auto text = target.parameter("labelSelector")) {
    request.selector_text = *text;
    Result<LabelSelector> selector = LabelSelector::parse(*text);
    if (selector) {
      request.selector = std::move(*selector);
    } else {
      errors.push_back({"labelSelector", selector.error().message});
    }
  }
  if (auto text = target.parameter("limit")) {
    auto limit = parse_number<std::size_t>(*text, kPageMax);
    if (limit && *limit > 0) {
      request.limit = *limit;
    } else {
      errors.push_back({"limit", fmt::format("expected a number from 1 to {}", kPageMax)});
    }
  }
  if (auto text = target.parameter("continue")) {
    request.token = PageToken::parse(*text, request.selector_text);
    if (!request.token) {
      errors.push_back(
          {"continue", "expected what the page before said, with the same labelSelector"});
    }
  }
  if (!errors.empty()) return std::unexpected(wrong_query(std::move(errors)));
  return request;
}

std::expected<Revision, api::Problem> read_watch_request(const net::Target& target) {
  auto errors = wrong_names(target, {"from"});
  auto text = target.parameter("from");
  auto from = text ? parse_number<std::uint64_t>(*text, kRevisionMax) : std::nullopt;
  if (!from) {
    errors.push_back({"from", text ? "expected a revision" : "is required: a list's revision"});
  }
  if (!errors.empty()) return std::unexpected(wrong_query(std::move(errors)));
  return *from;
}

std::optional<api::Problem> refuse_parameters(const net::Target& target) {
  auto errors = wrong_names(target, {});
  return errors.empty() ? std::nullopt : std::optional(wrong_query(std::move(errors)));
}

std::expected<Preconditions, api::Problem> read_preconditions(const net::Target& target,
                                                              const net::Headers& headers) {
  if (auto wrong = refuse_parameters(target)) return std::unexpected(std::move(*wrong));
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

std::expected<api::Instance, api::Problem> read_instance_body(const net::Request& request,
                                                              const std::string& uid) {
  if (request.body.size() > kInstanceBodyMax) {
    return std::unexpected(api::make_problem(
        problem::body_too_large, fmt::format("the body has {} bytes; at most {} are read",
                                             request.body.size(), kInstanceBodyMax)));
  }
  std::string_view type = request.headers.find("Content-Type").value_or("application/json");
  std::string media = api::lower_case(trimmed(type.substr(0, type.find(';'))));
  if (media != "application/json") {
    return std::unexpected(api::make_problem(
        problem::unsupported_media,
        fmt::format("expected application/json, found {}", quoted(shortened(media, 80)))));
  }
  api::InstanceInput input = api::decode_instance_input(request.body, uid);
  if (input.unreadable) {
    return std::unexpected(
        api::make_problem(problem::invalid_request, "the body is not JSON: " + *input.unreadable));
  }
  if (!input.errors.empty()) {
    api::Problem wrong = api::make_problem(problem::invalid_spec,
                                           fmt::format("{} fields are wrong", input.errors.size()));
    if (input.errors.size() == 1) wrong.detail = "one field is wrong";
    wrong.errors = std::move(input.errors);
    return std::unexpected(std::move(wrong));
  }
  return std::move(input.instance);
}

}  // namespace isthmus::infra
