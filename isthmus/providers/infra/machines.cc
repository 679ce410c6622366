#include "isthmus/providers/infra/machines.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "isthmus/infra/api/rules.h"
#include "isthmus/providers/infra/answers.h"
#include "isthmus/providers/infra/pages.h"

namespace isthmus::providers::infra {

namespace api = isthmus::infra::api;

InfraInstances::InfraInstances(Client& client, Handshake& handshake, std::string scheme)
    : client_(client), handshake_(handshake), scheme_(std::move(scheme)) {}

Task<Result<cloud::Instance>> InfraInstances::get(cloud::ProviderId id) {
  if (id.scheme != scheme_) {
    co_return fail(Outcome::invalid, fmt::format("{} is not one of ours", to_string(id)));
  }
  if (const std::optional<std::string> wrong = api::wrong_uid(id.id)) {
    co_return fail(Outcome::invalid,
                   fmt::format("{} can be no machine's: {}", to_string(id), *wrong));
  }
  CO_TRY(co_await handshake_.needs(api::capability::instances));
  std::optional<api::Instance> found = CO_TRY(co_await client_.instance(id.id));
  if (!found) co_return cloud::Instance{.provider_id = std::move(id)};
  co_return to_cloud(scheme_, *std::move(found));
}

// The query is not sent: the API cannot search by name, and the list serves all who ask.
Task<Result<cloud::Listing<cloud::Instance>>> InfraInstances::list(cloud::InstanceQuery) {
  CO_TRY(co_await handshake_.needs(api::capability::instances));
  cloud::Listing<cloud::Instance> listing;
  std::set<std::string> uids;
  const PagesRead pages = CO_TRY(co_await read_pages<api::InstanceList>(
      [this](std::string token) { return client_.instances(std::move(token)); },
      [&](api::Instance instance) {
        if (!uids.insert(instance.uid).second) return false;
        listing.items.push_back(to_cloud(scheme_, std::move(instance)));
        return true;
      }));
  listing.items.shrink_to_fit();  // It is kept, and had grown to up to twice its size.
  listing.completeness = pages.completeness;
  co_return listing;
}

}  // namespace isthmus::providers::infra
