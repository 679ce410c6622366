#include "isthmus/providers/infra/provider.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "isthmus/providers/infra/answers.h"

namespace isthmus::providers::infra {

namespace api = isthmus::infra::api;

InfraProvider::InfraProvider(std::unique_ptr<net::Transport> transport, const Clock& clock,
                             Files& files, std::string token_file)
    : transport_(std::move(transport)), client_(*transport_, clock, files, std::move(token_file)) {}

Task<Result<>> InfraProvider::check() {
  knows_the_server_ = false;
  const api::ServerInfo info = CO_TRY(co_await client_.server_info());
  if (info.protocol_version != api::kProtocolVersion) {
    co_return fail(Outcome::unsupported,
                   fmt::format("the server speaks version {} of the protocol, and we speak {}",
                               info.protocol_version, api::kProtocolVersion));
  }
  if (info.provider_id_scheme != scheme()) {
    co_return fail(Outcome::invalid,
                   fmt::format("the machines of this server are {}://…, and ours are {}://…",
                               info.provider_id_scheme, scheme()));
  }
  if (!info.has(api::capability::instances)) {
    co_return fail(Outcome::unsupported, "the server knows no machines");
  }
  knows_the_server_ = true;
  co_return {};
}

Task<Result<>> InfraProvider::shake_hands_once() {
  if (!knows_the_server_) CO_TRY(co_await check());
  co_return {};
}

Task<Result<cloud::Instance>> InfraProvider::get(cloud::ProviderId id) {
  if (id.scheme != scheme()) {
    co_return fail(Outcome::invalid, fmt::format("{} is not one of ours", to_string(id)));
  }
  CO_TRY(co_await shake_hands_once());
  std::optional<api::Instance> found = CO_TRY(co_await client_.instance(id.id));
  if (!found) co_return cloud::Instance{.provider_id = std::move(id)};
  co_return to_cloud(scheme(), *std::move(found));
}

// The query is not sent: the API cannot search by name, and the list serves all who ask.
Task<Result<cloud::Listing<cloud::Instance>>> InfraProvider::list(cloud::InstanceQuery) {
  CO_TRY(co_await shake_hands_once());
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
        listing.items.push_back(to_cloud(scheme(), std::move(instance)));
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
