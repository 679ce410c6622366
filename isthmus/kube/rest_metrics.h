// The rest_client_* metrics, as upstream's clients export them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "isthmus/base/clock.h"
#include "isthmus/base/metrics.h"
#include "isthmus/net/http.h"

namespace isthmus::kube {

// One call that was begun.
struct RestCall {
  std::string method;
  Moment sent;
};

// Looks a series up when it first counts and keeps it: looking up takes longer than counting, and a
// manager makes hundreds of calls a second.
class RestMetrics {
 public:
  // `host` labels every series.
  RestMetrics(std::string host, Metrics& metrics) : host_(std::move(host)), metrics_(metrics) {}

  RestCall begin(const net::Request& request, Moment now);

  // A status of 0: there was no answer, which upstream writes as code "<error>".
  void end(const RestCall& call, Moment now, int status, std::size_t answer_bytes);

 private:
  struct OfMethod {
    Histogram* request_bytes;
    Histogram* answer_bytes;
    Histogram* duration;
  };
  OfMethod& of_method(const std::string& method);
  Counter& requests(const std::string& method, int status);

  const std::string host_;
  Metrics& metrics_;
  std::map<std::string, OfMethod> methods_;
  std::map<std::pair<std::string, int>, Counter*> requests_;
};

}  // namespace isthmus::kube
