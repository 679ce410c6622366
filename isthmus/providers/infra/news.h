// What happens to load balancers, as the server says it by itself: a list, and then a watch from
// the list's revision, which misses nothing.
//
// No state outlives a stream: whoever is cut off starts over with the list.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/cloud/load_balancer.h"
#include "isthmus/infra/api/watch_event.h"
#include "isthmus/providers/infra/objects_client.h"
#include "isthmus/providers/infra/target_sets.h"
#include "isthmus/providers/infra/watch_stream.h"

namespace isthmus::providers::infra {

// That pools, addresses or target sets changed is told once for all that happened so long, because
// everybody who was refused is asked again for it.
inline constexpr Duration kResourcesDelay = std::chrono::milliseconds(500);

// From lines to news. A resource; the sets outlive it.
class NewsReader final : public WatchReader {
 public:
  NewsReader(const InfraTargetSets& sets, std::string owner,
             std::function<void(cloud::LoadBalancerNews)> tell);

  // Takes in one line and tells what it says of load balancers. lost: it cannot be understood, is
  // about another owner's load balancer, or says that the stream ends.
  Result<> take(std::string_view line, Moment now) override;

  // When tell_resources() is to be called, if at all.
  std::optional<Moment> due() const override { return due_; }
  void on_due() override { tell_resources(); }

  // Tells that resources changed, if after all somebody may be interested.
  void tell_resources();

 private:
  void note(const isthmus::infra::api::WatchEvent& event, Moment now);

  const InfraTargetSets& sets_;
  const std::string owner_;
  const std::function<void(cloud::LoadBalancerNews)> tell_;
  std::optional<Moment> due_;
  bool resources_changed_ = false;
  // Generations of sets that were told. Our own ensure may be answered later than the stream tells
  // of it, so whether somebody else changed them is decided when it is due.
  std::map<std::string, std::uint64_t> sets_changed_;
};

// Tells everything, then each change, until the stream ends or is silent for too long: lost, also
// where the list is partial; else the errors of ObjectsClient. What is given by reference outlives
// the task.
Task<Result<>> tell_news(ObjectsClient& client, const InfraTargetSets& sets, std::string owner,
                         std::function<void(cloud::LoadBalancerNews)> tell);

}  // namespace isthmus::providers::infra
