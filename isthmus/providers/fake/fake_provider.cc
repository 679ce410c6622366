#include "isthmus/providers/fake/fake_provider.h"

#include <algorithm>
#include <utility>

#include "isthmus/cloud/identity.h"

namespace isthmus::providers::fake {

cloud::Capabilities FakeProvider::capabilities() {
  cloud::Capabilities has;
  if (has_instances) has.instances = this;
  if (has_load_balancers) has.load_balancers = &load_balancers;
  if (has_target_sets) has.target_sets = &target_sets;
  if (has_route_tables) has.route_tables = &route_tables;
  if (has_routes) has.routes = &routes;
  return has;
}

cloud::Instance& FakeProvider::add(const std::string& id, std::string name,
                                   std::vector<cloud::Address> addresses) {
  return machines.emplace_back(cloud::Instance{.provider_id = {scheme_, id},
                                               .names = {std::move(name)},
                                               .addresses = std::move(addresses),
                                               .power = cloud::Power::running,
                                               .presence = cloud::Presence::present});
}

void FakeProvider::remove(const std::string& id) {
  std::erase_if(machines, [&](const cloud::Instance& one) { return one.provider_id.id == id; });
}

Task<Result<>> FakeProvider::check() {
  ++checks;
  CO_TRY(co_await suffer());
  co_return {};
}

Task<Result<cloud::Instance>> FakeProvider::get(cloud::ProviderId id) {
  ++gets;
  CO_TRY(co_await suffer());
  if (id.scheme != scheme_) {
    co_return fail(Outcome::invalid, to_string(id) + " is no id of " + scheme_);
  }
  const auto found = std::ranges::find(machines, id, &cloud::Instance::provider_id);
  if (found == machines.end()) co_return fail(Outcome::absent, "there is no " + to_string(id));
  co_return *found;
}

Task<Result<cloud::Listing<cloud::Instance>>> FakeProvider::list(cloud::InstanceQuery query) {
  ++lists;
  CO_TRY(co_await suffer());
  cloud::Listing<cloud::Instance> answer{.completeness = cloud::Completeness::complete};
  const std::size_t visible = std::min(machines.size(), faults.list_only.value_or(machines.size()));
  for (std::size_t i = 0; i < visible; ++i) {
    if (cloud::matches(machines[i], query)) answer.items.push_back(machines[i]);
  }
  if (visible < machines.size() && !faults.partial_list_claims_to_be_complete) {
    answer.completeness = cloud::Completeness::partial;
  }
  co_return answer;
}

}  // namespace isthmus::providers::fake
