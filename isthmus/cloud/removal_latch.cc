#include "isthmus/cloud/removal_latch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

// A view is asked for twice a minute while a latch holds; after three minutes without one nobody
// knows what was so in between.
constexpr Duration kViewsApartMax = std::chrono::minutes(3);

}  // namespace

bool RemovalLatch::engage(Now now, std::string why) {
  if (engaged()) return false;
  engaged_at_ = now.moment;
  disagreed();
  id_ = fmt::format("{}{}/{}", kPrefix, name_, rfc3339(now.wall));
  why_ = std::move(why);
  return true;
}

void RemovalLatch::agreed(Moment at) {
  if (!agreeing_since_ || at - agreed_at_ > kViewsApartMax) {
    agreeing_since_ = at;
    agreed_on_.reset();
  }
  agreed_at_ = at;
}

void RemovalLatch::disagreed() {
  agreeing_since_.reset();
  agreed_on_.reset();
}

bool RemovalLatch::settle(const Batch& waiting, Moment now) {
  if (engaged() && agreeing_since_ && !agreed_on_) agreed_on_ = waiting;
  const std::optional<Moment> opens = opens_at();
  if (!opens || now < *opens || now - agreed_at_ > kViewsApartMax) return false;
  std::ranges::set_intersection(*agreed_on_, waiting,
                                std::inserter(let_through_, let_through_.end()));
  release();
  return true;
}

void RemovalLatch::note_acknowledged(bool acknowledged, const Batch& waiting) {
  if (!acknowledged) {
    acknowledged_.reset();
  } else if (engaged() && !acknowledged_) {
    acknowledged_ = waiting;
  }
}

void RemovalLatch::release() {
  engaged_at_.reset();
  acknowledged_.reset();
}

void RemovalLatch::forget(std::string_view uid) {
  std::erase_if(let_through_, [uid](const auto& each) { return each == uid; });
  for (std::optional<Batch>* batch : {&acknowledged_, &agreed_on_}) {
    if (*batch) std::erase_if(**batch, [uid](const auto& each) { return each == uid; });
  }
}

std::optional<Moment> RemovalLatch::opens_at() const {
  if (!engaged() || !quiet_ || !agreeing_since_) return std::nullopt;
  return std::max(*engaged_at_, *agreeing_since_) + *quiet_;
}

}  // namespace isthmus::cloud
