// What people are told of Nodes that may be deleted: events on the Nodes, metrics and the log.
//
//   InstanceMissing           the cloud says that its machine is gone, and it is being made sure
//   NodeDeletionWithheld      why it is kept all the same, and what would release it
//   CloudContradictsCluster   the cloud's list lacks its machine, and its kubelet lives
//   CloudContradictsItself    the cloud takes back what it says of its machine
//   NodeWithoutProviderID     nobody knows which machine it is, and it is not Ready
//   InvalidAnnotation         what somebody has written there has no effect
//
// Each is told once, and again only after it has not been so for a while.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
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

  // A Node without a providerID is told of when it has not been Ready for so long.
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
    std::set<cloud::Condition> told = {};
  };
  struct Nameless {
    kube::ObjectKey key = {};
    Moment since = {};
    bool is_told = false;
  };

  NodePtr find(const std::string& uid) const;
  void tell_contradictions();
  bool tell_contradiction(const cloud::Contradiction& contradiction);
  void look_at_breakers();
  void tell_breakers(const std::set<std::string>& fallen);
  std::vector<std::string> tell_suspects(const cloud::Surroundings& around);
  bool tell_suspect(const cloud::Subject& subject, const cloud::Verdict& verdict);
  void tell_nameless();

  const Duration no_id_after_;
  const Doors doors_;
  Teller words_;                                 // About annotations.
  std::map<std::string, Suspicion> suspicions_;  // By uid.
  std::map<std::string, Nameless> nameless_;     // Likewise.
  std::map<std::string, Moment> lied_about_;     // By uid: when that was found out last.
  std::set<std::string> fallen_;                 // Breakers that were told, by id…
  std::set<std::string> acknowledged_;           // …and those of them that are acknowledged.
};

}  // namespace isthmus::controllers
