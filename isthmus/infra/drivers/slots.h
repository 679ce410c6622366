// How a listener's new flows are shared: 128 slots, each owned by one target. The kernel draws a
// slot per flow, at random or by the client's address, so a target's share is its number of slots.
//
// Plain rendezvous hashing would leave 28 of 100 targets without any slot. Here
//   - every target of weight above 0 owns at least one;
//   - targets of equal weight differ by at most one;
//   - slots are shared by weight otherwise, as well as 128 parts allow (Webster's method);
//   - few slots change their owner: of those that are right as they are, none does.
// Of more than 128 targets, 128 are served with one slot each, whatever their weights. Those that
// own a slot already stay; the others follow in an order that depends on the seed and on their own
// address only, so that a target which fails is replaced, and one which is waiting moves nobody.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "isthmus/base/ip.h"

namespace isthmus::infra::drivers {

inline constexpr std::size_t kSlots = 128;

// Who owns each slot; an Endpoint of port 0 is nobody.
using Slots = std::array<Endpoint, kSlots>;

struct WeightedEndpoint {
  Endpoint endpoint;
  std::uint32_t weight = 1;  // 0: gets no new flows.
};

// The slots as they should be, from the targets that may have new flows and the slots as they are
// (all nobody's at first). A target named twice has the sum of its weights. Without any target of
// weight above 0, nobody owns a slot. The order of the targets does not matter.
Slots fill_slots(std::span<const WeightedEndpoint> targets, const Slots& present,
                 std::uint64_t seed);

}  // namespace isthmus::infra::drivers
