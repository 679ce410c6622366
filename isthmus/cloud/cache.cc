#include "isthmus/cloud/cache.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "isthmus/cloud/identity.h"

namespace isthmus::cloud {

struct InstanceCache::Snapshot {
  // Where in the listing a key is found. Sorted once, then only read.
  struct Place {
    std::string key;
    std::size_t item;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  using Index = std::vector<Place>;

  explicit Snapshot(Listing<Instance> listing_) : listing(std::move(listing_)) {
    for (std::size_t i = 0; i < listing.items.size(); ++i) {
      const Instance& instance = listing.items[i];
      by_id.push_back(i);
      if (!instance.system_uuid.empty()) by_uuid.emplace_back(uuid_key(instance.system_uuid), i);
      for (const std::string& name : instance.names) by_name.emplace_back(name_key(name), i);
      for (const Address& address : instance.addresses) {
        if (address.type != AddressType::internal_ip) continue;
        by_ip.emplace_back(ip_key(address.address), i);
      }
    }
    std::ranges::sort(by_id, [this](std::size_t a, std::size_t b) {
      return std::tie(id_of(a), a) < std::tie(id_of(b), b);  // Of two that share one, the first.
    });
    for (Index* index : {&by_uuid, &by_name, &by_ip}) {
      std::ranges::sort(*index);
      index->shrink_to_fit();
    }
  }

  const ProviderId& id_of(std::size_t item) const { return listing.items[item].provider_id; }

  const Instance* find(const ProviderId& id) const {
    const auto id_of_item = std::bind_front(&Snapshot::id_of, this);
    const auto place = std::ranges::lower_bound(by_id, id, {}, id_of_item);
    return place != by_id.end() && id_of(*place) == id ? &listing.items[*place] : nullptr;
  }

  Listing<Instance> matching(const InstanceQuery& query) const {
    if (query.asks_for_all()) return listing;
    std::set<std::size_t> found;  // In the order of the listing.
    const auto collect = [&](const Index& index, const std::string& key) {
      for (const Place& place : std::ranges::equal_range(index, key, {}, &Place::key)) {
        found.insert(place.item);
      }
    };
    if (!query.system_uuid.empty()) collect(by_uuid, uuid_key(query.system_uuid));
    if (!query.name.empty()) collect(by_name, name_key(query.name));
    for (const std::string& address : query.internal_ips) collect(by_ip, ip_key(address));
    Listing<Instance> answer{.completeness = listing.completeness};
    for (const std::size_t i : found) answer.items.push_back(listing.items[i]);
    return answer;
  }

