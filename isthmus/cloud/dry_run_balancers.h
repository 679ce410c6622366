// Load balancers and target sets of a dry run (dry_run_provider.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isthmus/base/log.h"
#include "isthmus/cloud/imagination.h"
#include "isthmus/cloud/provider.h"

namespace isthmus::cloud {

// A resource; what it is built from outlives it.
class DryRunTargetSets final : public TargetSets {
 public:
  DryRunTargetSets(TargetSets& next, Logger& log);

  Task<Result<>> ensure(TargetSetSpec spec) override;
  Task<Result<>> release(std::string name) override;
  Task<Result<TargetSetPreview>> preview(TargetSetSpec spec) override;

  // The targets of a set that stands in thought only; null: the cloud has it, or nobody has.
  const std::vector<Target>* imagined(std::string_view name) const;

 private:
  TargetSets& next_;
  Logger& log_;
  std::map<std::string, TargetSetSpec, std::less<>> imagined_;  // Those the cloud has not.
  std::map<std::string, std::string> told_;                     // By name: the wish.
};

// A resource; what it is built from outlives it. `sets` may be null.
class DryRunLoadBalancers final : public LoadBalancers {
 public:
  DryRunLoadBalancers(LoadBalancers& next, const DryRunTargetSets* sets, Logger& log);

  Task<Result<LoadBalancerState>> ensure(LoadBalancerSpec spec) override;
  Task<Result<>> release(std::string name) override;
  Task<Result<LoadBalancerState>> get(std::string name) override;
  Task<Result<Listing<LoadBalancerState>>> list() override;
  Task<Result<LoadBalancerPreview>> preview(LoadBalancerSpec spec) override;
  Task<Result<>> follow(std::function<void(LoadBalancerNews)> tell) override;

 private:
  // What is real, or nothing; an error that says neither is answered.
  Task<Result<std::optional<LoadBalancerState>>> real(std::string name);
  LoadBalancerNews shown(LoadBalancerNews news);

  LoadBalancers& next_;
  const DryRunTargetSets* sets_;
  Logger& log_;
  Imagination<LoadBalancerState> imagination_;
};

}  // namespace isthmus::cloud
