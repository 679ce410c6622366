// The target sets of an owner, as the contract has them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/cloud/provider.h"
#include "isthmus/providers/infra/handshake.h"
#include "isthmus/providers/infra/objects_client.h"

namespace isthmus::providers::infra {

// A resource; what it is built from outlives it.
class InfraTargetSets final : public cloud::TargetSets {
 public:
  InfraTargetSets(ObjectsClient& client, Handshake& handshake)
      : client_(client), handshake_(handshake) {}

  // One PUT.
  Task<Result<>> ensure(cloud::TargetSetSpec spec) override;
  Task<Result<>> release(std::string name) override;
  Task<Result<cloud::TargetSetPreview>> preview(cloud::TargetSetSpec spec) override;

  // The generation that our last ensure of the set left it with; nothing for a set that we have
  // not ensured. One with a higher generation was changed by somebody else.
  std::optional<std::uint64_t> ensured(std::string_view name) const;

 private:
  ObjectsClient& client_;
  Handshake& handshake_;
  std::map<std::string, std::uint64_t, std::less<>> ensured_;
};

}  // namespace isthmus::providers::infra
