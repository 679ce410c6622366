// Whose the pod CIDRs are, as the API server says itself: the second opinion before something that
// stands is moved or taken away. The watched Nodes may be old, or a list of them short.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "isthmus/base/ip.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::controllers {

// A value.
class LivePodCidrs {
 public:
  void add(const IpPrefix& destination, std::string uid) {
    uids_[destination].insert(std::move(uid));
  }
  void count_node() { ++nodes_; }

  std::size_t nodes() const { return nodes_; }

  // Whether that Node has exactly this destination.
  bool has(const IpPrefix& destination, const std::string& uid) const;

  // Whether a Node has a destination that overlaps this one and is not in what we see, where Nodes
  // have been added as they are watched. Whose the destination is was decided without it.
  bool any_unseen_overlaps(const IpPrefix& destination, const LivePodCidrs& seen) const;

 private:
  std::map<IpPrefix, std::set<std::string>> uids_;
  std::size_t nodes_ = 0;
};

// Every page of a consistent list. Errors: the door's; lost where a Node cannot be read, because
// nobody knows what it has.
Task<Result<LivePodCidrs>> read_live_pod_cidrs(kube::ApiDoor& api);

}  // namespace isthmus::controllers
