#include "isthmus/providers/infra/target_sets.h"

#include <utility>

#include "isthmus/providers/infra/translate.h"

namespace isthmus::providers::infra {

namespace api = isthmus::infra::api;

Task<Result<>> InfraTargetSets::ensure(cloud::TargetSetSpec spec) {
  std::string owner = CO_TRY(co_await handshake_.owner(api::capability::target_sets));
  const Result<api::TargetSet> set = co_await client_.put_target_set(
      {std::move(owner), spec.name}, api::encode_input(to_api(spec)));
  if (set.outcome() == Outcome::denied) handshake_.forget();
  if (!set) co_return std::unexpected(set.error());
  ensured_[spec.name] = set->metadata.generation;
  co_return Result<>{};
}

Task<Result<>> InfraTargetSets::release(std::string name) {
  ensured_.erase(name);
  std::string owner = CO_TRY(co_await handshake_.owner(api::capability::target_sets));
  Result<> removed = co_await client_.remove_target_set({std::move(owner), std::move(name)});
  if (removed.outcome() == Outcome::denied) handshake_.forget();
  co_return removed;
}

Task<Result<cloud::TargetSetPreview>> InfraTargetSets::preview(cloud::TargetSetSpec spec) {
  std::string owner = CO_TRY(co_await handshake_.owner(api::capability::target_sets));
  Result<api::DryRun> plan = co_await client_.plan_target_set({std::move(owner), spec.name},
                                                              api::encode_input(to_api(spec)));
  if (plan.outcome() == Outcome::denied) handshake_.forget();
  if (!plan) co_return std::unexpected(std::move(plan).error());
  cloud::LoadBalancerPreview preview = CO_TRY(to_cloud(*std::move(plan)));
  co_return cloud::TargetSetPreview{preview.effect, std::move(preview.changes)};
}

std::optional<std::uint64_t> InfraTargetSets::ensured(std::string_view name) const {
  const auto found = ensured_.find(name);
  if (found == ensured_.end()) return std::nullopt;
  return found->second;
}

}  // namespace isthmus::providers::infra
