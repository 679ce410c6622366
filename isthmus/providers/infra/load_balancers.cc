#include "isthmus/providers/infra/load_balancers.h"

#include <optional>
#include <utility>

#include "isthmus/providers/infra/listing.h"
#include "isthmus/providers/infra/news.h"
#include "isthmus/providers/infra/translate.h"

namespace isthmus::providers::infra {

namespace api = isthmus::infra::api;

std::unexpected<Error> InfraLoadBalancers::noted(Error error) {
  if (error.outcome == Outcome::denied) handshake_.forget();
  return std::unexpected(std::move(error));
}

Task<Result<ObjectId>> InfraLoadBalancers::id_of(std::string name) {
  std::string owner = CO_TRY(co_await handshake_.owner(api::capability::load_balancers));
  co_return ObjectId{std::move(owner), std::move(name)};
}

Task<Result<ObjectsClient::Wish>> InfraLoadBalancers::wish_of(const cloud::LoadBalancerSpec& spec) {
  ObjectId id = CO_TRY(co_await id_of(spec.name));
  ObjectsClient::Wish wish{.id = std::move(id), .body = api::encode_input(to_api(spec))};
  if (handshake_.takes_preferences()) wish.preferred = preferences(spec);
  co_return std::move(wish);
}

template <class T>
Task<Result<T>> InfraLoadBalancers::ask(cloud::LoadBalancerSpec spec, Asking<T> asking) {
  ObjectsClient::Wish wish = CO_TRY(co_await wish_of(spec));
  Result<std::optional<T>> answer = co_await (client_.*asking)(wish);
  if (answer && !*answer) {
    handshake_.has_no_preferences();
    wish.preferred.clear();
    answer = co_await (client_.*asking)(std::move(wish));
  }
  if (!answer) co_return noted(std::move(answer).error());
  co_return **std::move(answer);
}

Task<Result<cloud::LoadBalancerState>> InfraLoadBalancers::ensure(cloud::LoadBalancerSpec spec) {
  api::LoadBalancer balancer = CO_TRY(co_await ask(std::move(spec), &ObjectsClient::put));
  co_return to_cloud(std::move(balancer));
}

Task<Result<cloud::LoadBalancerPreview>> InfraLoadBalancers::preview(cloud::LoadBalancerSpec spec) {
  api::DryRun plan = CO_TRY(co_await ask(std::move(spec), &ObjectsClient::plan));
  co_return to_cloud(std::move(plan));
}

Task<Result<>> InfraLoadBalancers::release(std::string name) {
  ObjectId id = CO_TRY(co_await id_of(std::move(name)));
  Result<> removed = co_await client_.remove_balancer(std::move(id));
  if (!removed) co_return noted(std::move(removed).error());
  co_return Result<>{};
}

Task<Result<cloud::LoadBalancerState>> InfraLoadBalancers::get(std::string name) {
  ObjectId id = CO_TRY(co_await id_of(std::move(name)));
  Result<api::LoadBalancer> found = co_await client_.balancer(std::move(id));
  if (!found) co_return noted(std::move(found).error());
  co_return to_cloud_in_detail(*std::move(found));
}

Task<Result<cloud::Listing<cloud::LoadBalancerState>>> InfraLoadBalancers::list() {
  std::string owner = CO_TRY(co_await handshake_.owner(api::capability::load_balancers));
  Result<BalancerListing> read = co_await read_balancers(client_, std::move(owner));
  if (!read) co_return noted(std::move(read).error());
  co_return std::move(read->listing);
}

Task<Result<>> InfraLoadBalancers::follow(std::function<void(cloud::LoadBalancerNews)> tell) {
  CO_TRY(co_await handshake_.shake());
  CO_TRY(co_await handshake_.needs(api::capability::load_balancers));
  std::string owner = CO_TRY(co_await handshake_.owner(api::capability::load_balancer_watch));
  Result<> ended = co_await tell_news(client_, sets_, std::move(owner), std::move(tell));
  if (!ended) co_return noted(std::move(ended).error());
  co_return Result<>{};
}

}  // namespace isthmus::providers::infra
