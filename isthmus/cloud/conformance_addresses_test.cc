// Clouds that are wrong about addresses; the conformance test must see it.
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/cloud/conformance_testing.h"

namespace isthmus::cloud {
namespace {

using Spec = LoadBalancerSpec;

Task<Result<Balancer>> ensure_any_address(FakeProvider& cloud, Spec spec) {
  spec.requested_addresses.clear();
  Balancer state = CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  co_return state;
}

Task<Result<Balancer>> ensure_and_take(FakeProvider& cloud, Spec spec) {
  for (const IpAddress& address : spec.requested_addresses) {
    cloud.load_balancers.pool.holders.erase(address);
  }
  Balancer state = CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  co_return state;
}

Task<Result<Balancer>> ensure_as_preferred(FakeProvider& cloud, Spec spec) {
  if (spec.requested_addresses.empty()) spec.requested_addresses = spec.preferred_addresses;
  Balancer state = CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  co_return state;
}

Task<Result<Balancer>> ensure_preferences(FakeProvider& cloud, Spec spec) {
  if (!spec.preferred_addresses.empty()) spec.labels["prefers"] = "something";
  Balancer state = CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  co_return state;
}

Task<Result<Balancer>> ensure_one_family(FakeProvider& cloud, Spec spec) {
  const std::string name = spec.name;
  CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  cloud.load_balancers.standing.at(name).addresses.resize(1);
  co_return cloud.load_balancers.state_of(name);
}

// With every change that takes more addresses all of them are new.
Task<Result<Balancer>> ensure_anew(FakeProvider& cloud, Spec spec) {
  const auto found = cloud.load_balancers.standing.find(spec.name);
  if (found != cloud.load_balancers.standing.end() &&
      found->second.addresses.size() != spec.families.size()) {
    spec.requested_addresses = {parse_ip("192.0.2.9").value()};
    if (spec.families.size() == 2) {
      spec.requested_addresses.push_back(parse_ip("2001:db8::9").value());
    }
  }
  Balancer state = CO_TRY(co_await cloud.load_balancers.ensure(std::move(spec)));
  co_return state;
}

std::vector<Mutant> mutants() {
  return {
      {.name = "replaces_requested_addresses",
       .caught_by = "changes-address",
       .ensure = ensure_any_address},
      {.name = "ignores_requests_for_what_is_held",
       .caught_by = "address-held",
       .ensure = ensure_any_address},
      {.name = "gives_what_is_held", .caught_by = "address-held", .ensure = ensure_and_take},
      {.name = "insists_on_preferences",
       .caught_by = "address-preferred",
       .ensure = ensure_as_preferred},
      {.name = "remembers_preferences",
       .caught_by = "address-preferred",
       .ensure = ensure_preferences},
      {.name = "has_one_family_in_silence",
       .caught_by = "changes-families",
       .ensure = ensure_one_family},
      {.name = "moves_with_a_second_family",
       .caught_by = "changes-families",
       .ensure = ensure_anew},
  };
}

struct conformance_addresses : testing::TestWithParam<Mutant>, ConformanceWorld {};

TEST_P(conformance_addresses, are_wrong_and_that_is_caught) { expect_caught(GetParam()); }

INSTANTIATE_TEST_SUITE_P(mutants, conformance_addresses, testing::ValuesIn(mutants()), mutant_name);

}  // namespace
}  // namespace isthmus::cloud
