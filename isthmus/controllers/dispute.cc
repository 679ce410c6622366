#include "isthmus/controllers/dispute.h"

namespace isthmus::controllers {

// Before the first park it takes three of these within ten minutes, after it one.
bool Dispute::may_redo(Moment now) {
  if (parked_until_ && later(*parked_until_, kForgottenAfter) < now) *this = {};
  reverts_.push_back(now);
  std::erase_if(reverts_, [now](Moment at) { return later(at, kRevertsWithin) < now; });
  if (reverts_.size() < kRevertsMax && !parked_until_) return true;
  reverts_.clear();
  parked_until_ = later(now, kParkedFor);
  return false;
}

}  // namespace isthmus::controllers
