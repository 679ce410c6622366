// All latches together: one of each zone, one of the cluster, and one of the last that are Ready.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/cloud/deletion_policy.h"
#include "isthmus/cloud/deletion_verdict.h"
#include "isthmus/cloud/removal_latch.h"
#include "isthmus/cloud/subject.h"

namespace isthmus::cloud {

// A latch that has fallen.
struct Fallen {
  std::string_view kind = {};  // "zone", "cluster" or "last_ready".
  std::string id = {};         // By which it is acknowledged.
  std::string why = {};
  std::vector<std::string> uids = {};  // Whom it holds since it fell; only in the news of it.
};

// A resource.
class RemovalLatches final {
 public:
  explicit RemovalLatches(const DeletionPolicy& policy) : policy_(policy) {}

  // A subject has come under suspicion; it counts for a while, whatever becomes of it.
  void suspected(const Subject& subject, Moment now);

  // Looks at all who are suspected now, and answers which latches have fallen by that. Opens those
  // whose time has come.
  std::vector<Fallen> review(const std::vector<const Subject*>& suspects, const Census& census,
                             Now now);

  // What the last view of the cloud was (removal_latch.h).
  void views_agreed(Moment at);
  void views_disagreed();

  void note_acknowledged(std::string_view id, bool acknowledged,
                         const std::vector<const Subject*>& suspects);

  // No candidate any more.
  void forget(const std::string& uid);

  // What holds this one; empty: nothing. `others_ready`: Ready Nodes besides it.
  std::vector<Unmet> holding(const Subject& subject, std::size_t others_ready) const;

  // Whether one of them has let it through, so that it goes slowly.
  bool has_let_through(const std::string& uid) const;

  std::vector<Fallen> fallen() const;

 private:
  using Suspects = std::vector<const Subject*>;

  void review_cluster(const Suspects& suspects, const Census& census, Now now,
                      std::vector<Fallen>& news);
  void review_zones(const Suspects& suspects, const Census& census, Now now,
                    std::vector<Fallen>& news);
  void review_last_ready(const Suspects& suspects, const Census& census, Now now,
                         std::vector<Fallen>& news);
  void each(const std::function<void(std::string_view kind, RemovalLatch&)>& act);
  void each(const std::function<void(std::string_view kind, const RemovalLatch&)>& act) const;

  const DeletionPolicy policy_;
  std::map<std::string, Moment> candidates_;  // By uid: when they came under suspicion last.
  RemovalLatch cluster_{"cluster", kLatchQuiet};
  RemovalLatch last_ready_{"last-ready", std::nullopt};
  Moment suspected_at_{};  // When somebody was under suspicion last.
  std::map<std::string, RemovalLatch> zones_;
};

}  // namespace isthmus::cloud
