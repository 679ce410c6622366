#include "isthmus/infra/object_api.h"

namespace isthmus::infra {

using Operation = Route::Operation;

ObjectApi::ObjectApi(const ObjectParts& parts)
    : parts_(parts), balancers_(parts), target_sets_(parts), route_tables_(parts), pools_(parts) {}

OwnerEvents ObjectApi::events(const Exchange& exchange) {
  return OwnerEvents(parts_.ledger, parts_.access, parts_.clock, exchange.route.owner,
                     exchange.caller.role == Caller::Role::admin);
}

Task<net::Response> ObjectApi::answer(const Exchange& exchange, net::ResponseWriter& writer) {
  switch (exchange.route.operation) {
    case Operation::list_load_balancers:
      return balancers_.list(exchange);
    case Operation::get_load_balancer:
      return balancers_.get(exchange, writer);
    case Operation::put_load_balancer:
      return balancers_.put(exchange);
    case Operation::delete_load_balancer:
      return balancers_.remove(exchange);
    case Operation::list_target_sets:
      return target_sets_.list(exchange);
    case Operation::get_target_set:
      return target_sets_.get(exchange);
    case Operation::put_target_set:
      return target_sets_.put(exchange);
    case Operation::delete_target_set:
      return target_sets_.remove(exchange);
    case Operation::list_route_tables:
      return route_tables_.list(exchange);
    case Operation::get_route_table:
      return route_tables_.get(exchange);
    case Operation::put_route_table:
      return route_tables_.put(exchange);
    case Operation::delete_route_table:
      return route_tables_.remove(exchange);
    case Operation::list_addresses:
      return pools_.list_addresses(exchange);
    case Operation::list_pools:
      return pools_.list_pools(exchange);
    case Operation::get_pool:
      return pools_.get_pool(exchange);
    case Operation::list_owners:
      return pools_.list_owners(exchange);
    case Operation::list_orphans:
      return pools_.list_orphans(exchange);
    case Operation::delete_orphan:
      return pools_.abandon_orphan(exchange);
    default:
      break;
  }
  ISTHMUS_ASSERT(false, "an operation of somebody else");
}

}  // namespace isthmus::infra
