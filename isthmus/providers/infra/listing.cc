#include "isthmus/providers/infra/listing.h"

#include <set>
#include <utility>

#include "isthmus/providers/infra/pages.h"
#include "isthmus/providers/infra/translate.h"

namespace isthmus::providers::infra {

namespace api = isthmus::infra::api;

Task<Result<BalancerListing>> read_balancers(ObjectsClient& client, std::string owner) {
  BalancerListing read;
  std::set<std::string> names;
  const PagesRead pages = CO_TRY(co_await read_pages<api::LoadBalancerList>(
      [&](std::string token) { return client.balancers(owner, std::move(token)); },
      [&](api::LoadBalancer balancer) {
        const bool is_ours = balancer.metadata.owner == owner;
        if (!is_ours || !names.insert(balancer.metadata.name).second) return false;
        read.listing.items.push_back(to_cloud(std::move(balancer)));
        return true;
      }));
  read.listing.completeness = pages.completeness;
  read.revision = pages.revision;
  co_return read;
}

}  // namespace isthmus::providers::infra
