#include "isthmus/providers/infra/machines.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "isthmus/providers/infra/answers.h"

namespace isthmus::providers::infra {

namespace api = isthmus::infra::api;

InfraInstances::InfraInstances(Client& client, Handshake& handshake, std::string scheme)
    : client_(client), handshake_(handshake), scheme_(std::move(scheme)) {}

Task<Result<cloud::Instance>> InfraInstances::get(cloud::ProviderId id) {
  if (id.scheme != scheme_) {
    co_return fail(Outcome::invalid, fmt::format("{} is not one of ours", to_string(id)));
  }
  CO_TRY(co_await handshake_.needs(api::capability::instances));
  std::optional<api::Instance> found = CO_TRY(co_await client_.instance(id.id));
  if (!found) co_return cloud::Instance{.provider_id = std::move(id)};
  co_return to_cloud(scheme_, *std::move(found));
}

// The query is not sent: the API cannot search by name, and the list serves all who ask.
Task<Result<cloud::Listing<cloud::Instance>>> InfraInstances::list(cloud::InstanceQuery) {
  CO_TRY(co_await handshake_.needs(api::capability::instances));
  cloud::Listing<cloud::Instance> listing{.completeness = cloud::Completeness::complete};
  std::set<std::string> uids;
  std::string token;
  std::uint64_t revision = 0;
  for (int page_number = 0; page_number < kPagesMax; ++page_number) {
    api::InstanceList page = CO_TRY(co_await client_.instances(std::move(token)));
    if (page_number == 0) revision = page.revision;
    // Pages of different revisions, or a machine on two of them, are no consistent view; and who
    // stands behind an item that was not understood is anybody's guess.
    if (page.revision != revision || page.not_understood > 0) {
      listing.completeness = cloud::Completeness::partial;
    }
    for (api::Instance& instance : page.items) {
      if (uids.insert(instance.uid).second) {
        listing.items.push_back(to_cloud(scheme_, std::move(instance)));
      } else {
        listing.completeness = cloud::Completeness::partial;
      }
    }
    token = std::move(page.continue_token);
    if (token.empty()) co_return listing;
  }
  co_return fail(Outcome::lost, fmt::format("a list of more than {} pages", kPagesMax));
}

}  // namespace isthmus::providers::infra
