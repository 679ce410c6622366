// One request on its way, as the handlers see it, and the answers they all give.
#pragma once

#include <string>

#include "isthmus/base/log.h"
#include "isthmus/base/result.h"
#include "isthmus/infra/access.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/routes.h"
#include "isthmus/net/http.h"

namespace isthmus::infra {

// Understood and admitted: the path names an operation that the caller may ask for.
struct Exchange {
  std::string id;
  net::Request request;
  net::Target target;
  Route route;
  Caller caller;
  bool is_local = false;        // The caller is on this machine.
  bool on_unix_socket = false;  // And came by a file.
};

// Problem details that name the path and the request's id.
net::Response refused(api::Problem why, std::string_view path, std::string_view id);
net::Response refused(const Exchange& exchange, api::Problem why);

// What a client is told when the store failed. The failure is logged, unless it is our own end, a
// revision that is gone or a moment at which nothing can be written.
net::Response failed(const Exchange& exchange, const Error& error, Logger& log);

}  // namespace isthmus::infra
