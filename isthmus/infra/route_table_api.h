// The requests about route tables.
#pragma once

#include <utility>

#include "isthmus/base/task.h"
#include "isthmus/infra/exchange.h"
#include "isthmus/infra/object_parts.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {

// An exchange outlives its answer.
class RouteTableApi {
 public:
  explicit RouteTableApi(ObjectParts parts) : parts_(std::move(parts)) {}

  Task<net::Response> list(const Exchange& exchange);
  Task<net::Response> get(const Exchange& exchange);
  Task<net::Response> put(const Exchange& exchange);
  Task<net::Response> remove(const Exchange& exchange);

 private:
  net::Response answer(int status, const LedgerSnapshot& snapshot,
                       const RouteTableRecord& record) const;
  net::Response carried_out(const Exchange& exchange, int status, const RouteTablePlan& plan) const;
  net::Response planned(const RouteTablePlan& plan, bool removal) const;

  ObjectParts parts_;
};

}  // namespace isthmus::infra
