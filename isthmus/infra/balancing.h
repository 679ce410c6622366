// What a backend with a host has beside its inventory: load balancers, from the ledger to the
// kernel.
//
//   ledger.h       what should be          ← PUT and DELETE
//   reconciler.h   makes it true           → host.h, the kernel
//   health_checker.h  who is well          → net/probe.h
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/base/files.h"
#include "isthmus/base/log.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/config.h"
#include "isthmus/infra/config_file.h"
#include "isthmus/infra/health_checker.h"
#include "isthmus/infra/host.h"
#include "isthmus/infra/ledger.h"
#include "isthmus/infra/ledger_gauges.h"
#include "isthmus/infra/reconciler.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

// The doors to the machine the backend runs on. They outlive whoever is given them.
struct HostDoors {
  net::Prober& prober;
  std::size_t probes_at_once;
  // The host whose load balancers are held: that of the program's own network namespace.
  std::function<Result<std::unique_ptr<Host>>()> open;
};

// A resource.
class Balancing final : public PoolKeeper {
 public:
  // What is given by reference outlives it.
  struct Parts {
    Store& store;
    Loop& loop;
    Random& random;
    Metrics& metrics;
    Logger& log;
  };
  Balancing(const HostConfig& config, Parts parts, HostDoors doors, std::unique_ptr<Host> host);

  // Looks at the host; see Reconciler::start. After it, changes are taken.
  Task<Result<>> start() { return reconciler_.start(); }

  // Checks health, reconciles and forgets, until its scope ends, with that scope's reason.
  Task<Result<>> run();

  // Whether everything that was there at start has been tried once.
  bool is_ready() const { return reconciler_.is_ready(); }

  Ledger& ledger() { return ledger_; }
  const BalancerView& view() const { return reconciler_; }

  // Chains of others that may drop what is sent to targets, as they were last seen; none where this
  // host only announces.
  const std::vector<std::string>& dropping_chains() const { return dropping_chains_; }

  // Logs also which of the pools' addresses nobody gets, because a machine or a target has them.
  Task<Result<std::vector<std::string>>> load_pools(std::vector<api::Pool> pools) override;

 private:
  Task<Result<>> keep_forgetting();
  Task<Result<>> watch_others();
  void look_at_others();
  void tell_claims(const api::Pool& pool);

  Loop& loop_;
  Logger& log_;
  std::unique_ptr<Host> host_;
  Ledger ledger_;
  LedgerGauges gauges_;
  HealthChecker health_;
  Reconciler reconciler_;
  const bool sends_on_;  // Flows, to targets.
  std::vector<std::string> dropping_chains_;
};

// Opens the host that the configuration names, once it is certain that packets would get through:
// invalid where the host does not forward (check_forwarding; a Kubernetes node's kube-proxy sees to
// that itself, so not with the driver announce); else the errors of open_host.
Result<std::unique_ptr<Host>> open_checked_host(const Config& config, Files& files,
                                                const HostDoors& doors);

}  // namespace isthmus::infra
