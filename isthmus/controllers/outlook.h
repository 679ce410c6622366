// What a manager would do now, object by object, for people and for programs that ask instead of
// running one (`isthmus plan`). Values; who finds them out is in node_outlook.h and its neighbours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/kube/api/meta.h"

namespace isthmus::controllers {

// The words are stable: programs go by them.
enum class Act : std::uint8_t {
  none,        // All is as it should be, or it is none of our business.
  initialize,  // A new Node becomes a member.
  refresh,     // A member follows its machine.
  taint,       // A Node gets a taint, or loses one, as its machine stops or runs.
  create,      // Made in the cloud.
  update,      // Changed there.
  publish,     // Only the object's own status or finalizer is written.
  release,     // Taken away from the cloud.
  remove,      // A Node is deleted.
  wait,        // The cloud is still working on it.
  withhold,    // Something would be taken away, and is not yet: the reason says why.
  refuse,      // What is asked for is not to be had: people have to change something.
  unknown,     // It could not be found out.
};
std::string_view to_string(Act act);

// One object's future. A value.
struct Outlook {
  std::string kind = {};  // "Node", "Service", "TargetSet", "LoadBalancer", "Route".
  kube::ObjectKey key = {};
  Act act = Act::none;
  std::string reason = {};   // One word that people may filter by, those of events; may be empty.
  std::string message = {};  // A sentence.
  std::vector<std::string> details = {};  // What would change, or stands in the way; one line each.

  friend bool operator==(const Outlook&, const Outlook&) = default;
};

// Whether something would be written, to Kubernetes or to the cloud.
bool is_to_do(const Outlook& outlook);

// "node/n1", "service/default/web": as people write it.
std::string name_of(const Outlook& outlook);

// One JSON document:
//   {"kind":"Plan","items":[{"object":{"kind","namespace","name"},"action","reason","message",
//    "details":[…]}],"summary":{"<action>":<count>,…}}
// Every member is always there; of the summary those actions that occur.
std::string encode(const std::vector<Outlook>& outlooks);

// The parts of what describe() says of a plan: what it is, then each single change.
std::vector<std::string> parts_of(std::string_view description);

}  // namespace isthmus::controllers
