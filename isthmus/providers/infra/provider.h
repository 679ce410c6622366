// A cloud that serves the infrastructure API (infra/api/openapi.yaml), as a provider: our own
// backend, or anybody's that speaks the same.
//
// Before its first question it shakes hands (GET /v1): a server of another protocol version, or one
// whose provider ids have another scheme than ours, is not asked anything. What a server lacks is
// answered `unsupported` by those who need it, so a manager without a Node controller does with a
// server that knows no machines.
#pragma once

#include <memory>
#include <string>

#include "isthmus/cloud/guard.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/providers/infra/authorized_transport.h"
#include "isthmus/providers/infra/client.h"
#include "isthmus/providers/infra/handshake.h"
#include "isthmus/providers/infra/load_balancers.h"
#include "isthmus/providers/infra/machines.h"
#include "isthmus/providers/infra/objects_client.h"
#include "isthmus/providers/infra/route_tables.h"
#include "isthmus/providers/infra/target_sets.h"

namespace isthmus::providers::infra {

// The provider's name, and the scheme of its ids: isthmus://<instance uid>.
inline constexpr std::string_view kName = "isthmus";

// One process on one host with a small database: it answers in milliseconds, so a call of seconds
// is a dead one.
inline cloud::GuardLimits default_limits() {
  return {.call_deadline = std::chrono::seconds(10),
          .list_deadline = std::chrono::seconds(30),
          .calls_per_second = 100,
          .burst = 200,
          .calls_at_once = 16};
}

// Who we are to the server.
struct Identity {
  std::string token_file = {};  // Empty: no token is sent.
  std::string owner = {};       // Whose objects are ours; empty: whoever the server says.
};

// A resource; the doors outlive it.
class InfraProvider final : public cloud::Provider {
 public:
  InfraProvider(std::unique_ptr<net::Transport> transport, const Clock& clock, Files& files,
                Identity identity);

  const std::string& name() const override { return name_; }
  const std::string& scheme() const override { return name_; }

  // All that the API has, whatever this server has of it.
  cloud::Capabilities capabilities() override {
    return {.instances = &instances_,
            .load_balancers = &load_balancers_,
            .target_sets = &target_sets_,
            .route_tables = &route_tables_};
  }

  // Shakes hands anew, whatever came of it before.
  Task<Result<>> check() override;

 private:
  const std::string name_{kName};
  AuthorizedTransport transport_;
  Client client_;
  ObjectsClient objects_client_;
  Handshake handshake_;
  InfraInstances instances_;
  InfraTargetSets target_sets_;
  InfraLoadBalancers load_balancers_;
  InfraRouteTables route_tables_;
};

}  // namespace isthmus::providers::infra
