#include "isthmus/base/random.h"

#include <fmt/format.h>

#include "isthmus/base/result.h"

namespace isthmus {

std::uint64_t Random::below(std::uint64_t bound) {
  ISTHMUS_ASSERT(bound > 0, "nothing lies below 0");
  // Draws from the uneven remainder at the top are thrown away, else small values would be
  // likelier.
  const std::uint64_t uneven = (std::uint64_t{0} - bound) % bound;
  for (;;) {
    const std::uint64_t drawn = next();
    if (drawn >= uneven) return drawn % bound;
  }
}

Duration Random::between(Duration low, Duration high) {
  ISTHMUS_ASSERT(low <= high, "an empty range");
  const auto span = static_cast<std::uint64_t>((high - low).count());
  return low + Duration(below(span + 1));
}

std::string Random::uuid() {
  const std::uint64_t high = (next() & ~0xf000ULL) | 0x4000ULL;
  const std::uint64_t low = (next() & ~(3ULL << 62)) | (2ULL << 62);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffffffffffffULL);
}

}  // namespace isthmus
