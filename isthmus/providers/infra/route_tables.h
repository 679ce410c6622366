// The route tables of an owner, as the contract has them.
#pragma once

#include <string>

#include "isthmus/cloud/provider.h"
#include "isthmus/providers/infra/handshake.h"
#include "isthmus/providers/infra/objects_client.h"

namespace isthmus::providers::infra {

// A table is put anew without the routes that the server refuses; it names all it finds wrong at
// once, so a second time is rare and a third one is not its word any more.
inline constexpr int kPutsMax = 3;

// A resource; what it is built from outlives it.
class InfraRouteTables final : public cloud::RouteTables {
 public:
  InfraRouteTables(ObjectsClient& client, Handshake& handshake, std::string scheme)
      : client_(client), handshake_(handshake), scheme_(std::move(scheme)) {}

  // One PUT, unless single routes are refused. It stores nothing where the table is not as it was
  // last got or ensured here: conflict.
  Task<Result<cloud::RouteTableState>> ensure(cloud::RouteTableSpec spec) override;
  Task<Result<cloud::RouteTableState>> get(std::string name) override;
  Task<Result<>> release(std::string name) override;

  // A list, and then a watch from the list's revision, which misses nothing.
  Task<Result<>> follow(std::string name, Tell tell) override;

 private:
  Task<Result<ObjectId>> id_of(std::string name);
  std::unexpected<Error> noted(Error error);

  ObjectsClient& client_;
  Handshake& handshake_;
  const std::string scheme_;
};

}  // namespace isthmus::providers::infra
