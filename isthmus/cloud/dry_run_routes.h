// Routes of a dry run (dry_run_provider.h), of both kinds of clouds.
#pragma once

#include <string>

#include "isthmus/base/log.h"
#include "isthmus/cloud/imagination.h"
#include "isthmus/cloud/provider.h"

namespace isthmus::cloud {

// A resource; what it is built from outlives it.
class DryRunRouteTables final : public RouteTables {
 public:
  DryRunRouteTables(RouteTables& next, Logger& log);

  Task<Result<RouteTableState>> ensure(RouteTableSpec spec) override;
  Task<Result<RouteTableState>> get(std::string name) override;
  Task<Result<>> release(std::string name) override;
  Task<Result<>> follow(std::string name, Tell tell) override;

 private:
  Task<Result<std::optional<RouteTableState>>> real(std::string name);

  RouteTables& next_;
  Logger& log_;
  Imagination<RouteTableState> imagination_;
};

// A resource; what it is built from outlives it.
class DryRunRoutes final : public Routes {
 public:
  DryRunRoutes(Routes& next, Logger& log);

  Task<Result<Listing<RouteState>>> list() override;
  Task<Result<>> ensure(Route route) override;
  Task<Result<>> release(RouteState route) override;

 private:
  // What the cloud has for a destination now.
  Task<Result<std::optional<RouteState>>> real(IpPrefix destination);

  Routes& next_;
  Logger& log_;
  Imagination<RouteState> imagination_;
};

}  // namespace isthmus::cloud
