#include "isthmus/cloud/dry_run_provider.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "isthmus/cloud/dry_run_balancers.h"
#include "isthmus/cloud/dry_run_routes.h"
#include "isthmus/cloud/imagination.h"

namespace isthmus::cloud {
namespace {

class DryRunFirewalls final : public Firewalls {
 public:
  DryRunFirewalls(Firewalls& next, Logger& log)
      : next_(next),
        log_(log),
        imagination_(
            [](const FirewallSpec& before, const FirewallSpec& now) { return before == now; }) {}

  Task<Result<>> ensure(FirewallSpec spec) override {
    std::optional<FirewallSpec> now = CO_TRY(co_await real(spec.name));
    const std::string name = spec.name;
    if (now == spec) {
      imagination_.forget(name);
      co_return Result<>{};
    }
    const bool is_new = !now;
    const std::size_t rules = spec.rules.size();
    const std::size_t machines = spec.instances.size();
    // Only an equal firewall is the same wish, whatever is said of it.
    const bool is_same = imagination_.look(name, now) == spec;
    imagination_.imagine(name, std::move(now), std::move(spec), "ensure");
    if (!is_same) {
      log_.info(is_new ? "would create firewall" : "would change firewall",
                {{"name", name}, {"rules", rules}, {"machines", machines}});
    }
    co_return Result<>{};
  }

  Task<Result<>> release(std::string name) override {
    std::optional<FirewallSpec> now = CO_TRY(co_await real(name));
    if (!now) {
      imagination_.forget(name);
    } else if (imagination_.imagine(name, std::move(now), std::nullopt, "release")) {
      log_.info("would release firewall", {{"name", name}});
    }
    co_return Result<>{};
  }

  Task<Result<Listing<FirewallSpec>>> list() override {
    Listing<FirewallSpec> all = CO_TRY(co_await next_.list());
    all.items = imagination_.look_over(std::move(all.items),
                                       [](const FirewallSpec& spec) { return spec.name; });
    co_return all;
  }

 private:
  Task<Result<std::optional<FirewallSpec>>> real(std::string name) {
    const Listing<FirewallSpec> all = CO_TRY(co_await next_.list());
    const auto found = std::ranges::find(all.items, name, &FirewallSpec::name);
    if (found == all.items.end()) co_return std::nullopt;
    co_return *found;
  }

  Firewalls& next_;
  Logger& log_;
  Imagination<FirewallSpec> imagination_;
};

}  // namespace

struct DryRunProvider::Told {
  std::optional<DryRunTargetSets> target_sets;
  std::optional<DryRunLoadBalancers> load_balancers;
  std::optional<DryRunRouteTables> route_tables;
  std::optional<DryRunRoutes> routes;
  std::optional<DryRunFirewalls> firewalls;
};

DryRunProvider::DryRunProvider(std::unique_ptr<Provider> next, Logger& log)
    : next_(std::move(next)), told_(std::make_unique<Told>()) {
  // A capability that is added has to be wrapped here, or it would be passed through.
  const auto [instances, load_balancers, target_sets, route_tables, routes, firewalls] =
      next_->capabilities();
  static_cast<void>(instances);  // Reads only: passed through.
  if (target_sets != nullptr) told_->target_sets.emplace(*target_sets, log);
  if (load_balancers != nullptr) {
    told_->load_balancers.emplace(*load_balancers,
                                  told_->target_sets ? &*told_->target_sets : nullptr, log);
  }
  if (route_tables != nullptr) told_->route_tables.emplace(*route_tables, log);
  if (routes != nullptr) told_->routes.emplace(*routes, log);
  if (firewalls != nullptr) told_->firewalls.emplace(*firewalls, log);
}

DryRunProvider::~DryRunProvider() = default;

// Built from nothing, so that what is not named here is not offered.
Capabilities DryRunProvider::capabilities() {
  Capabilities can{.instances = next_->capabilities().instances};
  if (told_->load_balancers) can.load_balancers = &*told_->load_balancers;
  if (told_->target_sets) can.target_sets = &*told_->target_sets;
  if (told_->route_tables) can.route_tables = &*told_->route_tables;
  if (told_->routes) can.routes = &*told_->routes;
  if (told_->firewalls) can.firewalls = &*told_->firewalls;
  return can;
}

}  // namespace isthmus::cloud
