#include "isthmus/controllers/service_outlook.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/duration.h"
#include "isthmus/base/text.h"
#include "isthmus/controllers/node_targets.h"
#include "isthmus/controllers/service_book.h"
#include "isthmus/controllers/service_notices.h"
#include "isthmus/controllers/service_orphans.h"

namespace isthmus::controllers {
namespace {

using Effect = cloud::LoadBalancerPreview::Effect;

// Of a change of a thousand targets, enough to see what it is.
constexpr std::size_t kValueShown = 120;
constexpr std::size_t kChangesShown = 20;

void add(const std::vector<cloud::LoadBalancerPreview::Change>& changes, Outlook& outlook) {
  const auto shown = [](const std::string& value) {
    return value.empty() ? std::string("nothing") : shortened(value, kValueShown);
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (i == kChangesShown) {
      outlook.details.push_back(fmt::format("{} more changes", changes.size() - i));
      return;
    }
    outlook.details.push_back(
        fmt::format("{}: {} -> {}", changes[i].part, shown(changes[i].from), shown(changes[i].to)));
  }
}

Outlook about(const kube::Service& service, Act act, std::string reason, std::string message) {
  return {.kind = "Service",
          .key = service.meta.key,
          .act = act,
          .reason = std::move(reason),
          .message = std::move(message)};
}

void add(const std::vector<Notice>& notices, Outlook& outlook) {
  for (const Notice& notice : notices) {
    if (outlook.reason.empty()) outlook.reason = notice.reason;
    if (notice.message != outlook.message) outlook.details.push_back(notice.message);
  }
}

std::string finalizer() { return fmt::format("finalizer {}", kServiceFinalizer); }

// What a cloud that does not take a spec means for its Service.
Outlook refused(const kube::Service& service, const Error& error) {
  const bool is_for_good = error.outcome == Outcome::conflict ||
                           error.outcome == Outcome::invalid ||
                           error.outcome == Outcome::unsupported;
  if (is_for_good) {
    return about(service, Act::refuse, std::string(kSyncFailedReason), error.message);
  }
  return about(
      service, Act::unknown, "CloudNotAsked",
      fmt::format("the cloud cannot be asked: {}: {}", to_string(error.outcome), error.message));
}

cloud::LoadBalancers& balancers_of(cloud::Provider& cloud) {
  cloud::LoadBalancers* balancers = cloud.capabilities().load_balancers;
  ISTHMUS_ASSERT(balancers != nullptr, "Services of a cloud without load balancers");
  return *balancers;
}

}  // namespace

ServiceOutlook::ServiceOutlook(ServiceControllerOptions options,
                               kube::Store<kube::Service>& services, const EligibleNodes& nodes,
                               cloud::ClusterUid cluster, cloud::Provider& cloud)
    : options_(std::move(options)),
      services_(services),
      nodes_(nodes),
      cluster_(std::move(cluster)),
      balancers_(balancers_of(cloud)),
      sets_(options_.shares_targets ? cloud.capabilities().target_sets : nullptr) {}

// What Nodes are checked by was found out by the manager, and stands beside what is checked.
Task<Result<>> ServiceOutlook::learn() {
  auto all = CO_TRY(co_await balancers_.list());
  for (cloud::LoadBalancerState& state : all.items) {
    if (!cloud::is_owned_name(state.name, kBalancerKind, cluster_)) continue;
    const auto label = state.labels.find(std::string(kNodeHealthLabel));
    const auto checked_by =
        label == state.labels.end() ? std::nullopt : parse_node_health(label->second);
    if (checked_by == NodeHealth::kubelet) automatic_ = NodeHealth::kubelet;
    std::string name = state.name;
    states_.emplace(std::move(name), std::move(state));
  }
  Result<> learned = co_await learn_targets();
  co_return learned;
}

Task<Result<>> ServiceOutlook::learn_targets() {
  if (sets_ == nullptr) co_return Result<>{};
  Result<cloud::TargetSetPreview> preview =
      co_await sets_->preview(target_set_of(cluster_, nodes_));
  if (preview.outcome() == Outcome::unsupported) co_return Result<>{};
  if (!preview) co_return std::unexpected(std::move(preview).error());
  set_ = *std::move(preview);
  co_return Result<>{};
}

const cloud::LoadBalancerState* ServiceOutlook::find(std::string_view name) const {
  const auto found = states_.find(name);
  return found == states_.end() ? nullptr : &found->second;
}

std::optional<kube::ObjectKey> ServiceOutlook::owner(std::string_view name) const {
  for (const auto& [key, service] : services_.all()) {
    if (cloud::owned_name(kBalancerKind, cluster_, service->meta.uid) == name) return key;
  }
  return std::nullopt;
}

ServicePlan ServiceOutlook::plan(const kube::Service& service) const {
  const Result<std::string> name = cloud::owned_name(kBalancerKind, cluster_, service.meta.uid);
  return plan_service(
      service, options_.plan,
      {.cluster = cluster_,
       .nodes = nodes_,
       .target_set = set_ ? cloud::cluster_name(kTargetSetKind, cluster_) : std::string(),
       .has_balancer = name && states_.contains(*name),
       .automatic = automatic_});
}

Task<Result<Outlook>> ServiceOutlook::of(kube::Snapshot<kube::Service> service) {
  ServicePlan what = plan(*service);
  Outlook outlook;
  if (auto* act = std::get_if<EnsureService>(&what.what)) {
    if (nodes_.targets.empty()) what.notices.push_back(no_nodes());
    outlook = CO_TRY(co_await ensured(service, std::move(*act)));
  } else if (const auto* release = std::get_if<ReleaseService>(&what.what)) {
    outlook = released(*service, *release);
  } else if (const auto* refusal = std::get_if<RefuseService>(&what.what)) {
    outlook = about(*service, Act::refuse, refusal->reason, refusal->message);
  } else {
    outlook = about(*service, Act::none, "", std::get<LeaveService>(what.what).why);
  }
  add(what.notices, outlook);
  co_return outlook;
}

Outlook ServiceOutlook::released(const kube::Service& service, const ReleaseService& act) const {
  const cloud::LoadBalancerState* state = find(act.name);
  Outlook outlook = about(service, state != nullptr ? Act::release : Act::publish, "", act.why);
  if (state != nullptr) {
    outlook.details.push_back(
        fmt::format("load balancer {} at {}", act.name, controllers::text_of(state->addresses)));
  }
  if (act.clear_status) outlook.details.emplace_back("no status");
  if (act.remove_finalizer) outlook.details.push_back("no " + finalizer());
  return outlook;
}

// A set of targets that is to be made first is not known to the cloud yet: they are named inline.
Task<Result<Outlook>> ServiceOutlook::ensured(kube::Snapshot<kube::Service> service,
                                              EnsureService act) {
  const std::string text = describe(ServicePlan{act});
  const bool asks_for_one = !act.spec.requested_addresses.empty();
  const std::string name = act.spec.name;
  if (set_ && set_->effect == Effect::created) {
    act.spec.target_set.clear();
    act.spec.targets = nodes_.targets;
  }
  const Result<cloud::LoadBalancerPreview> preview =
      co_await balancers_.preview(std::move(act.spec));
  if (preview.outcome() == Outcome::cancelled) co_return std::unexpected(preview.error());
  if (!preview) {
    Error error = preview.error();
    error.message = explained(error.message, [this](std::string_view of) { return owner(of); });
    co_return refused(*service, error);
  }

  const cloud::LoadBalancerState* state = find(name);
  const bool is_new = preview->effect == Effect::created;
  if (preview->effect == Effect::unchanged && state != nullptr) {
    co_return standing(*service, act.add_finalizer, *state);
  }
  std::vector<std::string> parts = parts_of(text);
  Outlook outlook = about(*service, is_new ? Act::create : Act::update, "",
                          is_new ? std::move(parts.front()) : "change " + name);
  outlook.details.push_back(
      fmt::format("address {}{}", controllers::text_of(preview->addresses),
                  is_new && !asks_for_one ? ", if nobody else is given it before" : ""));
  if (is_new) {
    outlook.details.insert(outlook.details.end(), parts.begin() + 1, parts.end());
  } else {
    add(preview->changes, outlook);
    if (act.add_finalizer) outlook.details.push_back(finalizer());
  }
  co_return outlook;
}

// The cloud has been told everything.
Outlook ServiceOutlook::standing(const kube::Service& service, bool adds_finalizer,
                                 const cloud::LoadBalancerState& state) const {
  const std::string at = fmt::format("{} at {}", state.name, controllers::text_of(state.addresses));
  Outlook outlook = about(service, Act::none, "", "load balancer " + at + " is as it should be");
  const bool answers = state.settled && !state.addresses.empty();
  if (!answers) {
    outlook.act = Act::wait;
    outlook.message = fmt::format("the cloud is still working on load balancer {}", state.name);
  }
  if (adds_finalizer) outlook.details.push_back(finalizer());
  if (answers && service.ingress != ingress_of(state)) {
    outlook.details.push_back("status " + controllers::text_of(state.addresses));
  }
  if (!outlook.details.empty()) {
    outlook.act = Act::publish;
    outlook.message = "load balancer " + at + " stands, and the Service does not say so";
  }
  for (const auto& problem : state.problems) {
    outlook.details.push_back(fmt::format("{}: {}", problem.part, problem.error.message));
  }
  add(facts_of(state), outlook);
  return outlook;
}

std::optional<Outlook> ServiceOutlook::of_targets() const {
  const bool is_used = std::ranges::any_of(services_.all(), [this](const auto& each) {
    return std::holds_alternative<EnsureService>(plan(*each.second).what);
  });
  if (!set_ || !is_used) return std::nullopt;
  Outlook outlook{.kind = "TargetSet",
                  .key = {.name = cloud::cluster_name(kTargetSetKind, cluster_)},
                  .message = fmt::format("{} Nodes are eligible", nodes_.targets.size())};
  if (set_->effect != Effect::unchanged) {
    outlook.act = set_->effect == Effect::created ? Act::create : Act::update;
    add(set_->changes, outlook);
  }
  for (const auto& [node, why] : nodes_.left_out) {
    outlook.details.push_back(fmt::format("not node {}: it {}", node, why));
  }
  return outlook;
}

std::vector<Outlook> ServiceOutlook::of_orphans() const {
  std::set<std::string, std::less<>> wanted;
  for (const auto& [key, service] : services_.all()) {
    if (auto name = cloud::owned_name(kBalancerKind, cluster_, service->meta.uid)) {
      wanted.insert(*std::move(name));
    }
  }
  std::vector<Outlook> orphans;
  for (const auto& [name, state] : states_) {
    if (state.is_leaving || wanted.contains(name)) continue;
    orphans.push_back({.kind = "LoadBalancer",
                       .key = {.name = name},
                       .act = Act::release,
                       .reason = "Orphan",
                       .message = fmt::format("its Service is gone; it is kept for {} first",
                                              format_duration(options_.orphan_grace)),
                       .details = {"at " + controllers::text_of(state.addresses)}});
  }
  if (are_too_many(orphans.size(), states_.size(),
                   {.grace = options_.orphan_grace, .many = options_.orphans_max})) {
    for (Outlook& each : orphans) {
      each.act = Act::withhold;
      each.message = fmt::format(
          "its Service is gone, and so are those of {} of {} load balancers: was the cluster "
          "restored from a backup?",
          orphans.size(), states_.size());
    }
  }
  return orphans;
}

}  // namespace isthmus::controllers
