#include "isthmus/controllers/route_live.h"

#include <algorithm>

#include "isthmus/controllers/live_list.h"
#include "isthmus/controllers/pod_cidr.h"
#include "isthmus/controllers/route_plan.h"

namespace isthmus::controllers {

bool LivePodCidrs::has(const IpPrefix& destination, const std::string& uid) const {
  const auto found = uids_.find(destination);
  return found != uids_.end() && found->second.contains(uid);
}

bool LivePodCidrs::any_unseen_overlaps(const IpPrefix& destination,
                                       const LivePodCidrs& seen) const {
  return any_overlapping(uids_, destination, [&](const std::set<std::string>& live) {
    return std::ranges::any_of(live, [&](const std::string& uid) {
      return !any_overlapping(seen.uids_, destination, [&](const std::set<std::string>& uids) {
        return uids.contains(uid);
      });
    });
  });
}

Task<Result<LivePodCidrs>> read_live_pod_cidrs(kube::ApiDoor& api) {
  LivePodCidrs live;
  const auto add = [&live](const kube::Decoded<kube::Node>& item) -> Result<> {
    if (!item.object) {
      return fail(Outcome::lost,
                  "Node " + item.key.name + " cannot be read: " + item.object.error().message);
    }
    live.count_node();
    for (const IpPrefix& cidr : pod_cidrs_of(*item.object)) live.add(cidr, item.uid);
    return {};
  };
  CO_TRY(co_await read_live<kube::Node>(api, add));
  co_return live;
}

}  // namespace isthmus::controllers
