#include "isthmus/providers/infra/answers.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/text.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;

constexpr std::size_t kQuotedBytesMax = 200;  // Of a body that we do not understand.

// By the type, else by the status class.
Outcome outcome_of(const api::Problem& problem) {
  const std::string_view type = problem.suffix();
  if (type == api::problem::path_not_found) return Outcome::unsupported;
  switch (problem.status) {
    case 400:
    case 413:
    case 415:
    case 422:
      return Outcome::invalid;
    case 405:
    case 501:
      return Outcome::unsupported;
    case 409:
    case 410:
    case 412:
      return Outcome::conflict;
    default:
      return Outcome::lost;
  }
}

// Of a body that is no problem, enough for somebody to recognise whose page it is.
std::string describe_body(const net::Response& response) {
  const auto type = response.headers.find("Content-Type").value_or("no content type");
  return fmt::format("HTTP {}, {}: {}", response.status, type,
                     quoted(shortened(trimmed(response.body), kQuotedBytesMax)));
}

cloud::AddressType to_cloud(api::AddressType type) {
  switch (type) {
    case api::AddressType::internal_ip:
      return cloud::AddressType::internal_ip;
    case api::AddressType::external_ip:
      return cloud::AddressType::external_ip;
    case api::AddressType::hostname:
      return cloud::AddressType::hostname;
    case api::AddressType::internal_dns:
      return cloud::AddressType::internal_dns;
    case api::AddressType::external_dns:
      return cloud::AddressType::external_dns;
  }
  ISTHMUS_ASSERT(false, "an AddressType that is none");
}

cloud::Power to_cloud(api::Power power) {
  switch (power) {
    case api::Power::unknown:
      return cloud::Power::unknown;
    case api::Power::running:
      return cloud::Power::running;
    case api::Power::stopped:
      return cloud::Power::stopped;
  }
  ISTHMUS_ASSERT(false, "a Power that is none");
}

cloud::Presence to_cloud(api::Presence presence) {
  switch (presence) {
    case api::Presence::present:
      return cloud::Presence::present;
    case api::Presence::unknown:
      return cloud::Presence::unknown;
    case api::Presence::absent:
      return cloud::Presence::absent;
  }
  ISTHMUS_ASSERT(false, "a Presence that is none");
}

}  // namespace

std::optional<api::Problem> problem_of(const net::Response& response) {
  const auto type = response.headers.find("Content-Type").value_or("");
  if (type.substr(0, type.find(';')) != api::kProblemMediaType) return std::nullopt;
  Result<api::Problem> problem = api::decode_problem(response.body, response.status);
  if (!problem) return std::nullopt;
  return *std::move(problem);
}

std::optional<bool> speaks_of(const api::Problem& problem, std::string_view path) {
  if (problem.instance.empty()) return std::nullopt;
  const std::string_view reference = problem.instance;
  const auto said = net::percent_decode(reference.substr(0, reference.find_first_of("?#")));
  const auto asked = net::percent_decode(path);
  return said && asked && said->ends_with(*asked);
}

Error error_of(const net::Response& response, WallTime now) {
  const std::optional<api::Problem> problem = problem_of(response);
  Error error{Outcome::lost, problem ? to_sentence(*problem) : describe_body(response)};
  if (response.status == 401 || response.status == 403) {
    error.outcome = Outcome::denied;
  } else if (response.status == 429 || response.status == 503) {
    error.outcome = Outcome::busy;
    const Duration said = std::chrono::seconds(problem ? problem->retry_after_s : 0);
    error.retry_after = net::retry_after(response.headers, now).value_or(said);
  } else if (problem) {
    error.outcome = outcome_of(*problem);
  }
  return error;
}

cloud::Instance to_cloud(const std::string& scheme, api::Instance instance) {
  cloud::Instance machine{.provider_id = {scheme, std::move(instance.uid)},
                          .names = {std::move(instance.name)},
                          .system_uuid = std::move(instance.system_uuid),
                          .type = std::move(instance.type),
                          .region = std::move(instance.region),
                          .zone = std::move(instance.zone),
                          .labels = std::move(instance.labels),
                          .power = to_cloud(instance.power),
                          .presence = to_cloud(instance.presence)};
  for (api::Address& address : instance.addresses) {
    machine.addresses.push_back({to_cloud(address.type), std::move(address.address)});
  }
  return machine;
}

}  // namespace isthmus::providers::infra
