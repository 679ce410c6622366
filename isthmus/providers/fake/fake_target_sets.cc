#include "isthmus/providers/fake/fake_target_sets.h"

#include <utility>

#include <fmt/format.h>

#include "isthmus/providers/fake/fake_load_balancers.h"

namespace isthmus::providers::fake {
namespace {

std::unexpected<Error> not_here() {
  return fail(Outcome::unsupported, "this cloud has no target sets");
}

}  // namespace

Task<Result<>> FakeTargetSets::ensure(cloud::TargetSetSpec spec) {
  ++ensures;
  CO_TRY(co_await calls_.suffer());
  if (!supported) co_return not_here();
  if (spec.name.empty()) co_return fail(Outcome::invalid, "name: a target set has one");
  const auto found = standing.find(spec.name);
  if (found == standing.end() || found->second != spec) {
    const std::string name = spec.name;
    standing[name] = std::move(spec);
    ++writes;
    for (const auto& [user, balancer] : users_.standing) {
      if (balancer.spec.target_set == name) users_.touched(user);
    }
  }
  CO_TRY(calls_.deliver());
  co_return {};
}

Task<Result<>> FakeTargetSets::release(std::string name) {
  ++releases;
  CO_TRY(co_await calls_.suffer());
  if (!supported) co_return not_here();
  for (const auto& [user, balancer] : users_.standing) {
    if (balancer.spec.target_set != name) continue;
    co_return fail(Outcome::conflict,
                   fmt::format("target set {} is used by {}; release that first", name, user));
  }
  standing.erase(name);
  CO_TRY(calls_.deliver());
  co_return {};
}

Task<Result<cloud::TargetSetPreview>> FakeTargetSets::preview(cloud::TargetSetSpec spec) {
  using Effect = cloud::LoadBalancerPreview::Effect;
  ++previews;
  CO_TRY(co_await calls_.suffer());
  CO_TRY(calls_.deliver());
  if (!supported) co_return not_here();
  if (spec.name.empty()) co_return fail(Outcome::invalid, "name: a target set has one");
  const auto found = standing.find(spec.name);
  if (found == standing.end()) {
    co_return cloud::TargetSetPreview{Effect::created,
                                      {{"targets", "", fmt::format("{}", spec.targets.size())}}};
  }
  if (found->second == spec) co_return cloud::TargetSetPreview{};
  co_return cloud::TargetSetPreview{Effect::changed,
                                    {{"targets", fmt::format("{}", found->second.targets.size()),
                                      fmt::format("{}", spec.targets.size())}}};
}

}  // namespace isthmus::providers::fake
