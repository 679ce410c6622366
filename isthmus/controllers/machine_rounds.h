// Rounds of questions about the machines that matter: those of Nodes that are not Ready, that carry
// a taint of ours, or that the witness wants to know more about. One round asks for all of them
// together, so that a thousand Nodes that lose their network cost a list and not a thousand calls.
//
//   few are due                by id, some at once
//   many are due               the whole list, no more often than every `period`
//   somebody is suspected      besides: what the witness asks for (its inquiry), the list first, so
//                              that it is asked by id only about those whom the list lacks
//
// A machine is asked about at once when it begins to matter, then after `period`, and ever later,
// up to a minute apart, as long as the cloud says the same of it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/cloud/cache.h"
#include "isthmus/cloud/witness.h"
#include "isthmus/controllers/heartbeats.h"
#include "isthmus/controllers/node_lifecycle_plan.h"

namespace isthmus::controllers {

struct MachineRoundsOptions {
  Duration period = std::chrono::seconds(5);
  std::size_t calls_at_once = 10;  // By id.

  // So many due machines are asked for one by one. A page of a thousand costs about ten calls.
  std::size_t singles_max = 10;
};

// A resource; the doors outlive it.
class MachineRounds final {
 public:
  struct Doors {
    cloud::Instances& instances;
    cloud::InstanceCache& lists;
    Heartbeats& heartbeats;
    Loop& loop;
    Metrics& metrics;
  };

  MachineRounds(MachineRoundsOptions options, Doors doors, cloud::Witness& witness);

  // This Node's machine matters from now on, or from after a while; as if it were new if it did
  // before.
  void watch(const std::string& uid, cloud::ProviderId id, Duration after = Duration::zero());
  void unwatch(const std::string& uid);
  bool watches(const std::string& uid) const { return watched_.contains(uid); }

  // Whether it also matters how long its kubelet has been silent, while its machine is off.
  void want_silence(const std::string& uid, bool wanted);

  // When the next round is due; nullopt: nothing matters.
  std::optional<Moment> due() const;

  // Asks whatever is due now, and tells the witness. What fails is counted, and asked again in its
  // time. Errors: only cancelled and deadline of the caller's scope.
  Task<Result<>> round();

  // Looks at all kubelets now, due or not, and tells the witness. Errors: as round().
  Task<Result<>> look_at_kubelets();

  // Those of whom the cloud has said something since this was asked last.
  std::vector<std::string> take_heard() { return std::exchange(heard_, {}); }

  // What the cloud has said of a machine that matters; nullopt: nothing yet.
  std::optional<MachineReport> report(const std::string& uid) const;

  // How long the kubelet of this Node had been silent at the last look of the last minute.
  std::optional<Duration> silence(const std::string& node_name) const;

 private:
  struct Watched {
    cloud::ProviderId id = {};
    bool wants_silence = false;
    Moment next = {};
    Duration pause = {};  // Until the time after that.
    std::optional<MachineReport> report = {};
  };
  // One machine of a round; a value, for the Node may be gone when the answer comes.
  struct Question {
    std::string uid;
    cloud::ProviderId id;
  };

  Task<Result<>> ask_list();
  Task<Result<>> ask_singles();
  static Task<Result<>> ask_one(Question question, MachineRounds& self);

  std::size_t count_due() const;
  bool wants_list() const;
  std::optional<Moment> kubelets_due() const;
  std::vector<Question> singles() const;
  void take_in(const std::string& uid, Watched& watched, const cloud::Instance* instance,
               Moment asked_at);
  void asked(Watched& watched);
  Counter& calls(std::string_view operation, Outcome outcome);
  cloud::Now now() const;

  const MachineRoundsOptions options_;
  const Doors doors_;
  cloud::Witness& witness_;
  std::map<std::string, Watched> watched_;  // By uid.
  std::vector<std::string> heard_;
  std::optional<Moment> listed_at_;  // The last try.
  HeartbeatSnapshot kubelets_;
  std::optional<Moment> looked_at_;  // At the kubelets, whatever came of it.
};

}  // namespace isthmus::controllers
