// Asks one endpoint whether it is well, as health checks do: thousands a second, each with a
// connection of its own that leaves nothing behind.
#pragma once

#include <string>

#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"

namespace isthmus::net {

struct ProbeRequest {
  enum class Kind {
    // The connection is accepted. That proves no more than that the kernel over there has the
    // listener: a process that hangs or is stopped still passes.
    tcp,
    // GET is answered with 200 to 399, complete. No redirect is followed.
    http,
  };
  isthmus::Endpoint endpoint;  // Not the one of curl_transport.h.
  Kind kind = Kind::tcp;
  std::string path = "/";  // http only; begins with "/", percent-encoded, may have a query.
};

class Prober {
 public:
  virtual ~Prober() = default;

  // ok: it is well. lost: it is not, and why in a few words: "connection refused", "answered 503".
  // busy: this host could not ask (no descriptor, no port left), which says nothing about the
  // endpoint. invalid: the request cannot be sent as it is. cancelled, deadline of the calling
  // scope: nothing is left open; a caller that set the deadline takes it as "no answer in time".
  virtual Task<Result<>> probe(ProbeRequest request) = 0;
};

}  // namespace isthmus::net
