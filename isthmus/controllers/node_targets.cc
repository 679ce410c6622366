#include "isthmus/controllers/node_targets.h"

#include <algorithm>
#include <set>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/controllers/cluster_identity.h"
#include "isthmus/controllers/live_list.h"
#include "isthmus/controllers/service_plan.h"

namespace isthmus::controllers {
namespace {

constexpr int kOneSet = 0;  // The key of all calls: there is one set.

// Instead of the usual one; Nodes that were initialized together come together.
constexpr Duration kFirstDebounce = std::chrono::milliseconds(100);

// How soon the API server is asked again about a loss that it did not confirm.
constexpr Duration kConfirmAgainAfter = std::chrono::seconds(10);

const std::vector<double>& latency_buckets() {
  static const std::vector<double> buckets = exponential_buckets(0.015625, 2, 21);  // To 16384 s.
  return buckets;
}

bool differ(const EligibleNodes& before, const EligibleNodes& after) {
  return before.hash != after.hash || before.kubelet_port != after.kubelet_port;
}

}  // namespace

cloud::TargetSetSpec target_set_of(const cloud::ClusterUid& cluster, const EligibleNodes& nodes) {
  return {.name = cloud::cluster_name(kTargetSetKind, cluster),
          .labels = {{std::string(cloud::kClusterLabel), cluster.text()}},
          .targets = nodes.targets};
}

// While it exists nobody ensures what is being taken away.
class NodeTargets::Releasing {
 public:
  explicit Releasing(NodeTargets& owner) : owner_(owner) {
    owner_.is_releasing_ = true;
    owner_.released_.clear();
    owner_.in_cloud_.clear();
  }
  ~Releasing() {
    owner_.is_releasing_ = false;
    owner_.released_.set();
  }
  Releasing(const Releasing&) = delete;
  Releasing& operator=(const Releasing&) = delete;

