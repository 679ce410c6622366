#include "isthmus/cloud/conformance_impl.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

// Documentation addresses: no machine has them, and no router leads there.
constexpr int kFirstTarget = 11;

IpAddress documentation_address(IpFamily family, std::size_t number) {
  const std::size_t host = kFirstTarget + number;
  const std::string text = family == IpFamily::v4 ? fmt::format("198.51.100.{}", host)
                                                  : fmt::format("2001:db8:ffff::{:x}", host);
  return parse_ip(text).value();
}

// Every route of the test has one of these, of the range that the routes of its family lie in.
constexpr std::uint8_t kRouteBitsBelowRange = 4;

IpPrefix documentation_range(IpFamily family) {
  return parse_prefix(family == IpFamily::v4 ? "203.0.113.0/24" : "2001:db8:fffe::/48").value();
}

// The network of that number inside the range: its next four bits say it.
IpPrefix network_of(const IpPrefix& range, std::size_t number) {
  IpAddress address = range.address;
  for (std::uint8_t bit = 0; bit < kRouteBitsBelowRange; ++bit) {
    const std::size_t place = range.bits + bit;
    const bool is_set = ((number >> (kRouteBitsBelowRange - 1U - bit)) & 1U) != 0;
    if (is_set) address.bytes[place / 8] |= static_cast<std::uint8_t>(0x80U >> (place % 8));
  }
  return {address, static_cast<std::uint8_t>(range.bits + kRouteBitsBelowRange)};
}

std::vector<IpPrefix> route_ranges_of(const ConformanceOptions& options) {
  if (!options.route_ranges.empty()) return options.route_ranges;
  std::vector<IpPrefix> ranges;
  for (const IpFamily family : options.families) ranges.push_back(documentation_range(family));
  return ranges;
}

ClusterUid made_up_cluster(Random& random) { return ClusterUid::parse(random.uuid()).value(); }

std::string made_up_name(const ClusterUid& cluster, Random& random) {
  return owned_name(kConformanceKind, cluster, random.uuid()).value();
}

}  // namespace

ConformanceBench::ConformanceBench(ConformanceDoors doors, ConformanceOptions options)
    : doors_(std::move(doors)),
      options_(std::move(options)),
      cluster_(made_up_cluster(doors_.random)),
      first_(made_up_name(cluster_, doors_.random)),
      second_(made_up_name(cluster_, doors_.random)),
      set_(cluster_name(kConformanceKind, cluster_)) {}

std::unexpected<Error> ConformanceBench::failed(std::string reason, std::string next_step) {
  finding_ = {ConformanceStep::Verdict::failed, std::move(reason), std::move(next_step)};
  return fail(Outcome::conflict, finding_->reason);
}

std::unexpected<Error> ConformanceBench::skipped(std::string reason, std::string next_step) {
  finding_ = {ConformanceStep::Verdict::skipped, std::move(reason), std::move(next_step)};
  return fail(Outcome::unsupported, finding_->reason);
}

std::unexpected<Error> ConformanceBench::failed_call(std::string_view what, const Error& error) {
  finding_ = {
      ConformanceStep::Verdict::failed,
      fmt::format("{} was answered with {}: {}", what, to_string(error.outcome), error.message),
      "make the cloud answer it with ok, or the provider read the answer rightly"};
  return std::unexpected(error);
}

ConformanceFinding ConformanceBench::take_finding(const Result<>& end) {
  std::optional<ConformanceFinding> noted = std::exchange(finding_, std::nullopt);
  if (end) return {};
  if (noted) return *noted;
  return {ConformanceStep::Verdict::failed,
          fmt::format("the step ended with {}: {}", to_string(end.outcome()), end.error().message),
          "see what the provider answers"};
}

Target ConformanceBench::target(std::size_t number, std::vector<IpFamily> families) const {
  Target target{.name = fmt::format("machine-{}", number + 1)};
  for (const IpFamily family : families.empty() ? options_.families : families) {
    std::vector<IpAddress> given;
    std::ranges::copy_if(options_.target_addresses, std::back_inserter(given),
                         [family](const IpAddress& one) { return one.family == family; });
    target.addresses.push_back(number < given.size() ? given[number]
                                                     : documentation_address(family, number));
  }
  return target;
}

