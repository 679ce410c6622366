// Whom the reconciler has to look at, in slices that are short enough for others to be answered in
// between.
//
// A change of a target set that a thousand load balancers use makes all of them due. In each slice
// go first those whose own record was changed, or that only need an address or a status: somebody
// waits for them. The others have a quarter of it all the same, so that health and target sets
// reach the kernel however much is written. Both go round in turn: who is due again and again does
// not keep the next from their turn.
#pragma once

#include <cstddef>
#include <optional>

#include "isthmus/infra/balancer_book.h"

namespace isthmus::infra {

// What one slice may cost, in targets: resolving and spreading one takes some 0.5 µs, so that a
// slice holds the loop for about 5 ms. A request is answered within a few turns of the loop, which
// leaves 100 ms for them even with a slice between any two.
inline constexpr std::size_t kSliceCost = 10'000;

// A value, but for the book, which outlives the calls it is given to.
class DueSlices {
 public:
  using Names = BalancerBook::Names;

  // Those that the book does not know are passed over.
  void add(const Names& names, const BalancerBook& book);

  // The next ones, at least one where there is any, which are then no longer here.
  Names take(const BalancerBook& book);

  bool empty() const { return first_.names.empty() && others_.names.empty(); }

 private:
  struct Ring {
    void take(const BalancerBook& book, std::size_t cost, std::size_t& spent, Names& slice);

    Names names;
    std::optional<ObjectName> last;  // Who was taken last.
  };

  Ring first_;
  Ring others_;
};

}  // namespace isthmus::infra
