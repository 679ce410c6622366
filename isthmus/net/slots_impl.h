// A counted number of places, taken first come, first served.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "isthmus/base/intrusive_list.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"

namespace isthmus::net {

// Outlives its slots.
class Slots {
 public:
  explicit Slots(std::size_t count) : free_(count) {}
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // The right to one place; given back when destroyed.
  class Slot {
   public:
    Slot(Slot&& other) noexcept : slots_(std::exchange(other.slots_, nullptr)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (slots_ != nullptr) slots_->give_back();
    }

   private:
    friend class Slots;
    explicit Slot(Slots& slots) : slots_(&slots) {}
    Slots* slots_;
  };

  // Waits for a place; cancelled or deadline of the scope, with nothing taken.
  Task<Result<Slot>> take() {
    if (free_ > 0) {
      --free_;
      co_return Slot(*this);
    }
    Ticket ticket;
    waiting_.push_back(ticket);
    // A slot that is granted while the wait is cut short goes on with the ticket's destructor.
    CO_TRY(co_await ticket.granted.wait());
    co_return std::move(*ticket.slot);
  }

 private:
  struct Ticket : ListNode {
    std::optional<Slot> slot;
    Signal granted;
  };

  void give_back() {
    if (!waiting_.linked()) {
      ++free_;
      return;
    }
    Ticket& ticket = static_cast<Ticket&>(waiting_.front());
    ticket.unlink();
    ticket.slot.emplace(Slot(*this));
    ticket.granted.set();
  }

  std::size_t free_;
  ListNode waiting_;
};

}  // namespace isthmus::net
