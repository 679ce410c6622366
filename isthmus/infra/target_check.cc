#include "isthmus/infra/target_check.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isthmus::infra {
namespace {

// Looks at many targets of one request.
class TargetCheck {
 public:
  TargetCheck(const LedgerSnapshot& snapshot, const Circumstances& circumstances)
      : snapshot_(snapshot), unusable_(circumstances.forwards ? circumstances.unusable : nullptr) {
    for (const auto& [name, record] : snapshot.pools) {
      if (record->removed) continue;
      for (const IpPrefix& range : record->pool.ranges) ranges_.emplace_back(range, name);
    }
  }

  // Why it cannot be one.
  std::optional<std::string> mistake(const IpAddress& address) const {
    for (const auto& [range, pool] : ranges_) {
      if (!range.contains(address)) continue;
      return fmt::format(
          "{} cannot be a target: it is for load balancers, in {} of pool {}; if a machine has it, "
          "the pool must be without it",
          to_string(address), to_string(range), pool);
    }
    const AddressRecord* record = snapshot_.address(address);
    if (record != nullptr && !record->holders.empty()) {
      return fmt::format("{} cannot be a target: a load balancer holds it", to_string(address));
    }
    if (unusable_ == nullptr) return std::nullopt;
    auto found = unusable_->find(address);
    if (found == unusable_->end()) return std::nullopt;
    return fmt::format("{} cannot be a target: {}", to_string(address), found->second);
  }

 private:
  const LedgerSnapshot& snapshot_;
  const UnusableAddresses* unusable_;
  std::vector<std::pair<IpPrefix, std::string_view>> ranges_;
};

std::optional<api::Problem> problem_of(std::vector<api::FieldError> errors) {
  if (errors.empty()) return std::nullopt;
  api::Problem wrong =
      api::make_problem(api::problem::invalid_spec, "some addresses cannot be those of targets");
  wrong.errors = std::move(errors);
  return wrong;
}

}  // namespace

std::optional<api::Problem> target_failure(const LedgerSnapshot& snapshot,
                                           const api::LoadBalancer& said,
                                           const Circumstances& circumstances) {
  const TargetCheck check(snapshot, circumstances);
  std::vector<api::FieldError> errors;
  for (std::size_t i = 0; i < said.spec.target_groups.size(); ++i) {
    const std::vector<api::Target>& targets = said.spec.target_groups[i].targets;
    for (std::size_t j = 0; j < targets.size(); ++j) {
      auto mistake = check.mistake(targets[j].address);
      if (!mistake) continue;
      errors.push_back(
          {fmt::format("/spec/targetGroups/{}/targets/{}/address", i, j), std::move(*mistake)});
    }
  }
  return problem_of(std::move(errors));
}

std::optional<api::Problem> target_failure(const LedgerSnapshot& snapshot,
                                           const api::TargetSet& said,
                                           const Circumstances& circumstances) {
  const TargetCheck check(snapshot, circumstances);
  std::vector<api::FieldError> errors;
  for (std::size_t i = 0; i < said.targets.size(); ++i) {
    const std::vector<IpAddress>& addresses = said.targets[i].addresses;
    for (std::size_t j = 0; j < addresses.size(); ++j) {
      auto mistake = check.mistake(addresses[j]);
      if (!mistake) continue;
      errors.push_back({fmt::format("/spec/targets/{}/addresses/{}", i, j), std::move(*mistake)});
    }
  }
  return problem_of(std::move(errors));
}

}  // namespace isthmus::infra
