#include "isthmus/kube/rest_metrics.h"

#include <gtest/gtest.h>

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;

TEST(rest_metrics, count_and_time_calls_under_upstreams_names) {
  Metrics metrics;
  RestMetrics rest("h:6443", metrics);
  const net::Request request{"PATCH", "/x", {}, std::string(300, 'x')};
  rest.end(rest.begin(request, Moment{}), Moment{2s}, 200, 15'000);
  rest.end(rest.begin(request, Moment{}), Moment{30ms}, 0, 0);
  const std::string text = metrics.text();
  for (const char* line :
       {R"(rest_client_requests_total{code="200",host="h:6443",method="PATCH"} 1)",
        R"(rest_client_requests_total{code="<error>",host="h:6443",method="PATCH"} 1)",
        R"(rest_client_request_duration_seconds_count{host="h:6443",verb="PATCH"} 2)",
        R"(rest_client_request_duration_seconds_bucket{host="h:6443",verb="PATCH",le="0.1"} 1)",
        R"(rest_client_request_size_bytes_bucket{host="h:6443",verb="PATCH",le="256"} 0)",
        R"(rest_client_response_size_bytes_bucket{host="h:6443",verb="PATCH",le="16384"} 2)"}) {
    EXPECT_NE(text.find(line), text.npos) << line << "\n" << text;
  }
}

}  // namespace
}  // namespace isthmus::kube