LoadBalancerSpec ConformanceBench::wish(const std::string& name) const {
  return {.name = name,
          .labels = {{std::string(kClusterLabel), cluster_.text()}, {"conformance", "one"}},
          .pool = options_.pool,
          .families = options_.families,
          .listeners = {{.name = "tcp-80", .port = 80, .target_port = 30080}},
          .targets = {target(0)}};
}

LoadBalancerSpec ConformanceBench::wish_by_set(const std::string& name) const {
  LoadBalancerSpec spec = wish(name);
  spec.targets.clear();
  spec.target_set = set_;
  return spec;
}

TargetSetSpec ConformanceBench::set_of(std::size_t targets) const {
  TargetSetSpec spec{.name = set_, .labels = {{std::string(kClusterLabel), cluster_.text()}}};
  for (std::size_t i = 0; i < targets; ++i) spec.targets.push_back(target(i));
  return spec;
}

RouteTableSpec ConformanceBench::table_of(const std::vector<ProviderId>& machines) const {
  RouteTableSpec spec{.name = table(),
                      .labels = {{std::string(kClusterLabel), cluster_.text()}},
                      .ranges = route_ranges_of(options_)};
  for (std::size_t number = 0; number < machines.size(); ++number) {
    spec.routes.push_back(
        {.destination = network_of(spec.ranges[0], number), .instance = machines[number]});
  }
  return spec;
}

bool ConformanceBench::is_in_ranges(const IpPrefix& destination) const {
  return std::ranges::any_of(route_ranges_of(options_),
                             [&](const IpPrefix& range) { return range.contains(destination); });
}

