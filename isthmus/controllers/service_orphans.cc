#include "isthmus/controllers/service_orphans.h"

#include <algorithm>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/controllers/cluster_identity.h"
#include "isthmus/controllers/live_list.h"
#include "isthmus/controllers/service_plan.h"

namespace isthmus::controllers {
namespace {

std::string label(const cloud::LoadBalancerState& state, std::string_view key) {
  const auto found = state.labels.find(std::string(key));
  return found == state.labels.end() ? std::string() : found->second;
}

}  // namespace

bool are_too_many(std::size_t orphans, std::size_t all, const OrphanLimits& limits) {
  return orphans > limits.many && orphans * 3 > all;
}

ServiceOrphans::ServiceOrphans(OrphanLimits limits, OrphanDoors doors, ServiceBook& book)
    : limits_(limits),
      services_(doors.services),
      api_(doors.api),
      cloud_(doors.cloud),
      book_(book),
      clock_(doors.clock),
      log_(doors.log),
      withheld_(
          {.reason = "LoadBalancerReleaseWithheld", .what = "Load balancers without a Service"},
          doors.metrics.gauge("isthmus_load_balancer_releases_withheld",
                              "Load balancers without a Service that are kept because the "
                              "API server may not know all Services."),
          doors.recorder, doors.clock, doors.log),
      gauge_(doors.metrics.gauge("isthmus_load_balancer_orphans",
                                 "Load balancers of this cluster whose Service does not exist.")),
      released_(doors.metrics.counter("isthmus_load_balancer_orphans_released_total",
                                      "Number of load balancers that were released as orphans.")) {}

Task<Result<>> ServiceOrphans::run(cloud::ClusterUid cluster) {
  const Duration pause =
      std::clamp<Duration>(limits_.grace / 10, std::chrono::seconds(1), std::chrono::minutes(1));
  CO_TRY(co_await services_.synced().wait());
  for (;;) {
    const Result<> swept = co_await sweep(cluster);
    if (!swept && !is_our_own(swept.outcome())) {
      log_.warning("orphans cannot be looked for", {{"error", swept.error()}});
    }
    CO_TRY(co_await sleep_for(pause));
  }
}

Task<Result<>> ServiceOrphans::sweep(cloud::ClusterUid cluster) {
  std::vector<std::string> due = note_orphans(cluster);
  hold_crowd();
  std::erase_if(due, [this](const std::string& name) { return crowd_.contains(name); });
  Result<> confirmed;
  if (!due.empty()) confirmed = co_await confirm_cluster(api_, cluster);
  if (confirmed.outcome() == Outcome::cancelled) co_return confirmed;
  if (!crowd_.empty()) {
    withheld_.hold(cluster, crowd_.size(),
                   "they are too many at once: was the cluster restored from a backup?");
  } else if (!confirmed) {
    withheld_.hold(cluster, due.size(), confirmed.error().message);
  } else {
    withheld_.release();
  }
  if (due.empty() || !confirmed) co_return Result<>{};
  Result<> released = co_await release_due(std::move(cluster), std::move(due));
  co_return released;
}

Task<Result<>> ServiceOrphans::release_due(cloud::ClusterUid cluster,
                                           std::vector<std::string> due) {
  const std::set<std::string> live = CO_TRY(co_await names_of_live(cluster));
  for (const std::string& name : due) {
    const bool is_still_one = book_.strangers().contains(name) && !live.contains(name);
    if (!is_still_one) continue;
    Result<> gone = co_await cloud_.release(name);
    if (!gone) {
      log_.info("orphan is not gone yet", {{"name", name}, {"error", gone.error()}});
      continue;
    }
    log_.info("orphan released", {{"name", name}});
    released_.add();
    if (book_.find(name) == nullptr) book_.forget(name);
    since_.erase(name);
    gauge_.set(static_cast<double>(since_.size()));
  }
  co_return Result<>{};
}

// When they become fewer, somebody has begun to look after them.
void ServiceOrphans::hold_crowd() {
  std::erase_if(crowd_, [this](const std::string& name) { return !since_.contains(name); });
  const std::size_t all = book_.all().size() + book_.strangers().size();
  if (!are_too_many(since_.size(), all, limits_)) return;
  for (const auto& [name, since] : since_) crowd_.insert(name);
}

// Answers those whose grace is over. One whose Service was replaced by a namesake needs none.
std::vector<std::string> ServiceOrphans::note_orphans(const cloud::ClusterUid& cluster) {
  std::set<std::string> wanted;
  for (const auto& [key, service] : services_.all()) {
    const Result<std::string> name = cloud::owned_name(kBalancerKind, cluster, service->meta.uid);
    if (name) wanted.insert(*name);
  }
  std::vector<std::string> due;
  std::map<std::string, Moment> since;
  for (const auto& [name, stranger] : book_.strangers()) {
    if (stranger.is_leaving || wanted.contains(name)) continue;
    const auto known = since_.find(name);
    if (known == since_.end()) {
      log_.warning("load balancer without a Service",
                   {{"name", name},
                    {"namespace", label(stranger, kNamespaceLabel)},
                    {"service", label(stranger, kNameLabel)}});
    }
    const Moment first = known == since_.end() ? clock_.now() : known->second;
    since.emplace(name, first);
    if (was_replaced(stranger) || clock_.now() >= later(first, limits_.grace)) due.push_back(name);
  }
  since_ = std::move(since);
  gauge_.set(static_cast<double>(since_.size()));
  return due;
}

bool ServiceOrphans::was_replaced(const cloud::LoadBalancerState& stranger) const {
  const kube::ObjectKey key{label(stranger, kNamespaceLabel), label(stranger, kNameLabel)};
  return !key.name_space.empty() && !key.name.empty() && services_.find(key) != nullptr;
}

// The names that load balancers of all Services would have that the API server says there are now.
Task<Result<std::set<std::string>>> ServiceOrphans::names_of_live(cloud::ClusterUid cluster) {
  std::set<std::string> names;
  const auto add = [&](const kube::Decoded<kube::Service>& item) -> Result<> {
    const Result<std::string> name = cloud::owned_name(kBalancerKind, cluster, item.uid);
    if (!name) return fail(Outcome::lost, "a Service without a uid: " + to_string(item.key));
    names.insert(*name);
    return {};
  };
  CO_TRY(co_await read_live<kube::Service>(api_, add));
  co_return names;
}

}  // namespace isthmus::controllers