 private:
  NodeTargets& owner_;
};

NodeTargets::NodeTargets(NodeTargetsOptions options, NodeTargetsDoors doors)
    : options_(options),
      store_(doors.nodes),
      api_(doors.api),
      sets_(doors.sets),
      loop_(doors.loop),
      log_(doors.log),
      shares_(options.shares && doors.sets != nullptr),
      withheld_({.reason = "TargetRemovalWithheld",
                 .what = "Targets of load balancers whose Nodes are not seen any more"},
                doors.metrics.gauge("isthmus_target_removals_withheld",
                                    "Targets of load balancers that are kept because the Nodes "
                                    "we see may not be all there are."),
                doors.recorder, doors.loop, doors.log),
      errors_(doors.metrics.counter(
          "service_controller_nodesync_error_total",
          "Number of failed attempts to tell the cloud about changed Nodes.")),
      sync_latency_(doors.metrics.histogram(
          "service_controller_nodesync_latency_seconds",
          "From a change of the Nodes to the moment at which the cloud has it in the shared set.",
          latency_buckets())),
      call_latency_(doors.metrics.histogram(
          "service_controller_update_loadbalancer_host_latency_seconds",
          "How long the cloud took to accept changed Nodes.", latency_buckets())),
      calls_(doors.loop, [this](int) { return ensure(); }) {
  store_.subscribe([this](const kube::Difference<kube::Node>& difference) {
    if (!target_change_matters(difference)) return;
    if (!changed_at_) changed_at_ = loop_.now();
    dirty_.set();
  });
}

NodeTargets::~NodeTargets() = default;

void NodeTargets::belong_to(const cloud::ClusterUid& cluster) {
  cluster_ = cluster;
  name_ = cloud::cluster_name(kTargetSetKind, cluster);
}

Task<Result<>> NodeTargets::run(Listener listener) {
  CO_TRY(co_await store_.synced().wait());
  for (;;) {
    dirty_.clear();
    CO_TRY(co_await look(listener));
    CO_TRY(co_await wait_for_change());
  }
}

// Until the Nodes have changed and are quiet, or a loss that is held back may be asked about again.
Task<Result<>> NodeTargets::wait_for_change() {
  if (withheld_.holds()) {
    const Result<> waited = co_await with_deadline(confirm_again_at_, wait_for(dirty_));
    if (waited.outcome() == Outcome::cancelled) co_return waited;
  } else {
    CO_TRY(co_await dirty_.wait());
  }
  const Moment latest = later(loop_.now(), options_.debounce_max);
  // Where nobody is sent anything yet there is nothing to disturb, and somebody waits.
  const Duration debounce =
      nodes_->targets.empty() ? std::min(kFirstDebounce, options_.debounce) : options_.debounce;
  while (dirty_.is_set() && loop_.now() < latest) {
    dirty_.clear();
    CO_TRY(co_await sleep_until(std::min(later(loop_.now(), debounce), latest)));
  }
  co_return Result<>{};
}

// Errors: cancelled alone. What the API server does not confirm is held back.
Task<Result<>> NodeTargets::look(const Listener& listener) {
  auto newest = std::make_shared<const EligibleNodes>(eligible_nodes(store_.all()));
  const std::size_t vanished = nodes_ ? vanished_targets(*nodes_, store_.all()).size() : 0;
  if (nodes_ && is_suspicious_loss(*nodes_, *newest, vanished)) {
    if (withheld_.holds() && loop_.now() < confirm_again_at_) co_return Result<>{};
    const Result<> confirmed = co_await confirm_loss();
    confirm_again_at_ = later(loop_.now(), kConfirmAgainAfter);
    if (confirmed.outcome() == Outcome::cancelled) co_return confirmed;
    if (!confirmed) {
      withheld_.hold(*cluster_, vanished_targets(*nodes_, store_.all()).size(),
                     confirmed.error().message);
      co_return Result<>{};
    }
    newest = std::make_shared<const EligibleNodes>(eligible_nodes(store_.all()));
  }
  withheld_.release();
  take_in(std::move(newest), listener);
  co_return Result<>{};
}

// Whether the Nodes of all targets that have vanished are really gone, as the API server says now.
Task<Result<>> NodeTargets::confirm_loss() {
  if (store_.all().empty()) co_return fail(Outcome::lost, "no Node is seen at all");
  CO_TRY(co_await confirm_cluster(api_, *cluster_));
  std::set<std::string> live;
  const auto add = [&live](const kube::Decoded<kube::Node>& node) -> Result<> {
    live.insert(node.key.name);
    return {};
  };
  CO_TRY(co_await read_live<kube::Node>(api_, add));
  if (live.empty()) co_return fail(Outcome::lost, "the API server knows no Node at all");
  if (store_.all().empty()) co_return fail(Outcome::lost, "no Node is seen at all");
  for (const std::string& name : vanished_targets(*nodes_, store_.all())) {
    if (live.contains(name)) {
      co_return fail(Outcome::lost, "the API server knows Nodes that we do not see");
    }
  }
  co_return Result<>{};
}

void NodeTargets::take_in(Snapshot newest, const Listener& listener) {
  const Snapshot before = std::exchange(nodes_, std::move(newest));
  known_.set();
  const bool is_first = before == nullptr;
  if (!is_first && !differ(*before, *nodes_)) {
    if (nodes_->hash == in_cloud_) changed_at_.reset();
    return;
  }
  log_.info("the Nodes that load balancers send to", {{"eligible", nodes_->targets.size()},
                                                      {"ready", nodes_->ready},
                                                      {"left_out", nodes_->left_out.size()}});
  listener(is_first ? EligibleNodes() : *before, *nodes_);
}

Task<Result<>> NodeTargets::need() {
  while (is_releasing_) CO_TRY(co_await released_.wait());
  if (!shares_ || !in_cloud_.empty()) co_return {};
  CO_TRY(co_await calls_.ask(kOneSet, Moment::min()));
  co_return {};
}

// One call at a time, so that of two the older one cannot land last; the one that is under way may
// tell of earlier Nodes.
Task<Result<>> NodeTargets::refresh(bool anyway) {
  while (is_releasing_) CO_TRY(co_await released_.wait());
  if (anyway) in_cloud_.clear();
  while (shares_ && in_cloud_ != nodes_->hash) {
    CO_TRY(co_await calls_.ask(kOneSet, Moment::min()));
  }
  co_return {};
}

Task<Result<>> NodeTargets::release() {
  if (!shares_) co_return {};
  if (is_releasing_ || calls_.in_flight() > 0) co_return fail(Outcome::busy, "is being ensured");
  const Releasing releasing(*this);
  CO_TRY(co_await sets_->release(name_));
  co_return {};
}

// Answers the hash of what the set has now.
Task<Result<std::string>> NodeTargets::ensure() {
  const Snapshot sent = nodes_;
  const Moment begun = loop_.now();
  Result<> answer = co_await sets_->ensure(target_set_of(*cluster_, *sent));
  if (answer.outcome() == Outcome::unsupported) {
    log_.info("the cloud has no target sets: load balancers name their targets", {});
    shares_ = false;
    co_return sent->hash;
  }
  if (!answer) {
    errors_.add();
    co_return std::unexpected(std::move(answer.error()));
  }
  in_cloud_ = sent->hash;
  call_latency_.observe(loop_.now() - begun);
  if (changed_at_ && nodes_->hash == in_cloud_) {
    sync_latency_.observe(loop_.now() - *changed_at_);
    changed_at_.reset();
  }
  co_return in_cloud_;
}

}  // namespace isthmus::controllers
