// The requests about pools, the addresses in them, who has anything, and orphans.
#pragma once

#include <utility>

#include "isthmus/base/task.h"
#include "isthmus/infra/exchange.h"
#include "isthmus/infra/object_parts.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {

// An exchange outlives its answer.
class PoolApi {
 public:
  explicit PoolApi(ObjectParts parts) : parts_(std::move(parts)) {}

  // Those that the caller may use, with how much of each is used; an admin sees all.
  Task<net::Response> list_pools(const Exchange& exchange);
  Task<net::Response> get_pool(const Exchange& exchange);

  // What the owner's load balancers hold or held a moment ago, and what orphans of the owner hold.
  Task<net::Response> list_addresses(const Exchange& exchange);

  // Itself for an owner, everybody who has anything for an admin.
  Task<net::Response> list_owners(const Exchange& exchange);

  Task<net::Response> list_orphans(const Exchange& exchange);

  // Gives one up: the host removes what it holds of it.
  Task<net::Response> abandon_orphan(const Exchange& exchange);

 private:
  std::shared_ptr<const PoolNames> pools_of(const Caller& caller) const;
  bool is_abandoned(const ObjectName& name) const;

  ObjectParts parts_;
};

}  // namespace isthmus::infra
