// A cloud in memory, for tests: the machines are what the test says, and so are the faults; load
// balancers and routes are what was ensured and what the test makes of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "isthmus/cloud/provider.h"
#include "isthmus/providers/fake/fake_calls.h"
#include "isthmus/providers/fake/fake_load_balancers.h"
#include "isthmus/providers/fake/fake_route_tables.h"
#include "isthmus/providers/fake/fake_router.h"
#include "isthmus/providers/fake/fake_routes.h"
#include "isthmus/providers/fake/fake_target_sets.h"

namespace isthmus::providers::fake {

// A resource.
class FakeProvider final : public FakeCalls, public cloud::Provider, private cloud::Instances {
 public:
  explicit FakeProvider(std::string scheme = "fake") : scheme_(std::move(scheme)) {}

  const std::string& name() const override { return scheme_; }
  const std::string& scheme() const override { return scheme_; }
  cloud::Capabilities capabilities() override;
  Task<Result<>> check() override;

  // Adds a machine that is present and running, `scheme://id`, and answers it for further changes;
  // the reference holds until machines are added or removed.
  cloud::Instance& add(const std::string& id, std::string name, std::vector<cloud::Address> = {});
  void remove(const std::string& id);

  std::vector<cloud::Instance> machines;

  FakeLoadBalancers load_balancers{*this, target_sets};
  FakeTargetSets target_sets{*this, load_balancers};

  FakeRouter router;
  FakeRouteTables route_tables{*this, router, machines};
  FakeRoutes routes{*this, router};

  // What this cloud is able to do; set before it is asked.
  bool has_instances = true;
  bool has_load_balancers = true;
  bool has_target_sets = true;
  bool has_route_tables = true;
  bool has_routes = false;

  // Calls that came in, whatever became of them; those of load balancers and routes are
  // counted there.
  std::size_t gets = 0;
  std::size_t lists = 0;
  std::size_t checks = 0;

 private:
  Task<Result<cloud::Instance>> get(cloud::ProviderId id) override;
  Task<Result<cloud::Listing<cloud::Instance>>> list(cloud::InstanceQuery query) override;

  const std::string scheme_;
};

}  // namespace isthmus::providers::fake
