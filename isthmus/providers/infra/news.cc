#include "isthmus/providers/infra/news.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/providers/infra/listing.h"
#include "isthmus/providers/infra/translate.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using News = cloud::LoadBalancerNews;
using Type = api::WatchEvent::Type;

// An address that is held or cools down is nobody else's yet; only one that is gone is free.
bool frees_something(const api::WatchEvent& event) {
  return event.pool || (event.address && event.type == Type::removed);
}

}  // namespace

NewsReader::NewsReader(const InfraTargetSets& sets, std::string owner,
                       std::function<void(cloud::LoadBalancerNews)> tell)
    : sets_(sets), owner_(std::move(owner)), tell_(std::move(tell)) {}

Result<> NewsReader::take(std::string_view line, Moment now) {
  api::WatchEvent event = TRY(api::decode_watch_event(line));
  if (event.type == Type::problem) {
    return fail(Outcome::lost, "the watch has ended: " + to_sentence(*event.problem));
  }
  if (event.type != Type::changed && event.type != Type::removed) return {};
  if (!event.load_balancer) {
    note(event, now);
    return {};
  }
  const api::Metadata& metadata = event.load_balancer->metadata;
  if (metadata.owner != owner_) {
    return fail(Outcome::lost, fmt::format("asked about {}, and was told of {}'s load balancer {}",
                                           owner_, metadata.owner, metadata.name));
  }
  const bool is_removed = event.type == Type::removed;
  News news{.kind = is_removed ? News::Kind::removed : News::Kind::changed, .states = {}};
  news.states.push_back(to_cloud(*std::move(event.load_balancer)));
  tell_(std::move(news));
  return {};
}

void NewsReader::note(const api::WatchEvent& event, Moment now) {
  if (event.target_set) {
    const api::Metadata& metadata = event.target_set->metadata;
    const bool is_removed = event.type == Type::removed;
    sets_changed_[metadata.name] = is_removed ? UINT64_MAX : metadata.generation;
  } else if (frees_something(event)) {
    resources_changed_ = true;
  } else {
    return;
  }
  if (!due_) due_ = later(now, kResourcesDelay);
}

void NewsReader::tell_resources() {
  due_.reset();
  const auto changed_by_others = [this](const auto& told) {
    const auto ours = sets_.ensured(told.first);
    return ours && told.second > *ours;
  };
  const bool is_news = std::exchange(resources_changed_, false) ||
                       std::ranges::any_of(sets_changed_, changed_by_others);
  sets_changed_.clear();
  if (is_news) tell_({.kind = News::Kind::resources, .states = {}});
}

Task<Result<>> tell_news(ObjectsClient& client, const InfraTargetSets& sets, std::string owner,
                         std::function<void(cloud::LoadBalancerNews)> tell) {
  BalancerListing read = CO_TRY(co_await read_balancers(client, owner));
  if (read.listing.completeness != cloud::Completeness::complete) {
    co_return fail(Outcome::lost, "the list of load balancers is not complete");
  }
  tell({.kind = News::Kind::everything, .states = std::move(read.listing.items)});
  Result<std::unique_ptr<net::LineReader>> lines = co_await client.watch(owner, read.revision);
  if (!lines) {
    // The history does not reach back to the list: list anew.
    Error error = std::move(lines).error();
    if (error.outcome == Outcome::conflict) error.outcome = Outcome::lost;
    co_return std::unexpected(std::move(error));
  }
  NewsReader news(sets, std::move(owner), std::move(tell));
  Result<> ended = co_await read_watch(**lines, news);
  co_return ended;
}

}  // namespace isthmus::providers::infra