std::string ConformanceBench::route_ranges_text() const {
  std::vector<std::string> texts;
  for (const IpPrefix& range : route_ranges_of(options_)) texts.push_back(to_string(range));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// The neighbour of the first range: the last bit of its prefix is the other one.
IpPrefix ConformanceBench::outside_of_ranges() const {
  IpPrefix range = route_ranges_of(options_)[0];
  const std::size_t place = range.bits - 1U;
  range.address.bytes[place / 8] ^= static_cast<std::uint8_t>(0x80U >> (place % 8));
  return network_of(range, 0);
}

bool ConformanceBench::is_ours(std::string_view name) const {
  return is_owned_name(name, kConformanceKind, cluster_);
}

Task<Result<LoadBalancerState>> ConformanceBench::try_ensure(LoadBalancerSpec spec) {
  return call<LoadBalancerState>(
      [this, spec = std::move(spec)] { return balancers().ensure(spec); });
}

Task<Result<LoadBalancerState>> ConformanceBench::try_get(std::string name) {
  return call<LoadBalancerState>([this, name = std::move(name)] { return balancers().get(name); });
}

Task<Result<LoadBalancerPreview>> ConformanceBench::try_preview(LoadBalancerSpec spec) {
  return call<LoadBalancerPreview>(
      [this, spec = std::move(spec)] { return balancers().preview(spec); });
}

Task<Result<>> ConformanceBench::try_ensure_set(TargetSetSpec spec) {
  return call<void>([this, spec = std::move(spec)] { return sets().ensure(spec); });
}

Task<Result<>> ConformanceBench::try_release_set(std::string name) {
  return call<void>([this, name = std::move(name)] { return sets().release(name); });
}

Task<Result<TargetSetPreview>> ConformanceBench::try_preview_set(TargetSetSpec spec) {
  return call<TargetSetPreview>([this, spec = std::move(spec)] { return sets().preview(spec); });
}

Task<Result<LoadBalancerState>> ConformanceBench::ensure(LoadBalancerSpec spec) {
  const std::string name = spec.name;
  Result<LoadBalancerState> state = co_await try_ensure(std::move(spec));
  if (!state) co_return failed_call("ensure", state.error());
  if (state->name != name) {
    co_return failed(fmt::format("ensure of {} answered about {}", name, state->name),
                     "answer with the load balancer that was asked for");
  }
  co_return state;
}

Task<Result<LoadBalancerState>> ConformanceBench::get(std::string name) {
  Result<LoadBalancerState> state = co_await try_get(name);
  if (!state) co_return failed_call("get of what was made", state.error());
  if (state->name != name) {
    co_return failed(fmt::format("get of {} answered about {}", name, state->name),
                     "answer with the load balancer that was asked for");
  }
  co_return state;
}

Task<Result<LoadBalancerPreview>> ConformanceBench::preview(LoadBalancerSpec spec) {
  Result<LoadBalancerPreview> preview = co_await try_preview(std::move(spec));
  if (!preview) co_return failed_call("preview", preview.error());
  co_return preview;
}

Task<Result<>> ConformanceBench::ensure_set(TargetSetSpec spec) {
  Result<> made = co_await try_ensure_set(std::move(spec));
  if (made.outcome() == Outcome::unsupported) {
    co_return skipped("the cloud has no target sets: " + made.error().message);
  }
  if (!made) co_return failed_call("ensure of a target set", made.error());
  co_return made;
}

Task<Result<LoadBalancerState>> ConformanceBench::standing(LoadBalancerSpec spec) {
  const std::string name = spec.name;
  CO_TRY(co_await ensure(std::move(spec)));
  Result<LoadBalancerState> state = co_await settled(name);
  co_return state;
}

Task<Result<LoadBalancerState>> ConformanceBench::settled(std::string name) {
  Scope& here = co_await current_scope();
  const Moment until = later(here.loop().now(), options_.patience);
  for (;;) {
    LoadBalancerState state = CO_TRY(co_await get(name));
    if (state.settled && !state.is_leaving) co_return state;
    const Result<> paused = co_await pause(nullptr, until);
    if (paused) continue;
    if (here.is_cancelled()) co_return std::unexpected(paused.error());
    std::string why = state.is_leaving ? "it is still leaving" : "it is still being worked on";
    for (const auto& problem : state.problems) {
      why += fmt::format("; {}: {}", problem.part, problem.error.message);
    }
    for (const auto& fact : state.facts) why += fmt::format("; {}: {}", fact.reason, fact.message);
    co_return failed(
        fmt::format("not settled after {} s: {}", options_.patience / std::chrono::seconds(1), why),
        "settle once all that was asked for is so, and say so in get");
  }
}

Task<Result<LoadBalancerState>> ConformanceBench::with_targets(std::string name,
                                                               std::size_t targets) {
  Scope& here = co_await current_scope();
  const Moment until = later(here.loop().now(), options_.patience);
  for (;;) {
    LoadBalancerState state = CO_TRY(co_await settled(name));
    const std::size_t addresses = targets * options_.families.size();
    const bool has_them =
        !state.targets || *state.targets == targets || *state.targets == addresses;
    if (has_them) co_return state;
    if (here.loop().now() >= until) {
      co_return failed(
          fmt::format("it should have {} targets, and has {}", targets, *state.targets),
          "take targets over whole, and let a changed set reach all that use it");
    }
    CO_TRY(co_await sleep_for(options_.poll_every));
  }
}

Task<Result<>> ConformanceBench::gone(std::string name) {
  Result<> released = co_await release_within_patience(balancers(), name);
  if (!released) co_return failed_call("release", released.error());
  const Result<LoadBalancerState> remnant = co_await try_get(name);
  if (remnant.outcome() == Outcome::absent) co_return {};
  if (!remnant) co_return failed_call("get of what was released", remnant.error());
  co_return failed("release answered ok, and it still stands",
                   "answer `busy` until nothing of it is left: nobody asks again after ok");
}

Task<Result<std::vector<LoadBalancerState>>> ConformanceBench::ours() {
  Scope& here = co_await current_scope();
  const Moment until = later(here.loop().now(), options_.patience);
  for (;;) {
    Result<Listing<LoadBalancerState>> list =
        co_await call<Listing<LoadBalancerState>>([this] { return balancers().list(); });
    if (!list) co_return failed_call("list", list.error());
    if (list->completeness == Completeness::complete) {
      std::erase_if(list->items, [&](const LoadBalancerState& one) { return !is_ours(one.name); });
      co_return std::move(list->items);
    }
    const Result<> paused = co_await pause(nullptr, until);
    if (paused) continue;
    co_return failed("no list was complete",
                     "read every page of one consistent view, and say `complete` then");
  }
}

Task<Result<>> ConformanceBench::listed_once(std::string name) {
  const std::vector<LoadBalancerState> all = CO_TRY(co_await ours());
  const auto count = std::ranges::count(all, name, &LoadBalancerState::name);
  if (count == 1 && all.size() == 1) co_return {};
  if (count == 0) {
    co_return failed("a list that says it is complete lacks what stands",
                     "list all that this cluster owns, or answer `partial`");
  }
  co_return failed(
      fmt::format("{} load balancers of this test are listed, and 1 was made", all.size()),
      "find what stands by its name before anything is made");
}

// Where a cloud is without a capability nothing was made.
Task<std::vector<std::string>> ConformanceBench::clean_up() {
  std::vector<std::string> left;
  for (const std::string& name : {first_, second_}) {
    if (doors_.provider.capabilities().load_balancers != nullptr) {
      const Result<> released = co_await release_within_patience(balancers(), name);
      if (!released && released.outcome() != Outcome::unsupported) left.push_back(name);
    }
    if (doors_.stranger == nullptr) continue;
    LoadBalancers* theirs = doors_.stranger->capabilities().load_balancers;
    if (theirs == nullptr) continue;
    const Result<> released = co_await release_within_patience(*theirs, name);
    if (!released && released.outcome() != Outcome::unsupported)
      left.push_back(name + " of the other owner");
  }
  if (doors_.provider.capabilities().target_sets != nullptr) {
    const Result<> released = co_await release_set_within_patience(set_);
    if (!released && released.outcome() != Outcome::unsupported) left.push_back(set_);
  }
  const std::vector<std::string> routes = co_await clean_up_routes();
  left.insert(left.end(), routes.begin(), routes.end());
  co_return left;
}

Task<std::vector<std::string>> ConformanceBench::clean_up_routes() {
  std::vector<std::string> left;
  if (doors_.provider.capabilities().route_tables != nullptr) {
    const Result<> released = co_await call<void>([this] { return tables().release(table()); });
    const bool was_there = !released && released.outcome() != Outcome::unsupported &&
                           released.outcome() != Outcome::denied;
    if (was_there) left.push_back(table());
  }
  if (doors_.provider.capabilities().routes == nullptr) co_return left;
  const Result<Listing<RouteState>> listed =
      co_await call<Listing<RouteState>>([this] { return singles().list(); });
  if (!listed) co_return left;
  for (const RouteState& state : listed->items) {
    if (!is_in_ranges(state.destination)) continue;
    const Result<> released =
        co_await call<void>([this, state] { return singles().release(state); });
    if (!released) left.push_back("the route to " + to_string(state.destination));
  }
  co_return left;
}

Task<Result<>> ConformanceBench::until_so(std::function<bool()> is_so) {
  Scope& here = co_await current_scope();
  const Moment until = later(here.loop().now(), options_.follow_patience);
  while (!is_so()) CO_TRY(co_await pause(nullptr, until));
  co_return {};
}

Task<Result<>> ConformanceBench::release_within_patience(LoadBalancers& from, std::string name) {
  Result<> released =
      co_await call<void>([&from, name = std::move(name)] { return from.release(name); });
  co_return released;
}

// A set may be used until the load balancers have gone in every respect.
Task<Result<>> ConformanceBench::release_set_within_patience(std::string name) {
  Scope& here = co_await current_scope();
  const Moment until = later(here.loop().now(), options_.patience);
  for (;;) {
    Result<> released = co_await try_release_set(name);
    if (released.outcome() != Outcome::conflict) co_return released;
    const Result<> paused = co_await pause(nullptr, until);
    if (!paused) co_return released;
  }
}

// Waits before the next try; an error when the patience is at its end.
Task<Result<>> ConformanceBench::pause(const Error* error, Moment until) {
  Scope& here = co_await current_scope();
  if (here.loop().now() >= until) co_return fail(Outcome::deadline, "out of patience");
  Duration wait = options_.poll_every;
  if (error != nullptr && error->retry_after > wait) wait = error->retry_after;
  CO_TRY(co_await sleep_until(std::min(later(here.loop().now(), wait), until)));
  co_return {};
}

}  // namespace isthmus::cloud
