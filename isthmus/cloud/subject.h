// A Node in the words of those who decide about its deletion, and how many there are of which kind.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "isthmus/base/clock.h"

namespace isthmus::cloud {

// The time, for machines and for people; passed in by whoever has a clock.
struct Now {
  Moment moment = {};
  WallTime wall = {};
};

// Only Nodes of our scheme are subjects: what is somebody else's has no part in any count.
struct Subject {
  std::string uid = {};
  std::string name = {};         // For people.
  std::string provider_id = {};  // As it is written on the Node.
  std::string zone = {};
  bool control_plane = false;
  bool ready = false;
  bool initialized = true;    // False: it still waits for its first initialization.
  bool announced = false;     // Somebody has said that this one goes: no sign of a failure.
  bool is_protected = false;  // Somebody has said that this one stays.
  WallTime created = {};

  // Somebody has confirmed, for exactly this uid, that its machine is gone; holds until then.
  std::optional<WallTime> confirmed_gone_until = {};

  bool is_confirmed_gone(WallTime now) const {
    return confirmed_gone_until && now < *confirmed_gone_until;
  }

  friend bool operator==(const Subject&, const Subject&) = default;
};

// Kept by difference, so that a count costs nothing.
struct Census {
  std::size_t nodes = 0;
  std::size_t ready = 0;
  std::size_t control_planes = 0;
  std::size_t control_planes_ready = 0;
  std::map<std::string, std::size_t> zones = {};  // Nodes by zone; "" is a zone as well.

  void add(const Subject& subject);
  void remove(const Subject& subject);
};

}  // namespace isthmus::cloud
