// The witness: decides whether a machine is gone so surely that its Node may be deleted.
//
// One answer of a cloud is nothing: credentials get mixed up, stores are restored from yesterday,
// zones drop out of lists. So it hears every side again and again (the cloud by id, the cloud's
// whole list, the kubelets, the cluster), lets anything that speaks for a machine count more than
// all that speaks against it, and even then lets only a few go at a time. It can be wrong only if
// the cloud is, about a machine that also looks dead to the cluster, for longer than min_absence;
// and then for a few Nodes, which come back with their kubelets.
//
//   present ──the cloud says that it is gone──▶ suspect ──and again──▶ confirming
//      ▲                                                                   │ id, list, control,
//      │                                                                   ▼ kubelet, age
//      └── anything that speaks for it ◀── (from everywhere)              gone ──▶ deletable
//                                                       latches, budgets, health, live read, lease
//
// It is a plain state machine: it has no clock, sends nothing, and has never heard of Kubernetes.
// Whoever uses it passes in what was answered and when, asks what should be asked next (inquiry()),
// and acts on a verdict (judge()). What it knows is in memory only: who starts anew starts over.
//
// What others were told of a machine is hearsay. It counts as no answer, but whoever is said to be
// gone is looked into: a cloud that contradicts itself is caught whomever it lies to. A cloud that
// is caught is believed in nothing for a while: everybody's count begins anew, and all deletions
// stop, those of others too (deletion_stop.h).
//
//   witness.put(subject, now);
//   witness.heard_list(listing, asked_at, now);
//   witness.heard_by_id(uid, answer, now);
//   witness.heard_pulses(as_of, pulse_of, now);
//   if (witness.judge(uid, around, now).is_ripe()) …read live, look
//     at the kubelets, heard_pulses(), read_live(), judge() again, delete…
//
// The conditions have their words in deletion_verdict.h and their numbers in deletion_policy.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/cloud/deletion_policy.h"
#include "isthmus/cloud/deletion_stop.h"
#include "isthmus/cloud/deletion_verdict.h"
#include "isthmus/cloud/disputes.h"
#include "isthmus/cloud/machine_evidence.h"
#include "isthmus/cloud/model.h"
#include "isthmus/cloud/positive_control.h"
#include "isthmus/cloud/removal_budget.h"
#include "isthmus/cloud/removal_latches.h"
#include "isthmus/cloud/subject.h"

namespace isthmus::cloud {

// What holds for all subjects at the moment of a verdict.
struct Surroundings {
  bool cloud_is_open = true;   // The breaker lets calls through.
  bool cloud_is_known = true;  // It is the account that it was.
  Duration lease_left = {};    // For how long we may still write.
  bool mutations_stopped = false;
};

// What should be asked now.
struct Inquiry {
  bool list = false;                   // The cloud's whole list, anew.
  bool pulses = false;                 // All kubelets, anew.
  std::vector<std::string> uids = {};  // The machines of these, by their ids.

  // When to look at this again if nothing happens before; nullopt: nobody is suspected.
  std::optional<Moment> again = {};

  bool asks_nothing() const { return !list && !pulses && uids.empty(); }
};

// How a cloud was caught.
enum class Lie : std::uint8_t {
  heartbeat,     // A machine that its list lacks is heard of.
  itself,        // It says both of one machine, again and again.
  mass_absence,  // More are gone at once than anybody should believe.
};

std::string_view to_string(Lie lie);

struct Contradiction {
  Lie lie;
  std::vector<std::string> uids;  // Whom it is about.
  std::string what;               // A sentence.
};

// A resource; `stop` outlives it.
class Witness final {
 public:
  // Machines asked for by id at the same time, from the front of the suspects. With half a minute
  // between two answers these are 40 calls a minute, however many are suspected.
  static constexpr std::size_t kConfirmedAtOnce = 20;

  // Likewise of those of whom the cloud may say both: a few are enough to catch it.
  static constexpr std::size_t kDisputedAtOnce = 3;

  // The policy is within its limits (asserted).
  Witness(DeletionPolicy policy, std::string scheme, DeletionStop& stop);

  // The Nodes, by uid. One that is Ready, or whose id has changed, begins anew.
  void put(Subject subject, Now now);
  void forget(const std::string& uid);

  // Evidence. Errors are none, only a measure of the cloud's health. `sent` and `started` are when
  // the question was sent. Subjects that are not known any more are passed over.
  void heard_by_id(const std::string& uid, const Result<Instance>& answer, Moment sent, Now now);
  // Somebody else was told by its id that this machine is gone. Whether there is more to ask by
  // that; what follows from it for all together comes with the answers.
  bool heard_of(const ProviderId& id, Moment sent, Now now);
  void heard_list(const Listing<Instance>& listing, Moment started, Now now);
  void heard_no_list(const Error& error, Moment started, Moment now);
  void heard_pulses(Moment as_of, const std::function<Pulse(const Subject&)>& pulse_of, Now now);
  void heard_no_pulses(const Error& error, Moment now);
  // The Node was read live at `sent`, and its kubelet was looked at after that; now both are done.
  void read_live(const std::string& uid, bool ready, Moment sent, Moment now);

