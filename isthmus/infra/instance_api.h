// The requests about machines.
#pragma once

#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/exchange.h"
#include "isthmus/infra/instances.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {

// The machines, the logger and the metrics outlive it; an exchange outlives its answer.
class InstanceApi {
 public:
  InstanceApi(Instances& instances, Logger& log, Metrics& metrics)
      : instances_(instances), log_(log), metrics_(metrics) {}

  Task<net::Response> list(const Exchange& exchange);
  Task<net::Response> get(const Exchange& exchange);
  Task<net::Response> put(const Exchange& exchange);
  Task<net::Response> retire(const Exchange& exchange);

 private:
  net::Response written(const Exchange& exchange, const InstancePlan& plan) const;

  Instances& instances_;
  Logger& log_;
  Metrics& metrics_;
};

}  // namespace isthmus::infra
