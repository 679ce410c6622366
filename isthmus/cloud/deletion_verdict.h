// What the witness says of one subject: how far it is on its way to deletion, and everything that
// still stands between.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"

namespace isthmus::cloud {

// The way of a subject. Anything that speaks for its machine leads back to the start.
enum class Standing : std::uint8_t {
  present,     // Nothing speaks against its machine.
  suspect,     // The cloud says that the machine is gone.
  confirming,  // It has said so again.
  gone,        // All that can be known says so.
  deletable,   // And nothing forbids to act on it.
};

// What must hold before a Node is deleted. The words are stable: people filter metrics and events
// by them.
enum class Condition : std::uint8_t {
  // That the machine is gone.
  exact_id,          // Its id is one of ours, whole; names never count.
  negatives,         // Answers by id, so many, so far apart, over such a time.
  complete_list,     // A complete list, asked for after the first of them, does not have it.
  positive_control,  // That list is right about those who are known to live.
  heartbeat,         // Its kubelet has been silent.
  live_read,         // The Node, read live, is the same and has not been Ready.
  age,               // It is old enough, or its machine was seen before.

  // That we may act on it.
  provider_health,  // The cloud answers well, of late, and is the one we know.
  zone_rate,        // Not too many at once in its zone…
  zone_frozen,      // …nor of it.
  cluster_budget,   // Not too many at once in the cluster…
  cluster_latched,  // …nor of it.
  small_cluster,    // A small cluster loses one at a time.
  control_plane,    // A control plane loses one at a time, and never its quorum.
  last_ready,       // Another Node is Ready.
  slow_pace,        // What a latch has let through goes slowly.
  lease_life,       // We lead, for long enough to hear the answer.

  // What people have said, or what was found out.
  is_protected,
  observe,
  deletions_stopped,
  mutations_stopped,
  delete_denied,
};

std::string_view to_string(Standing standing);
std::string_view to_string(Condition condition);

// All of them, in order.
std::vector<Condition> all_conditions();

// Whether time and further answers alone may meet it; all others need somebody, or a long time.
bool passes_by_itself(Condition condition);

// One condition that does not hold.
struct Unmet {
  Condition condition;
  std::string why;                        // "the cloud has said so 1 time of 3".
  std::string release;                    // What would meet it: "it has to say so for 2m0s".
  std::optional<Moment> not_before = {};  // When it can hold at the earliest, if that is known.

  friend bool operator==(const Unmet&, const Unmet&) = default;
};

struct Verdict {
  Standing standing = Standing::present;
  std::vector<Unmet> unmet = {};  // In the order of the conditions.

  bool deletable() const { return standing == Standing::deletable; }

  // Nothing is missing any more but the live read, which is only made then.
  bool is_ripe() const {
    return unmet.size() == 1 && unmet.front().condition == Condition::live_read &&
           !unmet.front().not_before;
  }
  bool lacks(Condition condition) const;

  // The one to tell people first: one that does not pass by itself, if there is one. Null: none.
  const Unmet* leading() const;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// For people: every unmet condition with what would meet it.
std::string describe(const Verdict& verdict);

}  // namespace isthmus::cloud
