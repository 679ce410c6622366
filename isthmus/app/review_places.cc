#include "isthmus/app/review_places.h"

#include <cstdint>
#include <utility>

#include "isthmus/base/ip.h"
#include "isthmus/net/http_server.h"

namespace isthmus::app {
namespace {

constexpr std::uint8_t kMachineBits = 64;

}  // namespace

std::string network_of(std::string_view peer) {
  std::string_view host = net::host_of(peer);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const Result<IpAddress> address = parse_ip(host);
  if (!address || address->family == IpFamily::v4) return std::string(host);
  return to_string(prefix_around(*address, kMachineBits));
}

ReviewPlaces::Place::Place(ReviewPlaces& owner, Group group)
    : owner_(&owner), group_(std::move(group)) {
  ++owner_->all_;
  if (group_.is_strange) ++owner_->strangers_;
  ++owner_->groups_[group_];
}

ReviewPlaces::Place::Place(Place&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), group_(std::move(other.group_)) {}

ReviewPlaces::Place::~Place() {
  if (owner_ == nullptr) return;
  --owner_->all_;
  if (group_.is_strange) --owner_->strangers_;
  const auto mine = owner_->groups_.find(group_);
  if (--mine->second == 0) owner_->groups_.erase(mine);
}

std::optional<ReviewPlaces::Place> ReviewPlaces::take_for_known(std::string fingerprint) {
  Group group{.is_strange = false, .name = std::move(fingerprint)};
  if (!has_room_for(group)) return std::nullopt;
  return Place(*this, std::move(group));
}

std::optional<ReviewPlaces::Place> ReviewPlaces::take_for_stranger(std::string network) {
  Group group{.is_strange = true, .name = std::move(network)};
  if (strangers_ >= kStrangersReviewedMax || !has_room_for(group)) return std::nullopt;
  return Place(*this, std::move(group));
}

bool ReviewPlaces::has_room_for(const Group& group) const {
  if (all_ >= kReviewsAtOnceMax) return false;
  const auto same = groups_.find(group);
  return same == groups_.end() || same->second < kReviewsAlikeMax;
}

}  // namespace isthmus::app
