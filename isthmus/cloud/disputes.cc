#include "isthmus/cloud/disputes.h"

#include <algorithm>

namespace isthmus::cloud {

void Disputes::said_gone(const std::string& uid, Moment now) {
  Dispute& dispute = disputes_[uid];
  if (!dispute.said_gone_since) dispute.said_gone_since = now;
  dispute.said_gone_at = now;
  begin(uid);
}

std::optional<Moment> Disputes::said_gone_since(const std::string& uid) const {
  const auto place = disputes_.find(uid);
  return place == disputes_.end() ? std::nullopt : place->second.said_gone_since;
}

bool Disputes::took_back(const std::string& uid, Moment now) {
  Dispute& dispute = disputes_[uid];
  dispute.unsay();
  if (!dispute.flipped_at || now - *dispute.flipped_at > kFlipsWithin) dispute.flips = 0;
  dispute.flipped_at = now;
  if (++dispute.flips < kFlipsMax) {
    begin(uid);
    return false;
  }
  forget(uid);
  return true;
}

void Disputes::settle(const std::string& uid) {
  std::erase(open_, uid);
  const auto place = disputes_.find(uid);
  if (place != disputes_.end()) place->second.unsay();
}

void Disputes::forget(const std::string& uid) {
  std::erase(open_, uid);
  disputes_.erase(uid);
}

void Disputes::clear() {
  disputes_.clear();
  open_.clear();
}

void Disputes::expire(Moment now) {
  const auto is_recent = [now](std::optional<Moment> at) {
    return at && now - *at <= kFlipsWithin;
  };
  std::erase_if(disputes_, [&](const auto& each) {
    return !is_recent(each.second.said_gone_at) && !is_recent(each.second.flipped_at);
  });
  std::erase_if(open_, [&](const std::string& uid) { return !disputes_.contains(uid); });
}

void Disputes::Dispute::unsay() {
  said_gone_since.reset();
  said_gone_at.reset();
}

void Disputes::begin(const std::string& uid) {
  if (std::ranges::find(open_, uid) == open_.end()) open_.push_back(uid);
}

}  // namespace isthmus::cloud
