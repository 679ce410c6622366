// Everything that is asked about load balancers and what belongs to them: hands each operation to
// who answers it.
#pragma once

#include <string>

#include "isthmus/base/task.h"
#include "isthmus/infra/balancer_api.h"
#include "isthmus/infra/exchange.h"
#include "isthmus/infra/object_parts.h"
#include "isthmus/infra/owner_events.h"
#include "isthmus/infra/pool_api.h"
#include "isthmus/infra/route_table_api.h"
#include "isthmus/infra/target_set_api.h"
#include "isthmus/net/http.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

class ObjectApi {
 public:
  explicit ObjectApi(const ObjectParts& parts);

  // The operations about load balancers, target sets, route tables, pools, addresses, owners and
  // orphans, but not the watch. The exchange and the writer, which is only asked whether its client
  // is still there, outlive the answer.
  Task<net::Response> answer(const Exchange& exchange, net::ResponseWriter& writer);

  // What the watch of the exchange's owner tells.
  OwnerEvents events(const Exchange& exchange);

 private:
  ObjectParts parts_;
  BalancerApi balancers_;
  TargetSetApi target_sets_;
  RouteTableApi route_tables_;
  PoolApi pools_;
};

}  // namespace isthmus::infra
