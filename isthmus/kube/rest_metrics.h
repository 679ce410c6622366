// The rest_client_* metrics, as upstream's clients export them.
#pragma once

#include <cstddef>
#include <string>

#include "isthmus/base/clock.h"
#include "isthmus/base/metrics.h"
#include "isthmus/net/http.h"

namespace isthmus::kube {

// One call that was begun.
struct RestCall {
  std::string method;
  Moment sent;
};

class RestMetrics {
 public:
  // `host` labels every series.
  RestMetrics(std::string host, Metrics& metrics) : host_(std::move(host)), metrics_(metrics) {}

  RestCall begin(const net::Request& request, Moment now);

  // A status of 0: there was no answer, which upstream writes as code "<error>".
  void end(const RestCall& call, Moment now, int status, std::size_t answer_bytes);

 private:
  const std::string host_;
  Metrics& metrics_;
};

}  // namespace isthmus::kube
