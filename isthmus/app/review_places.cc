#include "isthmus/app/review_places.h"

#include <cstdint>
#include <utility>

#include "isthmus/base/ip.h"

namespace isthmus::app {
namespace {

constexpr std::uint8_t kMachineBits = 64;

}  // namespace

std::string network_of(std::string_view peer) {
  std::string_view host = peer.substr(0, peer.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const Result<IpAddress> address = parse_ip(host);
  if (!address || address->family == IpFamily::v4) return std::string(host);
  return to_string(prefix_around(*address, kMachineBits));
}

ReviewPlaces::Place::Place(ReviewPlaces& owner, std::optional<std::string> network)
    : owner_(&owner), network_(std::move(network)) {
  ++owner_->all_;
  if (!network_) return;
  ++owner_->strangers_;
  ++owner_->networks_[*network_];
}

ReviewPlaces::Place::Place(Place&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), network_(std::move(other.network_)) {}

ReviewPlaces::Place::~Place() {
  if (owner_ == nullptr) return;
  --owner_->all_;
  if (!network_) return;
  --owner_->strangers_;
  const auto mine = owner_->networks_.find(*network_);
  if (--mine->second == 0) owner_->networks_.erase(mine);
}

std::optional<ReviewPlaces::Place> ReviewPlaces::take_for_known() {
  if (all_ >= kReviewsAtOnceMax) return std::nullopt;
  return Place(*this, std::nullopt);
}

std::optional<ReviewPlaces::Place> ReviewPlaces::take_for_stranger(std::string network) {
  if (all_ >= kReviewsAtOnceMax || strangers_ >= kStrangersReviewedMax) return std::nullopt;
  const auto same = networks_.find(network);
  if (same != networks_.end() && same->second >= kReviewsPerNetworkMax) return std::nullopt;
  return Place(*this, std::move(network));
}

}  // namespace isthmus::app
