#include "isthmus/kube/layers.h"

#include <utility>
#include <vector>

namespace isthmus::kube {
namespace {

Histogram& waited(Metrics& metrics, std::string verb, const std::string& host) {
  return metrics.histogram(
      "rest_client_rate_limiter_duration_seconds",
      "Client side rate limiter latency in seconds. Broken down by verb, and host.",
      {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60},
      {{"verb", std::move(verb)}, {"host", host}});
}

}  // namespace

PacedApi::PacedApi(ApiDoor& next, TokenBucket& budget, const Clock& clock, Metrics& metrics,
                   const std::string& host)
    : next_(next),
      budget_(budget),
      clock_(clock),
      waited_to_get_(waited(metrics, "GET", host)),
      waited_to_post_(waited(metrics, "POST", host)),
      waited_to_patch_(waited(metrics, "PATCH", host)),
      waited_to_delete_(waited(metrics, "DELETE", host)) {}

Task<Result<>> PacedApi::turn(Histogram& waited) {
  const Moment asked = clock_.now();
  CO_TRY(co_await budget_.take());
  waited.observe(clock_.now() - asked);
  co_return Result<>{};
}

Task<Result<std::string>> PacedApi::get(ObjectName object) {
  CO_TRY(co_await turn(waited_to_get_));
  Result<std::string> answer = co_await next_.get(std::move(object));
  co_return answer;
}

Task<Result<std::string>> PacedApi::list(ListRequest request) {
  CO_TRY(co_await turn(waited_to_get_));
  Result<std::string> answer = co_await next_.list(std::move(request));
  co_return answer;
}

Task<Result<std::unique_ptr<WatchStream>>> PacedApi::watch(WatchRequest request) {
  CO_TRY(co_await turn(waited_to_get_));
  Result<std::unique_ptr<WatchStream>> answer = co_await next_.watch(std::move(request));
  co_return answer;
}

Task<Result<std::string>> PacedApi::create(CreateRequest request) {
  CO_TRY(co_await turn(waited_to_post_));
  Result<std::string> answer = co_await next_.create(std::move(request));
  co_return answer;
}

Task<Result<std::string>> PacedApi::patch(PatchRequest request) {
  CO_TRY(co_await turn(waited_to_patch_));
  Result<std::string> answer = co_await next_.patch(std::move(request));
  co_return answer;
}

Task<Result<>> PacedApi::remove(DeleteRequest request) {
  CO_TRY(co_await turn(waited_to_delete_));
  Result<> answer = co_await next_.remove(std::move(request));
  co_return answer;
}

Task<Result<std::string>> GatedApi::get(ObjectName object) { return next_.get(std::move(object)); }

Task<Result<std::string>> GatedApi::list(ListRequest request) {
  return next_.list(std::move(request));
}

Task<Result<std::unique_ptr<WatchStream>>> GatedApi::watch(WatchRequest request) {
  return next_.watch(std::move(request));
}

Task<Result<std::string>> GatedApi::create(CreateRequest request) {
  return gate_.pass(next_.create(std::move(request)));
}

Task<Result<std::string>> GatedApi::patch(PatchRequest request) {
  return gate_.pass(next_.patch(std::move(request)));
}

Task<Result<>> GatedApi::remove(DeleteRequest request) {
  return gate_.pass(next_.remove(std::move(request)));
}

}  // namespace isthmus::kube
