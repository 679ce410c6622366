#include "isthmus/infra/instance_requests.h"

#include <utility>

#include "isthmus/infra/api/instance_input.h"
#include "isthmus/infra/object_requests.h"

namespace isthmus::infra {

std::expected<api::Instance, api::Problem> read_instance_body(const net::Request& request,
                                                              const std::string& uid) {
  if (auto refusal = refuse_body(request, kInstanceBodyMax)) {
    return std::unexpected(std::move(*refusal));
  }
  api::InstanceInput input = api::decode_instance_input(request.body, uid);
  if (auto wrong = wrong_body(input.unreadable, std::move(input.errors))) {
    return std::unexpected(std::move(*wrong));
  }
  return std::move(input.instance);
}

}  // namespace isthmus::infra
