// The load balancers of an owner, as the contract has them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "isthmus/cloud/provider.h"
#include "isthmus/providers/infra/handshake.h"
#include "isthmus/providers/infra/objects_client.h"
#include "isthmus/providers/infra/target_sets.h"

namespace isthmus::providers::infra {

// A resource; what it is built from outlives it.
class InfraLoadBalancers final : public cloud::LoadBalancers {
 public:
  InfraLoadBalancers(ObjectsClient& client, Handshake& handshake, const InfraTargetSets& sets)
      : client_(client), handshake_(handshake), sets_(sets) {}

  // One PUT; a second one where the server refuses to hear of preferred addresses, which is
  // remembered. Conflict also where the target set is not there.
  Task<Result<cloud::LoadBalancerState>> ensure(cloud::LoadBalancerSpec spec) override;
  Task<Result<>> release(std::string name) override;
  Task<Result<cloud::LoadBalancerState>> get(std::string name) override;
  Task<Result<cloud::Listing<cloud::LoadBalancerState>>> list() override;
  Task<Result<cloud::LoadBalancerPreview>> preview(cloud::LoadBalancerSpec spec) override;

  // Shakes hands anew, lists and watches (news.h). lost also where the list is partial.
  Task<Result<>> follow(std::function<void(cloud::LoadBalancerNews)> tell) override;

 private:
  Task<Result<ObjectId>> id_of(std::string name);
  Task<Result<ObjectsClient::Wish>> wish_of(const cloud::LoadBalancerSpec& spec);

  // Asks with the preferred addresses, and once more without them where the server has never heard
  // of such.
  template <class T>
  using Asking = Task<Result<std::optional<T>>> (ObjectsClient::*)(ObjectsClient::Wish wish);
  template <class T>
  Task<Result<T>> ask(cloud::LoadBalancerSpec spec, Asking<T> asking);

  std::unexpected<Error> noted(Error error);

  ObjectsClient& client_;
  Handshake& handshake_;
  const InfraTargetSets& sets_;
};

}  // namespace isthmus::providers::infra
