// What people are told of Nodes that may be deleted: events on the Nodes, metrics and the log.
//
//   InstanceMissing           the cloud says that its machine is gone, and it is being made sure
//   NodeDeletionWithheld      why it is kept all the same, and what would release it
//   CloudContradictsCluster   the cloud's list lacks its machine, and its kubelet lives
//   CloudContradictsItself    the cloud takes back what it says of its machine
//   NodeWithoutProviderID     nobody knows which machine it is, and it is not Ready
//   ProviderIDRefused         likewise: the cloud says that no machine can have its id
//   InvalidAnnotation         what somebody has written there has no effect
//
// Each is told once, and again only after it has not been so for a while. Why a Node is kept, and
// that nobody knows its machine, is told anew every hour, because an event lasts no longer.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/log.h"
#include "isthmus/cloud/deletion_stop.h"
#include "isthmus/cloud/witness.h"
#include "isthmus/controllers/node_lifecycle_metrics.h"
#include "isthmus/controllers/safety_switch.h"
#include "isthmus/controllers/teller.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/recorder.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

// A resource; the doors outlive it.
class NodeDeletionNews final {
 public:
  struct Doors {
    kube::Store<kube::Node>& nodes;
    cloud::Witness& witness;
    const cloud::DeletionStop& stop;
    const SafetySwitch& safety;
    kube::Recorder& recorder;
    const Clock& clock;
    NodeLifecycleMetrics& metrics;
    Logger& log;
  };

  // A Node without a providerID, or with one that the cloud refuses, is told of when it has not
  // been Ready for so long.
  NodeDeletionNews(Duration no_id_after, Doors doors);

  // A Node as it is now; the ones that are gone.
  void note(const kube::Node& node);
  void forget(const kube::ObjectKey& key, const std::string& uid);

  // When something is to be told by the passing of time alone; nullopt: nothing.
  std::optional<Moment> due() const;

  // Takes in what people have acknowledged, judges all who are suspected, and tells everything that
  // is new. Answers the uids of those who may go now, as far as can be said without a live read.
  std::vector<std::string> tell(const cloud::Surroundings& around);

 private:
  using NodePtr = kube::Snapshot<kube::Node>;
  struct Suspicion {
    Moment since = {};
    Moment last = {};  // When it was last so.
    std::map<cloud::Condition, Moment> told = {};
  };
  struct Unidentified {
    kube::ObjectKey key = {};
    Moment since = {};
    std::optional<Moment> told_at = {};
  };

  NodePtr find(const std::string& uid) const;
  void tell_contradictions();
  bool tell_contradiction(const cloud::Contradiction& contradiction);
  void look_at_breakers();
  void tell_breakers(const std::set<std::string>& fallen);
  std::vector<std::string> tell_suspects(const cloud::Surroundings& around);
  bool tell_suspect(const cloud::Subject& subject, const cloud::Verdict& verdict);
  void tell_nameless();
  void tell_refused();
  Moment due_of(const Unidentified& each) const;
  void tell_unidentified(const std::string& uid, Unidentified& each, std::string_view reason,
                         std::string message);

  const Duration no_id_after_;
  const Doors doors_;
  Teller words_;                                  // About annotations.
  std::map<std::string, Suspicion> suspicions_;   // By uid.
  std::map<std::string, Unidentified> nameless_;  // Likewise: without a providerID…
  std::map<std::string, Unidentified> refused_;   // …and with one that no machine can have.
  std::map<std::string, Moment> lied_about_;      // By uid: when that was found out last.
  std::set<std::string> fallen_;                  // Breakers that were told, by id…
  std::set<std::string> acknowledged_;            // …and those of them that are acknowledged.
};

}  // namespace isthmus::controllers
