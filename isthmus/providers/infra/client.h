// What the infrastructure API says of itself and of machines, as values, and its refusals as
// outcomes (answers.h). One call is one request.
#pragma once

#include <optional>
#include <string>

#include "isthmus/base/clock.h"
#include "isthmus/infra/api/instance.h"
#include "isthmus/infra/api/server_info.h"
#include "isthmus/net/transport.h"

namespace isthmus::providers::infra {

// Machines per page: the most that the API gives.
inline constexpr int kPageItems = 1000;

// What we can read, as every request says.
inline constexpr const char* kAccept = "application/json, application/problem+json";

// A resource; the doors outlive it. Every call can also fail as Transport::call does, and with lost
// where the answer cannot be understood.
class Client final {
 public:
  Client(net::Transport& transport, const Clock& clock) : transport_(transport), clock_(clock) {}

  Task<Result<isthmus::infra::api::ServerInfo>> server_info();

  // nullopt: the server has never heard of it, which is not evidence of anything. absent: the
  // server says that it is retired, and names it: a problem about another machine, or one that does
  // not say about which, is lost, because somebody's Node would be deleted for it.
  Task<Result<std::optional<isthmus::infra::api::Instance>>> instance(std::string uid);

  // One page; an empty token asks for the first. conflict: the revision of the pages before is
  // gone, start over.
  Task<Result<isthmus::infra::api::InstanceList>> instances(std::string continue_token);

 private:
  Task<Result<net::Response>> get(std::string target);

  net::Transport& transport_;
  const Clock& clock_;
};

}  // namespace isthmus::providers::infra