  // The account is another one: whatever was said before was not about our machines.
  void doubt_everything();

  // Somebody's word about a latch that has fallen holds, or does not.
  void note_acknowledged(std::string_view id, bool acknowledged);

  Inquiry inquiry(Moment now) const;

  // The decision about one subject.
  Verdict judge(const std::string& uid, const Surroundings& around, Now now) const;

  // A deletion is about to be sent. It counts from now on, unless it is called off.
  void begin_removal(const std::string& uid, Moment now);
  void call_off(const std::string& uid) { budget_.give_back(uid); }

  // The cluster has refused it: called off, and not to be tried again before.
  void deny_removal(const std::string& uid, Moment until);

  // Whom the cloud says to be gone, or somebody confirms gone, in the order in which that began.
  const std::vector<std::string>& suspects() const { return suspects_; }
  bool is_suspect(const std::string& uid) const;
  const Subject* find(const std::string& uid) const;

  // Those of whom the cloud said last that no machine can have their ids.
  std::vector<const Subject*> refused() const;

  std::vector<Fallen> fallen() const { return latches_.fallen(); }

  // What was found out since this was asked last.
  std::vector<Contradiction> take_contradictions() { return std::exchange(found_, {}); }

  // Everything that is known of one, in a line: for the audit.
  std::string evidence_text(const std::string& uid, Moment now) const;

 private:
  struct Record {
    Subject subject = {};       // Announced also while it is confirmed gone.
    bool is_announced = false;  // By itself.
    bool has_exact_id = false;  // Of ours, whole.
    bool id_refused = false;    // The cloud said last that no machine can have it.
    Moment put_at = {};  // With this id: what was asked earlier is about another machine, or none.
    MachineEvidence evidence = {};
    bool is_suspect = false;
    std::optional<Moment> asked_at = {};      // By id, whatever came of it.
    std::optional<Moment> denied_until = {};  // Its deletion, by the cluster.
  };
  using Records = std::map<std::string, Record>;  // By uid.

  struct Call {
    Moment at;
    bool failed;
  };

  enum class Source : std::uint8_t { by_id, list };
  void speaks_for(Record& record, Source source, Moment asked, Now now);
  void took_back(const Record& record, Now now);
  void speaks_against(Record& record, Moment now);
  void count_withdrawn(Record& record, bool was_announced, Moment now);
  void acquit(Record& record, WallTime now);
  void drop_suspect(Record& record);
  PositiveControl::View compare(const Listing<Instance>& listing, Moment started, Now now);
  void compare_with(Record& record, Presence said, Now now, PositiveControl::View& view);
  void take_up(PositiveControl::Findings findings, Moment now);
  void caught(std::vector<std::string> contradicting, Moment now);
  void stop_believing(const std::string& why, Moment now);
  void call_ended(Outcome outcome, Moment now);
  void review(Now now);

  std::vector<std::string> to_confirm(Moment now, std::optional<Moment>& again) const;
  void add_disputed(Moment now, Inquiry& inquiry) const;
  Moment due_by_id(const Record& record, Moment now) const;
  bool is_worth_confirming(const Record& record) const;
  std::vector<const Subject*> suspected_subjects() const;
  Removal removal_of(const Record& record) const;
  Population population_without(const Record& record) const;

  using Unmets = std::vector<Unmet>;
  Unmets missing(const Record& record, Now now) const;
  // Each adds what is unmet.
  void judge_health(const Surroundings& around, Moment now, Unmets& unmet) const;
  void judge_room(const Record& record, Now now, Unmets& unmet) const;
  void judge_words(const Record& record, const Surroundings& around, Moment now,
                   Unmets& unmet) const;

  const DeletionPolicy policy_;
  const std::string scheme_;
  DeletionStop& stop_;

  Records records_;
  Census census_;
  std::vector<std::string> suspects_;
  Disputes disputes_;

  CommonEvidence common_;
  std::optional<Moment> list_asked_at_;     // Whatever came of it.
  std::optional<Moment> pulses_failed_at_;  // The last time, if it was the last look.
  std::deque<Call> calls_;                  // To the cloud, within the health window.
  PositiveControl control_;
  RemovalBudget budget_;
  RemovalLatches latches_;
  std::vector<Contradiction> found_;
};

}  // namespace isthmus::cloud
