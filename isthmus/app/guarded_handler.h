// Lets through to another handler only those who may: the door of the secure port.
//
// Paths that are open to all are answered without a look at who asks, so that a probe never depends
// on the API server. Of everybody else, who they are is found out (authentication.h) and whether
// they may (authorization.h). Refusals are Kubernetes' Status documents:
//   401 Unauthorized        what was shown is not good
//   403 Forbidden           known, or anonymous, and not allowed
//   503 ServiceUnavailable  the API server could not be asked; nobody is let in on a guess
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "isthmus/app/authentication.h"
#include "isthmus/app/authorization.h"
#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/task.h"
#include "isthmus/net/http_server.h"

namespace isthmus::app {

// A Status that refuses: {"kind":"Status", …, "reason":"Forbidden", "code":403}.
net::Response refusal_status(int code, std::string_view reason, std::string_view message);

// A resource; everything it is given outlives it.
class GuardedHandler final : public net::HttpHandler {
 public:
  enum class Strangers {
    looked_up,   // There is a way to find out who somebody is or what he may do.
    local_only,  // There is none: callers on this machine may read, all others are refused.
  };

  GuardedHandler(net::HttpHandler& next, Authenticator& authenticator, Authorizer& authorizer,
                 Strangers strangers, const Clock& clock, Metrics& metrics, Logger& log);

  Task<Result<>> serve(net::Request request, net::Peer peer, net::ResponseWriter& writer) override;

 private:
  // The answer to who may not pass; nullopt: pass.
  Task<Result<std::optional<net::Response>>> refuse(std::string method, std::string path,
                                                    Credentials credentials, bool is_local);
  std::optional<net::Response> refuse_stranger(const std::string& verb, const std::string& path,
                                               bool is_local);
  net::Response forbidden(const kube::UserInfo& user, const std::string& verb,
                          const std::string& path);
  net::Response unauthorized(const Error& error);
  net::Response unanswerable(const Error& error);
  void tell(std::optional<Moment>& told_at, std::string_view what, const Error& error);

  net::HttpHandler& next_;
  Authenticator& authenticator_;
  Authorizer& authorizer_;
  const Strangers strangers_;
  const Clock& clock_;
  Logger& log_;
  Counter& allowed_;
  Counter& unauthenticated_;
  Counter& forbidden_;
  Counter& unavailable_;
  std::optional<Moment> unauthenticated_told_at_;  // One for each kind: none hides another.
  std::optional<Moment> unavailable_told_at_;
};

}  // namespace isthmus::app
