// Whether the replies to flows under `sourceAddress: keep` come back through this host. Where they
// do not, the client gets them from an address that it never asked, and drops them: every machine
// is healthy and nobody is served. The kernel's connection tracking sees it: such a flow is never
// answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/infra/drivers/driver.h"
#include "isthmus/infra/drivers/netlink_socket.h"

namespace isthmus::infra::drivers {

struct FlowHealth {
  ListenerKey listener;
  std::size_t unreplied = 0;  // Not answered at all, for kReplyPatience and longer.
  std::size_t replied = 0;    // Of clients whose address was kept.

  friend bool operator==(const FlowHealth&, const FlowHealth&) = default;
};

// A flow that takes longer to be answered at all is not served.
inline constexpr Duration kReplyPatience = std::chrono::seconds(3);

// Whether this can hardly be anything but a missing way back. The targets must be known to be
// healthy: of dead ones no flow is answered either. Of UDP nothing is concluded, because a protocol
// need not answer.
bool return_path_missing(const FlowHealth& flows);

// A resource.
class FlowWatch {
 public:
  virtual ~FlowWatch() = default;

  // The flows of those of the listeners that have unanswered ones, by listener. How long a flow has
  // been there is known from earlier calls only, so one call finds nothing: repeat it, every 10 to
  // 30 s. Listeners that are not named are forgotten. Errors are those of NetlinkSocket::dump, and
  // leave things as they were.
  virtual Result<std::vector<FlowHealth>> look(const std::set<ListenerKey>& listeners) = 0;
};

// By the kernel's connection tracking. It leaves out answered flows by itself (since Linux 5.12;
// before, all are read, at about 1 µs each), unless there are unanswered ones. The clock outlives
// this.
class ReturnPaths final : public FlowWatch {
 public:
  // The socket is of NETLINK_NETFILTER, and says which network namespace is looked at.
  ReturnPaths(NetlinkSocket socket, const Clock& clock)
      : socket_(std::move(socket)), clock_(clock) {}

  Result<std::vector<FlowHealth>> look(const std::set<ListenerKey>& listeners) override;

  // Under a flood of flows that are never answered, so many of them are a sample that says enough.
  // An entry takes about 100 bytes.
  static constexpr std::size_t kRememberedMax = 16 * 1024;

 private:
  // The kernel's number of an entry may come again; with the client it does not within seconds.
  using Flow = std::pair<std::uint32_t, Endpoint>;
  struct Unanswered {
    ListenerKey listener;
    Moment since;
  };

  Result<> read_unanswered(IpFamily family, const std::set<ListenerKey>& listeners,
                           std::map<Flow, Unanswered>& found);
  Result<> count_answered(IpFamily family, std::map<ListenerKey, FlowHealth>& health);

  NetlinkSocket socket_;
  const Clock& clock_;
  std::map<Flow, Unanswered> unanswered_;
};

}  // namespace isthmus::infra::drivers