  Listing<Instance> listing;
  std::vector<std::size_t> by_id;
  Index by_uuid;
  Index by_name;
  Index by_ip;
};

InstanceCache::InstanceCache(Instances& next, Loop& loop, Metrics& metrics, CacheLimits limits)
    : loop_(loop),
      limits_(limits),
      hits_(metrics.counter("isthmus_instance_cache_total", "Questions about machines.",
                            {{"result", "hit"}})),
      misses_(metrics.counter("isthmus_instance_cache_total", "Questions about machines.",
                              {{"result", "miss"}})),
      singles_(loop, [this, &next](ProviderId id) { return fetch_one(next, std::move(id)); }),
      lists_(loop, [&next](int) { return fetch_list(next); }) {}

InstanceCache::~InstanceCache() = default;

Task<Result<Instance>> InstanceCache::get(ProviderId id, Duration max_age) {
  const Moment not_before = loop_.now() - max_age;
  if (const Instance* recent = find_recent(id, not_before)) {
    hits_.add();
    co_return *recent;
  }
  misses_.add();
  if (list_is_cheaper()) {
    // A list that fails says nothing about this machine; the single look-up below will.
    const Result<Dated<SnapshotPtr>> list = co_await recent_list(not_before);
    if (!list && is_our_own(list.outcome())) co_return std::unexpected(list.error());
    if (const Instance* recent = find_recent(id, not_before)) co_return *recent;
  }
  Dated<Instance> answer = CO_TRY(co_await singles_.ask(id, not_before));
  keep(answer.value, answer.as_of);
  co_return std::move(answer.value);
}

Task<Result<Listing<Instance>>> InstanceCache::list(InstanceQuery query, Duration max_age) {
  const Moment asked = loop_.now();
  const Dated<SnapshotPtr> recent = CO_TRY(co_await recent_list(asked - max_age));
  Listing<Instance> found = recent.value->matching(query);
  if (!found.items.empty() || query.asks_for_all()) co_return found;
  // The machine may be newer than the list.
  if (!doubted_at_ || asked - *doubted_at_ >= limits_.doubts_apart) doubted_at_ = asked;
  const Dated<SnapshotPtr> newer = CO_TRY(co_await recent_list(*doubted_at_));
  co_return newer.value->matching(query);
}

Task<Result<Dated<InstanceCache::SharedList>>> InstanceCache::whole_list(Duration max_age) {
  Dated<SnapshotPtr> recent = CO_TRY(co_await recent_list(loop_.now() - max_age));
  const Listing<Instance>& listing = recent.value->listing;
  co_return Dated<SharedList>{SharedList(std::move(recent.value), &listing), recent.as_of};
}

std::shared_ptr<const InstanceCache::OnGone> InstanceCache::on_gone(OnGone tell) {
  auto listener = std::make_shared<const OnGone>(std::move(tell));
  on_gone_ = listener;
  return listener;
}

void InstanceCache::forget() {
  kept_.clear();
  look_ups_.clear();
  snapshot_.reset();
}

Task<Result<Instance>> InstanceCache::fetch_one(Instances& next, ProviderId id) {
  const Moment sent = loop_.now();
  Result<Instance> answer = co_await next.get(id);
  const bool is_gone =
      answer ? answer->presence == Presence::absent : answer.outcome() == Outcome::absent;
  if (!is_gone) co_return answer;
  if (const auto tell = on_gone_.lock()) (*tell)(id, sent);
  co_return answer;
}

Task<Result<InstanceCache::SnapshotPtr>> InstanceCache::fetch_list(Instances& next) {
  Listing<Instance> listing = CO_TRY(co_await next.list({}));
  co_return std::make_shared<const Snapshot>(std::move(listing));
}

Task<Result<Dated<InstanceCache::SnapshotPtr>>> InstanceCache::recent_list(Moment not_before) {
  if (snapshot_ && snapshot_as_of_ >= not_before) {
    hits_.add();
    co_return Dated<SnapshotPtr>{snapshot_, snapshot_as_of_};
  }
  misses_.add();
  Dated<SnapshotPtr> answer = CO_TRY(co_await lists_.ask(0, not_before));
  if (!snapshot_ || snapshot_as_of_ < answer.as_of) {
    snapshot_ = answer.value;
    snapshot_as_of_ = answer.as_of;
  }
  co_return answer;
}

const Instance* InstanceCache::find_recent(const ProviderId& id, Moment not_before) const {
  const Instance* recent = nullptr;
  Moment as_of = not_before;
  if (const auto kept = kept_.find(id); kept != kept_.end() && kept->second.as_of >= as_of) {
    recent = &kept->second.instance;
    as_of = kept->second.as_of;
  }
  if (!snapshot_ || snapshot_as_of_ < as_of) return recent;
  const Instance* listed = snapshot_->find(id);
  return listed == nullptr ? recent : listed;
}

bool InstanceCache::list_is_cheaper() {
  const Moment now = loop_.now();
  while (!look_ups_.empty() && now - look_ups_.front() > limits_.window) look_ups_.pop_front();
  const bool many = look_ups_.size() >= limits_.look_ups_per_list;
  if (!many) look_ups_.push_back(now);
  return many;
}

void InstanceCache::keep(const Instance& instance, Moment as_of) {
  if (kept_.size() >= limits_.kept_max) {
    kept_.erase(
        std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.as_of; }));
  }
  Kept& kept = kept_[instance.provider_id];
  if (kept.as_of <= as_of) kept = {instance, as_of};
}

}  // namespace isthmus::cloud
