#include "isthmus/base/write_gate.h"

#include <algorithm>

namespace isthmus {

Result<Moment> WriteGate::ask() {
  if (rules_.empty()) return fail(Outcome::cancelled, "not sent: nothing allows it yet");
  Moment until = Moment::max();
  for (const auto& [name, rule] : rules_) {
    const Result<Moment> allowed = rule();
    if (allowed) {
      until = std::min(until, *allowed);
      continue;
    }
    metrics_
        .counter("isthmus_writes_not_sent_total",
                 "Changes of Kubernetes or a cloud that were not sent, by what forbade them.",
                 {{"rule", name}})
        .add();
    return fail(Outcome::cancelled, "not sent: " + allowed.error().message);
  }
  return until;
}

void WriteGate::end_calls() {
  passages_.for_each([](ListNode& node) { static_cast<Passage&>(node).scope.cancel(); });
}

}  // namespace isthmus
