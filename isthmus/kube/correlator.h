// Which Event a note becomes: a new one, one more occurrence of an earlier one, or none.
//
// The rules and numbers are those of upstream's recorder, so that an object's events read the same:
// 1. From the tenth different message of one reason about one object on, with gaps of at most ten
//    minutes, one combined event stands for all that follow.
// 2. A note that was told before (or the combined event) counts the stored event up.
// 3. One component may tell 25 notes of one type about one object at once, and one more every five
//    minutes; the rest is spam.
// Memory is bounded: 4096 entries for each rule, the least recently used forgotten first. Notes
// and messages are remembered by fingerprints: their texts would be most of those megabytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/random.h"
#include "isthmus/kube/api/event.h"
#include "isthmus/kube/lru.h"
#include "isthmus/kube/recorder.h"

namespace isthmus::kube {

class Correlator {
 public:
  explicit Correlator(Random& random) : random_(random) {}

  // The event to store: create it when its count is 1, else patch the one of that name. nullopt:
  // spam.
  std::optional<Event> correlate(const std::string& component, const Note& note, Moment now,
                                 WallTime wall_now);

 private:
  struct Similar {  // Rule 1.
    std::vector<std::string> messages;
    Moment last{};
  };
  struct Told {  // Rule 2.
    std::string name;
    WallTime first{};
    std::int32_t count = 0;
  };
  struct Allowance {  // Rule 3: a token bucket; `spent` tokens as of `as_of`.
    double spent = 0;
    Moment as_of{};
  };

  bool is_combined(const std::string& key, const std::string& message, Moment now);
  bool is_spam(const std::string& key, Moment now);
  std::string make_name(const std::string& object, WallTime wall_now);

  Random& random_;
  Lru<std::string, Similar> similar_{4096};
  Lru<std::string, Told> told_{4096};
  Lru<std::string, Allowance> allowances_{4096};
  std::int64_t last_name_ns_ = 0;
};

}  // namespace isthmus::kube
