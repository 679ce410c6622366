#include "isthmus/controllers/route_live.h"

#include <algorithm>

#include "isthmus/controllers/pod_cidr.h"
#include "isthmus/controllers/route_plan.h"
#include "isthmus/kube/api/decode.h"

namespace isthmus::controllers {
namespace {

constexpr std::int64_t kPage = 500;  // Of 15 KB each: 7.5 MB.

}  // namespace

bool LivePodCidrs::has(const IpPrefix& destination, const std::string& uid) const {
  const auto found = uids_.find(destination);
  return found != uids_.end() && found->second.contains(uid);
}

bool LivePodCidrs::any_overlaps(const IpPrefix& destination) const {
  return any_overlapping(uids_, destination, [](const auto&) { return true; });
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
  kube::Decoder decoder{kube::Projection{}};
  LivePodCidrs live;
  std::string token;
  do {
    std::string text = CO_TRY(co_await api.list(
        {.resource = kube::Node::resource, .limit = kPage, .continue_token = token}));
    const auto page = CO_TRY(decoder.page<kube::Node>(text));
    for (const kube::Decoded<kube::Node>& item : page.items) {
      if (!item.object) {
        co_return fail(Outcome::lost,
                       "Node " + item.key.name + " cannot be read: " + item.object.error().message);
      }
      live.count_node();
      for (const IpPrefix& cidr : pod_cidrs_of(*item.object)) live.add(cidr, item.uid);
    }
    token = page.continue_token;
  } while (!token.empty());
  co_return live;
}

}  // namespace isthmus::controllers
