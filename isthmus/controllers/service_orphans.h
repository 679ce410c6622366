// Orphans: load balancers that carry our cluster's uid and a Service's that there is no more. The
// Service lost its finalizer by hand, or the API server has lost the Service; nobody will ever ask
// for their release.
//
// They are reported at once and released late, and only on three proofs: the watched Services lack
// the uid for the whole grace; then the cluster is still the one it was; and a list that is read
// live, whole, lacks the uid as well. An API server that was restored from a backup shows many
// orphans at once: then they are only reported, all of them for as long as they are orphans, also
// when they have become fewer.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "isthmus/base/log.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/cloud/ownership.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/controllers/service_book.h"
#include "isthmus/controllers/withheld.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/recorder.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

struct OrphanLimits {
  Duration grace = std::chrono::minutes(10);

  // More than so many, if they are also more than a third of all load balancers, are too many.
  std::size_t many = 3;
};

// Whether something else must be wrong where so many of all are orphans.
bool are_too_many(std::size_t orphans, std::size_t all, const OrphanLimits& limits);

struct OrphanDoors {
  kube::Store<kube::Service>& services;
  kube::ApiDoor& api;
  cloud::LoadBalancers& cloud;
  kube::Recorder& recorder;
  const Clock& clock;
  Metrics& metrics;
  Logger& log;
};

// A resource; the doors and the book outlive it.
class ServiceOrphans final {
 public:
  ServiceOrphans(OrphanLimits limits, OrphanDoors doors, ServiceBook& book);

  // Looks again and again, until the scope is cancelled. The book must have heard what there is,
  // and of this cluster only.
  Task<Result<>> run(cloud::ClusterUid cluster);

  // One look: reports what is new, releases what is due, or says why nothing may be. Errors: of the
  // live list; those of single releases are logged, and tried again at the next look.
  Task<Result<>> sweep(cloud::ClusterUid cluster);

 private:
  std::vector<std::string> note_orphans(const cloud::ClusterUid& cluster);
  bool was_replaced(const cloud::LoadBalancerState& stranger) const;
  void hold_crowd();
  Task<Result<>> release_due(cloud::ClusterUid cluster, std::vector<std::string> due);
  Task<Result<std::set<std::string>>> names_of_live(cloud::ClusterUid cluster);

  const OrphanLimits limits_;
  kube::Store<kube::Service>& services_;
  kube::ApiDoor& api_;
  cloud::LoadBalancers& cloud_;
  ServiceBook& book_;
  const Clock& clock_;
  Logger& log_;
  std::map<std::string, Moment> since_;  // The orphans by name.
  std::set<std::string> crowd_;          // Those that were too many at once.
  Withheld withheld_;
  Gauge& gauge_;
  Counter& released_;
};

}  // namespace isthmus::controllers
