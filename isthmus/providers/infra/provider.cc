#include "isthmus/providers/infra/provider.h"

#include <utility>

namespace isthmus::providers::infra {

InfraProvider::InfraProvider(std::unique_ptr<net::Transport> transport, const Clock& clock,
                             Files& files, Identity identity)
    : transport_(std::move(transport), files, std::move(identity.token_file)),
      client_(transport_, clock),
      objects_client_(transport_, clock),
      handshake_(client_, name_, std::move(identity.owner)),
      instances_(client_, handshake_, name_),
      target_sets_(objects_client_, handshake_),
      load_balancers_(objects_client_, handshake_, target_sets_),
      route_tables_(objects_client_, handshake_, name_) {}

Task<Result<>> InfraProvider::check() { return handshake_.shake(); }

}  // namespace isthmus::providers::infra
