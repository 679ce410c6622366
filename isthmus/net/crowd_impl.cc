#include "isthmus/net/crowd_impl.h"

#include <utility>

namespace isthmus::net {

bool Crowd::make_room() {
  for (ListNode& those : waiting_) {
    if (!those.linked()) continue;
    close_first(those);
    return true;
  }
  return false;
}

void Crowd::close_first(ListNode& those) {
  auto& place = static_cast<Place&>(those.front());
  place.stop_counting();
  place.connection_->close();
}

Crowd::Place::Place(Crowd& crowd, std::shared_ptr<Connection> connection)
    : crowd_(crowd), connection_(std::move(connection)) {
  ++crowd_.size_;
  stand(Standing::silent);
}

Crowd::Place::~Place() { stop_counting(); }

void Crowd::Place::stand(Standing standing) {
  if (!counts_) return;
  leave_list();
  standing_ = standing;
  if (standing == Standing::busy) return;
  ListNode& equals = crowd_.waiting_[static_cast<std::size_t>(standing)];
  equals.push_back(*this);
  if (standing != Standing::speaking) return;
  ++crowd_.strangers_;
  if (crowd_.strangers_ > crowd_.strangers_max_) close_first(equals);
}

void Crowd::Place::leave_list() {
  if (linked() && standing_ == Standing::speaking) --crowd_.strangers_;
  unlink();
}

void Crowd::Place::stop_counting() {
  if (!counts_) return;
  counts_ = false;
  leave_list();
  --crowd_.size_;
}

}  // namespace isthmus::net
