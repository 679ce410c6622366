// Whether somebody else of the link has an address, asked before it is bound for the first time.
//
// Three questions spread over a short window, as RFC 5227 section 2.1.1 (ARP) and RFC 4862 section
// 5.4 (neighbour solicitation) have them, but within 300 ms instead of their seconds: an operator
// gave us the address, so this catches mistakes, not strangers. An answer, or anybody's wish for
// the same address at the same time, means taken. All addresses that wait are asked for in
// parallel, so a thousand take as long as one.
//
//   AddressProbe probe(link);
//   const std::optional<Claim> taken = CO_TRY(co_await probe.ask({address, "eth0"}));
//
// A proxy that answers for every address (proxy_arp) makes all of them taken. Hosts that are cut
// off right now, and duplicates that arrive later, are not found by any probe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/drivers/addresses.h"
#include "isthmus/infra/drivers/link_frames.h"
#include "isthmus/infra/drivers/packet_socket.h"

namespace isthmus::infra::drivers {

// The link as a probe sees it. A resource; no call waits.
class ProbeLink {
 public:
  struct Heard {
    std::string interface;
    Claim claim;

    friend bool operator==(const Heard&, const Heard&) = default;
  };

  virtual ~ProbeLink() = default;

  // Asks once who has the address, and listens from now on. absent: no such interface. busy: it has
  // no carrier, or its queue is full. unsupported: there are no neighbours to ask (a loopback, a
  // tunnel). denied: no privilege.
  virtual Result<> ask(const BoundAddress& address) = 0;

  // What others claimed since the last call, on interfaces that ask() has used; never what we
  // ourselves sent.
  virtual Result<std::vector<Heard>> heard() = 0;

  // Nobody waits for answers any more; what comes is not received until the next ask().
  virtual void rest() = 0;
};

// Of the network namespace in which it is opened. Needs CAP_NET_RAW.
class LinkProbe final : public ProbeLink {
 public:
  static Result<LinkProbe> open();

  Result<> ask(const BoundAddress& address) override;
  Result<std::vector<Heard>> heard() override;
  void rest() override;

 private:
  LinkProbe(PacketSocket v4, PacketSocket v6) : v4_(std::move(v4)), v6_(std::move(v6)) {}

  PacketSocket v4_;
  PacketSocket v6_;
  bool v4_listens_ = false;
  bool v6_listens_ = false;
  std::map<std::string, EthernetLink> links_;  // Those used since we listen.
};

struct ProbeTiming {
  int questions = 3;
  // From the first question until silence means free; the questions divide it evenly.
  Duration window = std::chrono::milliseconds(300);
};

// A resource; the link outlives it, and it outlives every ask().
class AddressProbe {
 public:
  explicit AddressProbe(ProbeLink& link, ProbeTiming timing = {});
  ~AddressProbe();
  AddressProbe(const AddressProbe&) = delete;
  AddressProbe& operator=(const AddressProbe&) = delete;

  // None: nobody else has it, after the whole window; at once where there are no neighbours to ask,
  // or with a window of zero. Otherwise who has it or wants it too, as soon as that is noticed.
  // Any number may be asked for at once.
  //
  // absent: no such interface. busy: none of the questions could be sent (the interface has no
  // carrier); denied; lost: the link could not be read. cancelled, deadline: the scope ended;
  // nothing is left behind.
  Task<Result<std::optional<Claim>>> ask(BoundAddress address);

 private:
  class Waiting;

  Result<> listen();
  void hear(const ProbeLink::Heard& heard);

  ProbeLink& link_;
  const ProbeTiming timing_;
  std::multimap<BoundAddress, Waiting*> waiting_;
};

}  // namespace isthmus::infra::drivers
