// Tells people of callers that were turned away for their token: the commonest mistake of a new
// manager, and without it nothing here says who tries in vain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"

namespace isthmus::infra {

inline constexpr Duration kRefusalPeriod = std::chrono::minutes(1);
inline constexpr std::size_t kRefusedHostsMax = 256;

// A resource; the clock and the logger outlive it. One warning for each host and period, whichever
// ports it comes from; what came in between is counted in the next one. Where more hosts than that
// are turned away in one period, the others are told of as one, and who came back no more makes
// room, with what was counted.
class RefusalLog final {
 public:
  RefusalLog(const Clock& clock, Logger& log) : clock_(clock), log_(log) {}

  // `address` is that of net::Peer; `why` has no secrets in it.
  void tell(std::string_view address, std::string_view why);

 private:
  struct Told {
    Moment at;
    std::uint64_t since = 0;  // Refusals that were not told of.
  };
  void make_room(Moment now);

  const Clock& clock_;
  Logger& log_;
  std::map<std::string, Told, std::less<>> told_;  // By host.
};

}  // namespace isthmus::infra
