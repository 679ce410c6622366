// The machines of the server, as the contract has them.
#pragma once

#include <string>

#include "isthmus/cloud/provider.h"
#include "isthmus/providers/infra/client.h"
#include "isthmus/providers/infra/handshake.h"

namespace isthmus::providers::infra {

// A resource; what it is built from outlives it. unsupported: the server knows no machines.
class InfraInstances final : public cloud::Instances {
 public:
  InfraInstances(Client& client, Handshake& handshake, std::string scheme);

  Task<Result<cloud::Instance>> get(cloud::ProviderId id) override;
  Task<Result<cloud::Listing<cloud::Instance>>> list(cloud::InstanceQuery query) override;

 private:
  Client& client_;
  Handshake& handshake_;
  const std::string scheme_;
};

}  // namespace isthmus::providers::infra
