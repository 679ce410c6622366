// This host, as the reconciler touches it: a handful of small doors, so that a test can hand over a
// host that is only imagined (host_testing.h) and that fails, or ends the process, at any step.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"
#include "isthmus/infra/drivers/address_probe.h"
#include "isthmus/infra/drivers/addresses.h"
#include "isthmus/infra/drivers/announcement.h"
#include "isthmus/infra/drivers/driver.h"
#include "isthmus/infra/drivers/kernel_events.h"
#include "isthmus/infra/drivers/return_path.h"
#include "isthmus/infra/drivers/routes.h"

namespace isthmus::infra {

// All doors of one host, which live as long as it does.
class Host {
 public:
  virtual ~Host() = default;
  virtual drivers::BalancerDriver& balancers() = 0;
  virtual drivers::AddressBook& addresses() = 0;
  virtual drivers::ProbeLink& probe_link() = 0;
  virtual drivers::Announcer& announcer() = 0;
  virtual drivers::ChangeSource& changes() = 0;
  virtual drivers::FlowWatch& flows() = 0;
  virtual drivers::RouteBook& routes() = 0;

  // As check_forwarding(), now: one small read.
  virtual Result<> forwards(IpFamily family) = 0;

  // Chains of others that drop what nobody lets through (drivers/nft_dropping_chains.h).
  virtual Result<std::vector<std::string>> dropping_chains() = 0;
};

// Opens the sockets, in the network namespace of the caller, where they stay, and claims the host.
// The clock and the files outlive the host. denied: CAP_NET_ADMIN or CAP_NET_RAW is missing;
// unsupported: the kernel lacks something; conflict: another process holds the host
// (drivers/host_claim.h). Each says what to do.
Result<std::unique_ptr<Host>> open_host(const Clock& clock, Files& files);

// ok: this host forwards packets of these families, as a host that balances must. invalid: it does
// not; the message says what to run as root. Else errors of Files::read.
Result<> check_forwarding(Files& files, std::span<const IpFamily> families);

}  // namespace isthmus::infra
