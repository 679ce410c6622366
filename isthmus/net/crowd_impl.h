// Who is connected, and who makes way for a newcomer when there is no room.
//
// Whoever has shown least goes first: one that has never sent a byte, then one that has not had a
// request answered, then one that has and is between requests or has yet to take what is written to
// it; among equals the one that has been silent longest. So neither peers that only connect nor
// those that never read, however many, lock out one that speaks. Nobody whose answer is being made
// makes way.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "isthmus/base/intrusive_list.h"
#include "isthmus/net/connection_impl.h"

namespace isthmus::net {

// Outlives its places.
class Crowd {
 public:
  // One connection's place, held as long as somebody attends to it.
  class Place;

  // Of those that speak and have not been answered, this many may stay.
  explicit Crowd(std::size_t strangers_max) : strangers_max_(strangers_max) {}

  // Closes the connection that is to make way, whose place counts no longer; false when everybody
  // is busy.
  bool make_room();

  // Places that count, in constant time like everything here: strangers decide how often we ask.
  std::size_t size() const { return size_; }

 private:
  // Closes the connection that has been silent longest among those.
  static void close_first(ListNode& those);

  const std::size_t strangers_max_;
  std::array<ListNode, 3> waiting_;  // By standing; front: silent longest.
  std::size_t size_ = 0;
  std::size_t strangers_ = 0;
};

class Crowd::Place final : private ListNode {
 public:
  enum class Standing {
    silent,    // Has not sent a byte.
    speaking,  // Has, but none of its requests has been answered.
    served,    // Has been answered, and its next request is not complete.
    busy,      // The answer to a request of it is being made.
  };

  Place(Crowd& crowd, std::shared_ptr<Connection> connection);
  ~Place();

  Connection& connection() { return *connection_; }

  // Bytes have come. What the peer is known for stays, and it is now the last to make way for it.
  void heard() { stand(standing_ == Standing::silent ? Standing::speaking : standing_); }
  void begin_request() { stand(Standing::busy); }
  void end_request() { stand(Standing::served); }

  // As long as bytes wait for the peer to take them, which it may never do: one that is busy counts
  // as served.
  class Writing {
   public:
    explicit Writing(Place& place) : place_(place), was_busy_(place.standing_ == Standing::busy) {
      if (was_busy_) place_.stand(Standing::served);
    }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    ~Writing() {
      if (was_busy_) place_.stand(Standing::busy);
    }

   private:
    Place& place_;
    const bool was_busy_;
  };

 private:
  friend class Crowd;
  void stand(Standing standing);
  void leave_list();
  void stop_counting();

  Crowd& crowd_;
  const std::shared_ptr<Connection> connection_;
  Standing standing_ = Standing::silent;
  bool counts_ = true;
};

}  // namespace isthmus::net
