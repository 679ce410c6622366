#include "isthmus/net/crowd_impl.h"

#include <utility>

namespace isthmus::net {

bool Crowd::make_room() {
  for (ListNode& those : waiting_) {
    if (!those.linked()) continue;
    auto& place = static_cast<Place&>(those.front());
    place.stop_counting();
    place.connection_->close();
    return true;
  }
  return false;
}

Crowd::Place::Place(Crowd& crowd, std::shared_ptr<Connection> connection)
    : crowd_(crowd), connection_(std::move(connection)) {
  ++crowd_.size_;
  stand(Standing::silent);
}

Crowd::Place::~Place() { stop_counting(); }

void Crowd::Place::stand(Standing standing) {
  if (!counts_) return;
  standing_ = standing;
  unlink();
  if (standing == Standing::busy) return;
  crowd_.waiting_[static_cast<std::size_t>(standing)].push_back(*this);
}

void Crowd::Place::stop_counting() {
  if (!counts_) return;
  counts_ = false;
  unlink();
  --crowd_.size_;
}

}  // namespace isthmus::net
