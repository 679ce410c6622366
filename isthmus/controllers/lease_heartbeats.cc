#include "isthmus/controllers/lease_heartbeats.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace isthmus::controllers {
namespace {

constexpr const char* kNamespace = "kube-node-lease";

// A Lease is about 1 KB, so a page is half a MB.
constexpr std::int64_t kPageLimit = 500;

// Twenty times the largest cluster that Kubernetes promises; we keep about 150 bytes of each.
constexpr std::size_t kLeasesMax = 100'000;

// What this look shows of one Lease that can be read. A text that the look before did not show was
// written after that look was asked for.
Heartbeat heard(const HeartbeatList* before, const std::string& node, std::string renew_time,
                Moment answered) {
  Heartbeat heartbeat{.renew_time = std::move(renew_time), .silent_since = answered};
  if (before == nullptr || before->unreadable.contains(node)) return heartbeat;
  const auto known = before->leases.find(node);
  if (known != before->leases.end() && known->second.renew_time == heartbeat.renew_time) {
    return known->second;
  }
  if (!heartbeat.renew_time.empty()) heartbeat.renewed_after = before->as_of;
  return heartbeat;
}

}  // namespace

HeartbeatList after_look(const HeartbeatList* before, HeartbeatLook look) {
  HeartbeatList list{.as_of = look.sent, .looking_since = look.answered};
  for (auto& [node, renew_time] : look.renew_times) {
    if (renew_time) {
      list.leases.emplace(node, heard(before, node, std::move(*renew_time), look.answered));
    } else {
      list.unreadable.insert(node);
    }
  }
  if (before == nullptr) return list;

  const Moment oldest = look.answered - kVanishedForgotten;
  list.looking_since = std::max(before->looking_since, oldest);
  const auto is_missing = [&look](const std::string& node) {
    return !look.renew_times.contains(node);
  };
  for (const auto& [node, heartbeat] : before->leases) {
    if (is_missing(node)) list.vanished.emplace(node, look.answered);
  }
  for (const std::string& node : before->unreadable) {
    if (is_missing(node)) list.vanished.emplace(node, look.answered);
  }
  for (const auto& [node, since] : before->vanished) {
    if (is_missing(node) && since > oldest) list.vanished.emplace(node, since);
  }
  return list;
}

LeaseHeartbeats::LeaseHeartbeats(kube::ApiDoor& api, Loop& loop)
    : api_(api), loop_(loop), looks_(loop, [this](Everyone) { return look(); }) {}

Task<Result<HeartbeatSnapshot>> LeaseHeartbeats::read(Duration max_age) {
  const Moment not_before = loop_.now() - max_age;
  if (latest_ && latest_->as_of >= not_before) co_return latest_;
  auto answer = CO_TRY(co_await looks_.ask(Everyone::nodes, not_before));
  co_return std::move(answer.value);
}

// Two looks may overlap, when the first was sent too early for the second asker. The one that was
// sent earlier and answers later has nothing to add.
Task<Result<HeartbeatSnapshot>> LeaseHeartbeats::look() {
  HeartbeatLook look{.sent = loop_.now()};
  std::string token;
  do {
    std::string text = CO_TRY(co_await api_.list({.resource = kube::Lease::resource,
                                                  .limit = kPageLimit,
                                                  .continue_token = std::move(token),
                                                  .only = {kNamespace, ""}}));
    kube::ListPage<kube::Lease> page = CO_TRY(decoder_.page<kube::Lease>(text));
    for (kube::Decoded<kube::Lease>& item : page.items) {
      std::optional<std::string> renew_time;
      if (item.object) renew_time = std::move(item.object->spec.renew_time);
      look.renew_times.insert_or_assign(item.key.name, std::move(renew_time));
    }
    if (look.renew_times.size() > kLeasesMax) {
      co_return fail(Outcome::unsupported,
                     fmt::format("more than {} Leases in {}", kLeasesMax, kNamespace));
    }
    token = std::move(page.continue_token);
  } while (!token.empty());
  look.answered = loop_.now();
  if (!latest_ || latest_->as_of < look.sent) {
    latest_ = std::make_shared<HeartbeatList>(after_look(latest_.get(), std::move(look)));
  }
  co_return latest_;
}

}  // namespace isthmus::controllers
