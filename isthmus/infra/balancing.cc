#include "isthmus/infra/balancing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/infra/address_claims.h"
#include "isthmus/infra/ledger_upkeep.h"

namespace isthmus::infra {
namespace {

// Those of the pools; without any yet, IPv4, which every host has.
std::vector<IpFamily> families_of(const std::vector<api::Pool>& pools) {
  std::set<IpFamily> families;
  for (const api::Pool& pool : pools) {
    for (const IpPrefix& range : pool.ranges) families.insert(range.address.family);
  }
  if (families.empty()) families.insert(IpFamily::v4);
  return {families.begin(), families.end()};
}

}  // namespace

Balancing::Balancing(const HostConfig& config, Parts parts, HostDoors doors,
                     std::unique_ptr<Host> host)
    : loop_(parts.loop),
      log_(parts.log),
      host_(std::move(host)),
      ledger_(parts.store, parts.loop, parts.random, config.name),
      gauges_(ledger_, parts.metrics),
      health_(parts.loop, doors.prober, parts.random, parts.metrics,
              {.under_way_max = doors.probes_at_once}),
      reconciler_({.ledger = ledger_,
                   .health = health_,
                   .host = *host_,
                   .clock = parts.loop,
                   .random = parts.random,
                   .metrics = parts.metrics,
                   .log = parts.log,
                   .role = {.name = config.name,
                            .announce_only = config.driver == HostConfig::Driver::announce},
                   .probe = {.window = config.probe}}),
      sends_on_(config.driver == HostConfig::Driver::nft) {
  if (config.driver == HostConfig::Driver::announce) ledger_.leave_targets_to_others();
}

Task<Result<>> Balancing::run() {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(&HealthChecker::run, &health_);
  scope.spawn(&Reconciler::run, &reconciler_);
  scope.spawn(&Balancing::keep_forgetting, this);
  scope.spawn(&Balancing::watch_others, this);
  Result<> ended = co_await scope.join();
  co_return ended;
}

Task<Result<>> Balancing::keep_forgetting() {
  while (true) {
    Result<> forgotten = co_await ledger_.forget();
    if (is_our_own(forgotten.outcome())) co_return forgotten;
    if (!forgotten) log_.error("old records stay for now", {{"reason", forgotten.error()}});
    // What was forgotten was read before, so that something is remembered.
    const Duration pause =
        forgotten ? until_forgetting(*ledger_.remembered(), loop_.wall_now()) : kForgetPeriod;
    CO_TRY(co_await sleep_for(pause));
  }
}

Task<Result<>> Balancing::watch_others() {
  while (true) {
    if (sends_on_) look_at_others();
    CO_TRY(co_await sleep_for(kHostDumpPeriod));
  }
}

// What cannot be read now is read later.
void Balancing::look_at_others() {
  Result<std::vector<std::string>> chains = host_->dropping_chains();
  if (!chains || *chains == dropping_chains_) return;
  dropping_chains_ = std::move(*chains);
  if (dropping_chains_.empty()) return;
  log_.warning("chains of others drop what is forwarded unless a rule of theirs accepts it",
               {{"chains", fmt::format("{}", fmt::join(dropping_chains_, ", "))}});
}

Task<Result<std::vector<std::string>>> Balancing::load_pools(std::vector<api::Pool> pools) {
  Result<std::vector<std::string>> changed = co_await ledger_.load_pools(pools);
  if (!changed) co_return changed;
  for (const api::Pool& pool : pools) tell_claims(pool);
  co_return changed;
}

void Balancing::tell_claims(const api::Pool& pool) {
  const LedgerSnapshot* snapshot = ledger_.remembered();
  if (snapshot == nullptr) return;
  AddressClaims claims;
  for (const IpPrefix& range : pool.ranges) {
    claims.merge(
        claims_between(range.address, range.last(), *snapshot, ledger_.circumstances().machines));
  }
  if (claims.empty()) return;
  const auto& [address, whose] = *claims.begin();
  log_.warning("a pool covers addresses of machines or targets, which no load balancer gets",
               {{"pool", pool.name},
                {"addresses", claims.size()},
                {"first", fmt::format("{} {}", to_string(address), whose)}});
}

Result<std::unique_ptr<Host>> open_checked_host(const Config& config, Files& files,
                                                const HostDoors& doors) {
  if (config.host->driver == HostConfig::Driver::nft) {
    TRY(check_forwarding(files, families_of(config.pools)));
  }
  return doors.open();
}

}  // namespace isthmus::infra
