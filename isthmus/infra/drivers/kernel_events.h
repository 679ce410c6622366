// What others change in the kernel under our hands, told by the kernel itself: links that come and
// go, addresses, and our own rules and routes. An event carries no news but "look again"; what is
// wrong is found by observing. Events can get lost, so everything is observed every 30 s all the
// same.
//
// Polled, because drain() costs two system calls where nothing happened: every 100 to 500 ms is
// right. Rules are also covered by BalancerDriver::generation(), which moves with everybody's
// changes to any table; this tells ours from theirs, so that a host whose other tables change all
// the time does not make us read ours each time.
#pragma once

#include <cstdint>
#include <memory>

#include "isthmus/base/result.h"

struct mnl_socket;

namespace isthmus::infra::drivers {

struct KernelChanges {
  bool links = false;      // One came, went, or changed its state.
  bool addresses = false;  // By whomever: our own changes count as well.
  bool rules = false;      // Somebody else changed table `inet isthmus`.
  bool routes = false;     // Somebody else changed a route with our protocol number.

  bool any() const { return links || addresses || rules || routes; }
  friend bool operator==(const KernelChanges&, const KernelChanges&) = default;
};

// A resource.
class ChangeSource {
 public:
  virtual ~ChangeSource() = default;

  // What has changed since the last call; waits for nothing. Where events were lost for want of
  // room, everything they could have told has changed.
  virtual Result<KernelChanges> drain() = 0;

  // On before and off behind a large apply(): while somebody listens, the kernel describes every
  // element that changes, which took as long again as a change of 132,000. What others do to our
  // table meanwhile is not told; it shows in that apply() does not bring `Held::generation` to the
  // driver's generation(), and the caller observes.
  virtual void ignore_rules(bool on) = 0;
};

// Movable, because it is nothing but the owner of descriptors.
class KernelEvents final : public ChangeSource {
 public:
  // Of the network namespace of the caller, from now on. What the netlink sockets `own_rules_port`
  // and `own_routes_port` change (NetlinkSocket::port(), of the drivers' sockets) is not told.
  // denied: no CAP_NET_ADMIN.
  static Result<KernelEvents> open(std::uint32_t own_rules_port, std::uint32_t own_routes_port);

  KernelEvents(KernelEvents&&) noexcept;
  KernelEvents& operator=(KernelEvents&&) = delete;
  ~KernelEvents() override;

  Result<KernelChanges> drain() override;
  void ignore_rules(bool on) override;

 private:
  struct Closer {
    void operator()(mnl_socket* socket) const;
  };
  using Socket = std::unique_ptr<mnl_socket, Closer>;

  KernelEvents(Socket network, Socket rules, Socket routes);
  static Result<Socket> subscribe(int protocol, std::uint32_t groups);

  Socket network_;
  Socket rules_;
  Socket routes_;
};

}  // namespace isthmus::infra::drivers
