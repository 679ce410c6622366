#include "isthmus/providers/infra/listing.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "isthmus/providers/infra/client.h"
#include "isthmus/providers/infra/translate.h"

namespace isthmus::providers::infra {

namespace api = isthmus::infra::api;

Task<Result<BalancerListing>> read_balancers(ObjectsClient& client, std::string owner) {
  BalancerListing read{.listing = {.completeness = cloud::Completeness::complete}};
  std::set<std::string> names;
  std::string token;
  for (int page_number = 0; page_number < kPagesMax; ++page_number) {
    api::LoadBalancerList page = CO_TRY(co_await client.balancers(owner, std::move(token)));
    if (page_number == 0) read.revision = page.revision;
    bool is_consistent = page.revision == read.revision && page.not_understood == 0;
    for (api::LoadBalancer& balancer : page.items) {
      const bool is_ours = balancer.metadata.owner == owner;
      if (is_ours && names.insert(balancer.metadata.name).second) {
        read.listing.items.push_back(to_cloud(std::move(balancer)));
      } else {
        is_consistent = false;
      }
    }
    if (!is_consistent) read.listing.completeness = cloud::Completeness::partial;
    token = std::move(page.continue_token);
    if (token.empty()) co_return read;
  }
  co_return fail(Outcome::lost, fmt::format("a list of more than {} pages", kPagesMax));
}

}  // namespace isthmus::providers::infra
