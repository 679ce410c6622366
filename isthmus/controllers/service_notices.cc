#include "isthmus/controllers/service_notices.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace isthmus::controllers {
namespace {

std::string sameness_of(const Error& error) {
  switch (error.outcome) {
    case Outcome::busy:
    case Outcome::lost:
    case Outcome::deadline:
      return "the cloud is out";
    default:
      return error.message;
  }
}

}  // namespace

std::vector<Notice> facts_of(const cloud::LoadBalancerState& state) {
  std::vector<Notice> notices;
  for (const cloud::LoadBalancerState::Fact& fact : state.facts) {
    notices.push_back({.reason = fact.reason.empty() ? "LoadBalancerNotice" : fact.reason,
                       .message = fact.message});
  }
  return notices;
}

Notice sync_failed(const Error& error) {
  return {.reason = std::string(kSyncFailedReason),
          .message = "Error syncing load balancer: " + error.message,
          .sameness = sameness_of(error)};
}

Notice delete_failed(const Error& error) {
  return {.reason = std::string(kDeleteFailedReason),
          .message = "Error deleting load balancer: " + error.message,
          .sameness = sameness_of(error)};
}

Error error_of(const std::vector<cloud::LoadBalancerState::Problem>& problems) {
  ISTHMUS_ASSERT(!problems.empty(), "no problem is no error");
  Error error = problems.front().error;
  error.message = fmt::format("{}: {}", problems.front().part, error.message);
  if (problems.size() > 1) error.message += fmt::format(" (and {} more)", problems.size() - 1);
  return error;
}

Notice no_nodes() {
  return {.reason = std::string(kNoNodesReason),
          .message = "There are no available nodes for LoadBalancer"};
}

Notice contested_balancer() {
  return {.reason = std::string(kContestedReason),
          .message =
              "Somebody else keeps changing its load balancer in the cloud, another manager "
              "with other flags perhaps; it is left as it is for an hour. Please stop "
              "one of the two"};
}

std::string text_of(const std::vector<IpAddress>& addresses) {
  std::vector<std::string> texts;
  for (const IpAddress& address : addresses) texts.push_back(to_string(address));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace isthmus::controllers
