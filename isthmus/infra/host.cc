#include "isthmus/infra/host.h"

#include <linux/netlink.h>

#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isthmus/infra/drivers/forwarding.h"
#include "isthmus/infra/drivers/host_claim.h"
#include "isthmus/infra/drivers/nft_driver.h"
#include "isthmus/infra/drivers/nft_dropping_chains.h"

namespace isthmus::infra {
namespace {

class KernelHost final : public Host {
 public:
  KernelHost(drivers::HostClaim claim, drivers::NetlinkSocket rules,
             drivers::NetlinkSocket addresses, drivers::NetlinkSocket flows,
             drivers::NetlinkSocket chains, drivers::LinkProbe probe,
             drivers::LinkAnnouncer announcer, drivers::KernelRoutes routes,
             drivers::KernelEvents events, const Clock& clock, Files& files)
      : claim_(std::move(claim)),
        balancers_(std::move(rules)),
        addresses_(std::move(addresses)),
        probe_(std::move(probe)),
        announcer_(std::move(announcer)),
        routes_(std::move(routes)),
        events_(std::move(events)),
        flows_(std::move(flows), clock),
        chains_(std::move(chains)),
        files_(files) {}

  drivers::BalancerDriver& balancers() override { return balancers_; }
  drivers::AddressBook& addresses() override { return addresses_; }
  drivers::ProbeLink& probe_link() override { return probe_; }
  drivers::Announcer& announcer() override { return announcer_; }
  drivers::ChangeSource& changes() override { return events_; }
  drivers::FlowWatch& flows() override { return flows_; }
  drivers::RouteBook& routes() override { return routes_; }
  Result<> forwards(IpFamily family) override {
    return check_forwarding(files_, std::span(&family, 1));
  }
  Result<std::vector<std::string>> dropping_chains() override {
    return drivers::dropping_chains(chains_);
  }

 private:
  drivers::HostClaim claim_;
  drivers::NftDriver balancers_;
  drivers::InterfaceAddresses addresses_;
  drivers::LinkProbe probe_;
  drivers::LinkAnnouncer announcer_;
  drivers::KernelRoutes routes_;
  drivers::KernelEvents events_;
  drivers::ReturnPaths flows_;
  drivers::NetlinkSocket chains_;
  Files& files_;
};

Result<std::unique_ptr<Host>> open_sockets(const Clock& clock, Files& files) {
  drivers::HostClaim claim = TRY(drivers::HostClaim::take());
  drivers::NetlinkSocket rules = TRY(drivers::NetlinkSocket::open(NETLINK_NETFILTER));
  drivers::KernelRoutes routes = TRY(drivers::KernelRoutes::open());
  drivers::KernelEvents events = TRY(drivers::KernelEvents::open(rules.port(), routes.port()));
  drivers::NetlinkSocket addresses = TRY(drivers::NetlinkSocket::open(NETLINK_ROUTE));
  drivers::NetlinkSocket flows = TRY(drivers::NetlinkSocket::open(NETLINK_NETFILTER));
  drivers::NetlinkSocket chains = TRY(drivers::NetlinkSocket::open(NETLINK_NETFILTER));
  drivers::LinkProbe probe = TRY(drivers::LinkProbe::open());
  drivers::LinkAnnouncer announcer = TRY(drivers::LinkAnnouncer::open());
  return std::make_unique<KernelHost>(
      std::move(claim), std::move(rules), std::move(addresses), std::move(flows), std::move(chains),
      std::move(probe), std::move(announcer), std::move(routes), std::move(events), clock, files);
}

}  // namespace

Result<std::unique_ptr<Host>> open_host(const Clock& clock, Files& files) {
  Result<std::unique_ptr<Host>> host = open_sockets(clock, files);
  if (host || host.outcome() != Outcome::denied) return host;
  return fail("holding load balancers takes the capabilities CAP_NET_ADMIN and CAP_NET_RAW",
              std::move(host).error());
}

Result<> check_forwarding(Files& files, std::span<const IpFamily> families) {
  const std::vector<std::string> missing = TRY(drivers::missing_settings(files, families));
  if (missing.empty()) return {};
  return fail(Outcome::invalid,
              fmt::format("this host does not forward packets, so that nothing would arrive; run "
                          "as root: {}",
                          fmt::join(missing, "; ")));
}

}  // namespace isthmus::infra
