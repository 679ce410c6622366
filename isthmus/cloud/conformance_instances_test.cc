// Clouds that are wrong about machines; the conformance test must see it.
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/cloud/conformance_testing.h"

namespace isthmus::cloud {
namespace {

Instances& machines(FakeProvider& cloud) { return *cloud.capabilities().instances; }

Task<Result<Machines>> list_twice(FakeProvider& cloud, InstanceQuery query) {
  Machines all = CO_TRY(co_await machines(cloud).list(std::move(query)));
  all.items.push_back(all.items.at(0));
  co_return all;
}

Task<Result<Machines>> list_partly(FakeProvider& cloud, InstanceQuery query) {
  Machines all = CO_TRY(co_await machines(cloud).list(std::move(query)));
  all.completeness = Completeness::partial;
  co_return all;
}

Task<Result<Machines>> list_nameless(FakeProvider& cloud, InstanceQuery query) {
  Machines all = CO_TRY(co_await machines(cloud).list(std::move(query)));
  for (Instance& machine : all.items) machine.provider_id.scheme = "";
  co_return all;
}

Task<Result<Machines>> list_by_id_only(FakeProvider& cloud, InstanceQuery query) {
  if (!query.name.empty()) co_return Machines{{}, Completeness::complete};
  Machines all = CO_TRY(co_await machines(cloud).list(std::move(query)));
  co_return all;
}

Task<Result<Instance>> get_the_first(FakeProvider& cloud, ProviderId) {
  co_return cloud.machines.at(0);
}

Task<Result<Instance>> get_anything(FakeProvider& cloud, ProviderId id) {
  if (id.scheme != cloud.scheme()) co_return fail(Outcome::invalid, "foreign");
  co_return Instance{.provider_id = id, .presence = Presence::present};
}

Task<Result<Instance>> get_foreign_absent(FakeProvider& cloud, ProviderId id) {
  if (id.scheme != cloud.scheme()) co_return fail(Outcome::absent, "404");
  Instance machine = CO_TRY(co_await machines(cloud).get(std::move(id)));
  co_return machine;
}

Task<Result<Instance>> get_machine_lost(FakeProvider& cloud, ProviderId id) {
  Result<Instance> got = co_await machines(cloud).get(std::move(id));
  if (got.outcome() == Outcome::absent) co_return fail(Outcome::lost, "some 404");
  co_return got;
}

Task<Result<>> check_denied(FakeProvider&) { co_return fail(Outcome::denied, "wrong token"); }

std::vector<Mutant> mutants() {
  return {
      {.name = "lists_a_machine_twice", .caught_by = "instances-list", .list_machines = list_twice},
      {.name = "lists_machines_partly",
       .caught_by = "instances-list",
       .list_machines = list_partly},
      {.name = "lists_foreign_machines",
       .caught_by = "instances-list",
       .list_machines = list_nameless},
      {.name = "finds_no_names", .caught_by = "instances-get", .list_machines = list_by_id_only},
      {.name = "answers_about_another_machine",
       .caught_by = "instances-get",
       .get_machine = get_the_first},
      {.name = "knows_every_machine",
       .caught_by = "instances-unknown",
       .get_machine = get_anything},
      {.name = "loses_unknown_machines",
       .caught_by = "instances-unknown",
       .get_machine = get_machine_lost},
      {.name = "deletes_foreign_nodes",
       .caught_by = "instances-foreign",
       .get_machine = get_foreign_absent},
      {.name = "does_not_let_us_in", .caught_by = "check", .check = check_denied},
  };
}

struct conformance_instances : testing::TestWithParam<Mutant>, ConformanceWorld {};

TEST_P(conformance_instances, are_wrong_and_that_is_caught) { expect_caught(GetParam()); }

INSTANTIATE_TEST_SUITE_P(mutants, conformance_instances, testing::ValuesIn(mutants()), mutant_name);

}  // namespace
}  // namespace isthmus::cloud
