#include "isthmus/infra/drivers/slots.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace isthmus::infra::drivers {
namespace {

struct Candidate {
  Endpoint endpoint;
  std::uint64_t weight;
  std::uint64_t rank;       // The order among equals; a hash, so that no address is favoured.
  std::size_t present = 0;  // How many slots it owns now.
  std::size_t quota = 0;    // How many it should own.
};

// The finaliser of SplitMix64: every bit of the input reaches every bit of the output. The result
// is kept in kernels across versions of this program, so it must never change.
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::uint64_t hash_of(const Endpoint& endpoint, std::uint64_t seed) {
  std::uint64_t hash = mix(seed + endpoint.port);
  for (std::size_t i = 0; i < endpoint.address.size(); i += 4) {
    const auto& bytes = endpoint.address.bytes;
    std::uint64_t word = static_cast<std::uint64_t>(bytes[i]) << 24 | bytes[i + 1] << 16 |
                         bytes[i + 2] << 8 | bytes[i + 3];
    hash = mix(hash ^ (word + 0x9e3779b97f4a7c15 * (i + 1)));
  }
  return hash;
}

// By endpoint, each once, those of weight 0 left out.
std::vector<Candidate> candidates_of(std::span<const WeightedEndpoint> targets,
                                     std::uint64_t seed) {
  std::vector<Candidate> candidates;
  candidates.reserve(targets.size());
  for (const WeightedEndpoint& target : targets) {
    if (target.weight == 0) continue;
    candidates.push_back({target.endpoint, target.weight, hash_of(target.endpoint, seed)});
  }
  std::ranges::sort(candidates, {}, &Candidate::endpoint);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (kept > 0 && candidates[kept - 1].endpoint == candidates[i].endpoint) {
      candidates[kept - 1].weight += candidates[i].weight;
    } else {
      candidates[kept++] = candidates[i];
    }
  }
  candidates.resize(kept);
  return candidates;
}

constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

// For each slot, which of the candidates (sorted by endpoint) owns it.
std::array<std::size_t, kSlots> owners_in(const std::vector<Candidate>& candidates,
                                          const Slots& slots) {
  std::array<std::size_t, kSlots> owners;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    auto found = std::ranges::lower_bound(candidates, slots[slot], {}, &Candidate::endpoint);
    bool there = found != candidates.end() && found->endpoint == slots[slot];
    owners[slot] = there ? static_cast<std::size_t>(found - candidates.begin()) : kNobody;
  }
  return owners;
}

void count_present(std::vector<Candidate>& candidates, const Slots& present) {
  for (std::size_t owner : owners_in(candidates, present)) {
    if (owner != kNobody) ++candidates[owner].present;
  }
}

// At most one candidate per slot: those that own one first, then by rank.
void choose(std::vector<Candidate>& candidates) {
  if (candidates.size() <= kSlots) return;
  std::ranges::nth_element(candidates, candidates.begin() + kSlots,
                           [](const Candidate& left, const Candidate& right) {
                             if ((left.present > 0) != (right.present > 0)) return left.present > 0;
                             if (left.rank != right.rank) return left.rank < right.rank;
                             return left.endpoint < right.endpoint;
                           });
  candidates.resize(kSlots);
  std::ranges::sort(candidates, {}, &Candidate::endpoint);
}

// Whether the next slot should rather be the left one's: the higher weight per slot wins (Webster),
// then who would keep a slot rather than take one over, then the rank.
bool deserves_more(const Candidate& left, const Candidate& right) {
  using Wide = unsigned __int128;  // A weight is a sum of 32-bit numbers, a divisor below 2^8.
  Wide for_left = Wide{left.weight} * (2 * right.quota + 1);
  Wide for_right = Wide{right.weight} * (2 * left.quota + 1);
  if (for_left != for_right) return for_left > for_right;
  bool left_keeps = left.present > left.quota;
  bool right_keeps = right.present > right.quota;
  if (left_keeps != right_keeps) return left_keeps;
  if (left.rank != right.rank) return left.rank < right.rank;
  return left.endpoint < right.endpoint;
}

void set_quotas(std::vector<Candidate>& candidates) {
  auto poorer = [](const Candidate& left, const Candidate& right) {
    return deserves_more(right, left);
  };
  for (Candidate& candidate : candidates) candidate.quota = 1;
  std::vector<Candidate> heap = candidates;
  std::ranges::make_heap(heap, poorer);
  for (std::size_t given = candidates.size(); given < kSlots; ++given) {
    std::ranges::pop_heap(heap, poorer);
    ++heap.back().quota;
    std::ranges::push_heap(heap, poorer);
  }
  std::ranges::sort(heap, {}, &Candidate::endpoint);
  candidates = std::move(heap);
}

// Of those that still lack slots, by their place in that list, the one that this slot fits best, so
// that hosts which fill from nothing come to the same answer.
std::size_t best_for(std::size_t slot, const std::vector<Candidate>& candidates,
                     const std::vector<std::size_t>& lacking) {
  std::size_t best = 0;
  std::uint64_t best_score = 0;
  for (std::size_t i = 0; i < lacking.size(); ++i) {
    std::uint64_t score = mix(candidates[lacking[i]].rank + slot * 0x9e3779b97f4a7c15);
    bool equal_but_earlier = score == best_score && lacking[i] < lacking[best];
    if (score > best_score || equal_but_earlier) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

}  // namespace

Slots fill_slots(std::span<const WeightedEndpoint> targets, const Slots& present,
                 std::uint64_t seed) {
  std::vector<Candidate> candidates = candidates_of(targets, seed);
  if (candidates.empty()) return {};
  count_present(candidates, present);
  choose(candidates);
  set_quotas(candidates);

  Slots slots = present;
  std::vector<std::size_t> owned(candidates.size());
  std::vector<std::size_t> free;
  const std::array<std::size_t, kSlots> owners = owners_in(candidates, present);
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    std::size_t owner = owners[slot];
    if (owner != kNobody && owned[owner] < candidates[owner].quota) {
      ++owned[owner];
    } else {
      free.push_back(slot);
    }
  }
  std::vector<std::size_t> lacking;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (owned[i] < candidates[i].quota) lacking.push_back(i);
  }
  for (std::size_t slot : free) {
    std::size_t& next = lacking[best_for(slot, candidates, lacking)];
    slots[slot] = candidates[next].endpoint;
    if (++owned[next] < candidates[next].quota) continue;
    next = lacking.back();
    lacking.pop_back();
  }
  return slots;
}

}  // namespace isthmus::infra::drivers
