#include "isthmus/cloud/deletion_policy.h"

#include <algorithm>
#include <array>

namespace isthmus::cloud {
namespace {

struct Word {
  DeletionMode mode;
  std::string_view text;
};
constexpr std::array<Word, 3> kWords{{{DeletionMode::strict, "strict"},
                                      {DeletionMode::upstream, "upstream"},
                                      {DeletionMode::observe, "observe"}}};

}  // namespace

std::string_view to_string(DeletionMode mode) {
  return std::ranges::find(kWords, mode, &Word::mode)->text;
}

std::optional<DeletionMode> parse_deletion_mode(std::string_view text) {
  const auto* found = std::ranges::find(kWords, text, &Word::text);
  if (found == kWords.end()) return std::nullopt;
  return found->mode;
}

bool is_within_limits(const DeletionPolicy& policy) {
  return policy.confirmations >= kConfirmationsMin &&
         policy.confirmation_spacing >= kConfirmationSpacingMin &&
         policy.min_absence >= kMinAbsenceMin && policy.min_age >= kMinAgeMin &&
         policy.heartbeat_silence >= kHeartbeatSilenceMin && policy.not_ready >= kNotReadyMin &&
         policy.zone_rate > 0 && policy.zone_burst > 0 && policy.zone_freeze_percent > 0 &&
         policy.zone_freeze_percent <= kZoneFreezePercentMax && policy.latch_percent > 0 &&
         policy.latch_percent <= kLatchPercentMax;
}

std::size_t mass_limit(const DeletionPolicy& policy, std::size_t nodes) {
  const std::int64_t share = static_cast<std::int64_t>(nodes) * policy.latch_percent / 100;
  return static_cast<std::size_t>(std::max(kMassMin, share));
}

}  // namespace isthmus::cloud
