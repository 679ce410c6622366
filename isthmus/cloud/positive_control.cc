#include "isthmus/cloud/positive_control.h"

#include <algorithm>
#include <utility>

namespace isthmus::cloud {
namespace {

// A list every half minute and a control of 35 s leave two under way. Lists that come faster
// replace the newest, so that the oldest is always waited for.
constexpr std::size_t kViewsMax = 3;

}  // namespace

void PositiveControl::begin(View view) {
  if (views_.size() == kViewsMax) views_.pop_back();
  views_.push_back(std::move(view));
}

PositiveControl::Findings PositiveControl::look(Moment as_of, const RenewedAfter& renewed_after,
                                                const IsReady& is_ready) {
  Findings findings;
  const auto is_late = [&](const View& view) { return as_of - view.ended > kControlMax; };
  findings.unvouched = std::erase_if(views_, is_late) > 0;
  for (View& view : views_) {
    if (as_of < view.ended + kControlDelay) continue;
    for (const std::string& uid : view.accountable) {
      const std::optional<Moment> renewed = renewed_after(uid);
      if (renewed && *renewed >= view.ended + kControlDelay) findings.contradicting.push_back(uid);
    }
    if (!findings.contradicting.empty()) break;
    if (!view.looked_at) view.looked_at = as_of;
  }
  if (!findings.contradicting.empty()) {
    views_.clear();  // What else the liar has said.
    return findings;
  }
  const auto is_over = [&](const View& view) {
    return view.looked_at && as_of >= *view.looked_at + kControlWatch;
  };
  while (!views_.empty() && is_over(views_.front())) {
    View view = std::move(views_.front());
    views_.pop_front();
    const bool vouched = std::ranges::any_of(view.vouchers, [&](const std::string& uid) {
      const std::optional<Moment> renewed = renewed_after(uid);
      return is_ready(uid) && renewed && *renewed >= view.ended;
    });
    findings.unvouched = !vouched;
    if (vouched) findings.verified = std::move(view);
  }
  return findings;
}

std::optional<Moment> PositiveControl::next_look() const {
  std::optional<Moment> next;
  for (const View& view : views_) {
    const Moment due =
        view.looked_at ? *view.looked_at + kControlWatch : view.ended + kControlDelay;
    next = std::min(next.value_or(due), due);
  }
  return next;
}

}  // namespace isthmus::cloud
