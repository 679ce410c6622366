// The requests about load balancers: desired state in, the truth out.
#pragma once

#include "isthmus/base/task.h"
#include "isthmus/infra/balancer_wait.h"
#include "isthmus/infra/exchange.h"
#include "isthmus/infra/object_parts.h"
#include "isthmus/net/http.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

// An exchange outlives its answer.
class BalancerApi {
 public:
  explicit BalancerApi(ObjectParts parts);

  Task<net::Response> list(const Exchange& exchange);

  // Where the request waits, the writer tells when its client has left.
  Task<net::Response> get(const Exchange& exchange, net::ResponseWriter& writer);

  Task<net::Response> put(const Exchange& exchange);
  Task<net::Response> remove(const Exchange& exchange);

 private:
  net::Response answer(int status, const LedgerSnapshot& snapshot,
                       const BalancerRecord& record) const;
  net::Response carried_out(const Exchange& exchange, int status, const BalancerPlan& plan) const;
  net::Response planned(const BalancerPlan& plan, bool removal) const;

  ObjectParts parts_;
  BalancerWait wait_;
};

}  // namespace isthmus::infra
