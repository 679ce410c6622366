// Something of ours that somebody else keeps undoing: another manager, a kubelet with the wrong
// flag, a person with a script. Who is right is not ours to decide by being faster, and two who
// both think so never rest. So we make it anew twice, and at the third time within ten minutes it
// is *parked*: left as the other made it, for an hour. Then it gets one more try. A day after a
// park it is forgotten.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "isthmus/base/clock.h"

namespace isthmus::controllers {

inline constexpr std::size_t kRevertsMax = 3;
inline constexpr Duration kRevertsWithin = std::chrono::minutes(10);
inline constexpr Duration kParkedFor = std::chrono::hours(1);
inline constexpr Duration kForgottenAfter = std::chrono::hours(24);

// A value: what is remembered about one wish. Another wish begins anew.
class Dispute {
 public:
  // What we made was undone: whether it may be made again. If not, it is parked from now on.
  bool may_redo(Moment now);

  bool is_parked(Moment now) const { return parked_until_ && now < *parked_until_; }

  // When it gets another try, or got its last; nullopt: it never was parked.
  std::optional<Moment> parked_until() const { return parked_until_; }

 private:
  std::vector<Moment> reverts_;  // Lately; fewer than kRevertsMax.
  std::optional<Moment> parked_until_;
};

}  // namespace isthmus::controllers
