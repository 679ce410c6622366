#include "isthmus/infra/drivers/address_probe.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/scope.h"

namespace isthmus::infra::drivers {

Result<LinkProbe> LinkProbe::open() {
  PacketSocket v4 = TRY(PacketSocket::open(FrameKind::arp));
  PacketSocket v6 = TRY(PacketSocket::open(FrameKind::ipv6_neighbours));
  return LinkProbe(std::move(v4), std::move(v6));
}

Result<> LinkProbe::ask(const BoundAddress& address) {
  const bool v4 = address.address.family == IpFamily::v4;
  PacketSocket& socket = v4 ? v4_ : v6_;
  bool& listens = v4 ? v4_listens_ : v6_listens_;
  const EthernetLink link = TRY(socket.link(address.interface));
  if (!link.carrier) {
    return fail(Outcome::busy, fmt::format("{} has no carrier", address.interface));
  }
  if (!listens) TRY(socket.listen());
  listens = true;
  // Others who probe at the same time ask a group of which we are no member yet.
  if (!v4) TRY(v6_.listen_to_all_groups(link));
  links_[address.interface] = link;
  Result<> sent = socket.send(link, probe_frame(address.address, link.mac));
  if (!sent) return fail(address.interface, sent.error());
  return {};
}

Result<std::vector<ProbeLink::Heard>> LinkProbe::heard() {
  std::vector<Heard> all;
  auto enter = [&](std::span<const std::uint8_t> frame, int index) {
    std::optional<Claim> claim = claim_in(frame);
    if (!claim) return;
    auto link = std::ranges::find(links_, index, [](const auto& one) { return one.second.index; });
    // A switch may send back what we have sent.
    if (link == links_.end() || claim->mac == link->second.mac) return;
    all.push_back({link->first, *claim});
  };
  if (v4_listens_) TRY(v4_.receive(enter));
  if (v6_listens_) TRY(v6_.receive(enter));
  return all;
}

void LinkProbe::rest() {
  if (std::exchange(v4_listens_, false)) v4_.deaf();
  if (std::exchange(v6_listens_, false)) v6_.deaf();
  links_.clear();
}

// One ask() from its first question to its answer; whoever listens enters what concerns it.
class AddressProbe::Waiting {
 public:
  Waiting(AddressProbe& probe, const BoundAddress& address)
      : probe_(probe), place_(probe.waiting_.emplace(address, this)) {}
  ~Waiting() {
    probe_.waiting_.erase(place_);
    if (probe_.waiting_.empty()) probe_.link_.rest();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  std::optional<Claim> taken;

 private:
  AddressProbe& probe_;
  std::multimap<BoundAddress, Waiting*>::iterator place_;
};

AddressProbe::AddressProbe(ProbeLink& link, ProbeTiming timing) : link_(link), timing_(timing) {
  ISTHMUS_ASSERT(timing.questions > 0, "a probe asks at least once");
}

AddressProbe::~AddressProbe() {
  ISTHMUS_ASSERT(waiting_.empty(), "a probe is waited for and destroyed");
}

Task<Result<std::optional<Claim>>> AddressProbe::ask(BoundAddress address) {
  if (timing_.window <= Duration::zero()) co_return std::nullopt;
  Waiting waiting(*this, address);
  Result<> refused;
  int sent = 0;
  for (int i = 0; i < timing_.questions; ++i) {
    // Between the questions of many, so that their answers never wait long in the socket.
    CO_TRY(listen());
    if (waiting.taken) co_return waiting.taken;
    Result<> asked = link_.ask(address);
    if (asked.outcome() == Outcome::unsupported) co_return std::nullopt;
    if (asked) {
      ++sent;
    } else if (asked.outcome() == Outcome::busy) {
      refused = std::move(asked);
    } else {
      co_return std::unexpected(asked.error());
    }
    CO_TRY(co_await sleep_for(timing_.window / timing_.questions));
  }
  CO_TRY(listen());
  if (waiting.taken) co_return waiting.taken;
  if (sent == 0) co_return std::unexpected(refused.error());
  co_return std::nullopt;
}

Result<> AddressProbe::listen() {
  const std::vector<ProbeLink::Heard> heard = TRY(link_.heard());
  for (const ProbeLink::Heard& one : heard) hear(one);
  return {};
}

void AddressProbe::hear(const ProbeLink::Heard& heard) {
  auto [first, last] = waiting_.equal_range({heard.claim.address, heard.interface});
  for (auto one = first; one != last; ++one) one->second->taken = heard.claim;
}

}  // namespace isthmus::infra::drivers
