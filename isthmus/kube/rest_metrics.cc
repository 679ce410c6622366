#include "isthmus/kube/rest_metrics.h"

#include <vector>

namespace isthmus::kube {
namespace {

const std::vector<double> kSeconds = {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
const std::vector<double> kBytes = {64,    256,    512,     1024,    4096,    16384,
                                    65536, 262144, 1048576, 4194304, 16777216};

}  // namespace

RestCall RestMetrics::begin(const net::Request& request, Moment now) {
  metrics_
      .histogram("rest_client_request_size_bytes",
                 "Request size in bytes. Broken down by verb and host.", kBytes,
                 {{"verb", request.method}, {"host", host_}})
      .observe(static_cast<double>(request.body.size()));
  return {request.method, now};
}

void RestMetrics::end(const RestCall& call, Moment now, int status, std::size_t answer_bytes) {
  const std::string code = status == 0 ? "<error>" : std::to_string(status);
  metrics_
      .counter("rest_client_requests_total",
               "Number of HTTP requests, partitioned by status code, method, and host.",
               {{"code", code}, {"method", call.method}, {"host", host_}})
      .add();
  metrics_
      .histogram("rest_client_request_duration_seconds",
                 "Request latency in seconds. Broken down by verb, and host.", kSeconds,
                 {{"verb", call.method}, {"host", host_}})
      .observe(now - call.sent);
  metrics_
      .histogram("rest_client_response_size_bytes",
                 "Response size in bytes. Broken down by verb and host.", kBytes,
                 {{"verb", call.method}, {"host", host_}})
      .observe(static_cast<double>(answer_bytes));
}

}  // namespace isthmus::kube
