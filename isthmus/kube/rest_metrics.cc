#include "isthmus/kube/rest_metrics.h"

#include <vector>

namespace isthmus::kube {
namespace {

const std::vector<double> kSeconds = {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
const std::vector<double> kBytes = {64,    256,    512,     1024,    4096,    16384,
                                    65536, 262144, 1048576, 4194304, 16777216};

}  // namespace

RestCall RestMetrics::begin(const net::Request& request, Moment now) {
  of_method(request.method).request_bytes->observe(static_cast<double>(request.body.size()));
  return {request.method, now};
}

void RestMetrics::end(const RestCall& call, Moment now, int status, std::size_t answer_bytes) {
  const OfMethod& series = of_method(call.method);
  series.duration->observe(now - call.sent);
  series.answer_bytes->observe(static_cast<double>(answer_bytes));
  requests(call.method, status).add();
}

RestMetrics::OfMethod& RestMetrics::of_method(const std::string& method) {
  const auto known = methods_.find(method);
  if (known != methods_.end()) return known->second;
  const Metrics::Labels labels = {{"verb", method}, {"host", host_}};
  const OfMethod made = {
      &metrics_.histogram("rest_client_request_size_bytes",
                          "Request size in bytes. Broken down by verb and host.", kBytes, labels),
      &metrics_.histogram("rest_client_response_size_bytes",
                          "Response size in bytes. Broken down by verb and host.", kBytes, labels),
      &metrics_.histogram("rest_client_request_duration_seconds",
                          "Request latency in seconds. Broken down by verb, and host.", kSeconds,
                          labels)};
  return methods_.emplace(method, made).first->second;
}

Counter& RestMetrics::requests(const std::string& method, int status) {
  Counter*& counter = requests_[{method, status}];
  if (counter == nullptr) {
    const std::string code = status == 0 ? "<error>" : std::to_string(status);
    counter =
        &metrics_.counter("rest_client_requests_total",
                          "Number of HTTP requests, partitioned by status code, method, and host.",
                          {{"code", code}, {"method", method}, {"host", host_}});
  }
  return *counter;
}

}  // namespace isthmus::kube
