// Heartbeats as the API server has them: lists the Leases of kube-node-lease by pages, and
// remembers what earlier looks have shown.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "isthmus/base/loop.h"
#include "isthmus/cloud/coalesce.h"
#include "isthmus/controllers/heartbeats.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::controllers {

// One complete list: the renewTime by name of the Node; nullopt: its Lease cannot be read.
struct HeartbeatLook {
  Moment sent = {};
  Moment answered = {};
  std::map<std::string, std::optional<std::string>> renew_times = {};
};

// Of a Lease that vanished nothing is remembered for longer than this.
inline constexpr Duration kVanishedForgotten = std::chrono::hours(1);

// What is known after this look; `before` is what was known after the one before it, null for the
// first.
HeartbeatList after_look(const HeartbeatList* before, HeartbeatLook look);

// A resource; the door outlives it, and it outlives who waits in read().
class LeaseHeartbeats final : public Heartbeats {
 public:
  LeaseHeartbeats(kube::ApiDoor& api, Loop& loop);

  Task<Result<HeartbeatSnapshot>> read(Duration max_age) override;

 private:
  enum class Everyone { nodes };  // There is one question.

  Task<Result<HeartbeatSnapshot>> look();

  kube::ApiDoor& api_;
  Loop& loop_;
  kube::Decoder decoder_;
  HeartbeatSnapshot latest_;
  cloud::Coalescer<Everyone, HeartbeatSnapshot> looks_;
};

}  // namespace isthmus::controllers
