// Whom the node lifecycle controller hears, as tests want them: a cloud that may lie, kubelets that
// renew or do not, and people who acknowledge and stop.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/controllers/heartbeats.h"
#include "isthmus/controllers/safety_switch.h"

namespace isthmus::controllers::testing {

using namespace std::chrono_literals;

// A cloud whose words need not be true.
class LyingInstances final : public cloud::Instances {
 public:
  explicit LyingInstances(cloud::Instances& next) : next_(next) {}

  bool knows_none_by_id = false;
  bool refuses_ids = false;
  bool lists_none = false;
  bool lied = false;  // It has said so at least once.

  Task<Result<cloud::Instance>> get(cloud::ProviderId id) override {
    if (refuses_ids) co_return fail(Outcome::invalid, "no machine has such an id");
    Result<cloud::Instance> answer = co_await next_.get(std::move(id));
    if (!answer || !knows_none_by_id) co_return answer;
    lied = true;
    co_return fail(Outcome::absent, "no such instance");
  }
  Task<Result<cloud::Listing<cloud::Instance>>> list(cloud::InstanceQuery query) override {
    auto answer = co_await next_.list(std::move(query));
    if (!answer || !lists_none) co_return answer;
    lied = true;
    answer->items.clear();
    co_return answer;
  }

 private:
  cloud::Instances& next_;
};

// The Leases of kubelets that renew them every ten seconds until they are stopped.
class FakeHeartbeats final : public Heartbeats {
 public:
  explicit FakeHeartbeats(Loop& loop) : loop_(loop) { list_.looking_since = Moment::max(); }

  void start(const std::string& node) { stopped_.erase(node), running_.insert(node); }
  void stop(const std::string& node) {
    if (running_.erase(node) > 0) stopped_[node] = text();
  }
  std::optional<Error> error = {};
  std::size_t reads = 0;
  Duration takes = 10ms;  // A look.

  Task<Result<HeartbeatSnapshot>> read(Duration) override {
    ++reads;
    const Moment sent = loop_.now();
    CO_TRY(co_await sleep_for(takes));
    if (error) co_return std::unexpected(*error);
    const Moment before = list_.as_of;
    list_.as_of = std::max(before, sent);
    list_.looking_since = std::min(list_.looking_since, list_.as_of);
    for (const std::string& node : running_) see(node, text(), before);
    for (const auto& [node, renewed] : stopped_) see(node, renewed, before);
    co_return std::make_shared<const HeartbeatList>(list_);
  }

 private:
  std::string text() const { return std::to_string(loop_.now().time_since_epoch() / 10s); }
  void see(const std::string& node, const std::string& renewed, Moment before) {
    const auto [place, is_new] = list_.leases.try_emplace(node);
    Heartbeat& lease = place->second;
    if (!is_new && lease.renew_time == renewed) return;
    if (!is_new) lease.renewed_after = before;
    lease.renew_time = renewed;
    lease.silent_since = loop_.now();
  }

  Loop& loop_;
  std::set<std::string> running_;
  std::map<std::string, std::string> stopped_;
  HeartbeatList list_;
};

class FakeSafety final : public SafetySwitch {
 public:
  bool mutations_stopped() const override { return stopped; }
  bool is_acknowledged(std::string_view id, WallTime) const override {
    return acknowledged.contains(id);
  }

  bool stopped = false;
  std::set<std::string, std::less<>> acknowledged;
};

}  // namespace isthmus::controllers::testing
