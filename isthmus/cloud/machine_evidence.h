// What was said for and against one machine, and what of it is still missing before the machine
// counts as gone: the conditions that ask for the truth, as one plain function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/cloud/deletion_policy.h"
#include "isthmus/cloud/deletion_verdict.h"
#include "isthmus/cloud/subject.h"

namespace isthmus::cloud {

// What its kubelet was heard of, in one look at all of them.
struct Pulse {
  std::optional<Moment> silent_since = {};   // nullopt: nothing is known, silence least of all.
  std::optional<Moment> renewed_after = {};  // It certainly renewed later than this.
};

// What the cluster answered when this very Node was read.
struct LiveRead {
  bool ready = true;
  Moment sent = {};
  Duration took = {};  // Until its kubelet was looked at as well.
};

// A value.
struct MachineEvidence {
  // Answers by id that say "gone", as far as they were spaced: when the first one came, and when
  // the last one was asked for.
  std::int64_t negatives = 0;
  Moment first_negative = {};
  Moment last_negative = {};

  // The newest complete list, and the newest verified one, that lack it: when they were asked for.
  std::optional<Moment> lacked_by = {};
  std::optional<Moment> verified_by = {};

  Pulse pulse = {};
  std::optional<Moment> not_ready_since = {};
  std::optional<LiveRead> live = {};
  bool seen = false;  // The cloud has once said that it is there.

  // One more answer by id says "gone". Within the spacing of the last it is none.
  void says_gone(Moment sent, Moment heard, Duration spacing);

  // The answers so far prove nothing, and what was said last stands: the count begins anew.
  void doubt();

  // Nothing that the cloud has said against it stands.
  void acquit();

  // A kubelet that renews after the first answer against it makes those answers doubtful.
  void hear_pulse(Pulse heard);
};

// What is known of all machines together.
struct CommonEvidence {
  std::optional<Moment> complete_list = {};  // The newest: when it was asked for.
  std::optional<Moment> verified_at = {};    // When the last control of a list ended well.
  std::optional<Moment> pulses_as_of = {};   // The newest look at the kubelets.
  std::string pulses_error = {};             // Why there is none.
};

// What is missing before the machine counts as gone: conditions 1 to 7, in their order.
std::vector<Unmet> missing_evidence(const Subject& subject, const MachineEvidence& evidence,
                                    const CommonEvidence& common, const std::string& scheme,
                                    const DeletionPolicy& policy, Now now);

// What is missing where one answer is enough (DeletionMode::upstream).
std::vector<Unmet> missing_answer(const Subject& subject, const MachineEvidence& evidence,
                                  const std::string& scheme, Now now);

// All of it in a line, for the audit.
std::string describe(const MachineEvidence& evidence, const CommonEvidence& common, Moment now);

}  // namespace isthmus::cloud
