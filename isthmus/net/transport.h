// The door through which every request of ours leaves. One Transport speaks to one endpoint; the
// real one is curl_transport.h, tests and the simulator answer from memory.
//
// A transport never follows redirects, and a 307 is an answer like any other. It never repeats a
// request that may change something; a GET or HEAD may be sent again when the connection it was
// sent on turns out to be dead. What the peer's status means is the caller's business; an Error
// here says only how the exchange itself failed.
#pragma once

#include <memory>
#include <string>

#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/net/http.h"

namespace isthmus::net {

// The body of a streamed response. Destroying it ends the transfer and closes its connection.
class BodyStream {
 public:
  virtual ~BodyStream() = default;

  // The next piece, at least one byte; an empty string is the complete end of the body. Nothing is
  // read from the peer while nobody asks, beyond one small buffer: a slow reader slows the sender.
  // lost: the connection broke before the end. cancelled, deadline: call again to go on.
  virtual Task<Result<std::string>> next() = 0;
};

struct StreamedResponse {
  int status = 0;
  Headers headers;
  std::unique_ptr<BodyStream> body;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Sends the request and reads the whole answer.
  // Errors: lost (no connection, cut, truncated, not HTTP, body over the limit: effect unknown,
  // except where the message says "not sent"), denied (the peer's certificate is not trusted or not
  // for this host: nothing was sent), invalid (the request cannot be sent as it is), and
  // cancelled or deadline of the calling scope. Cancellation closes the connection; whether
  // the peer acted is unknown.
  virtual Task<Result<Response>> call(Request request) = 0;

  // The same, answering as soon as the headers are there. For watches.
  virtual Task<Result<StreamedResponse>> open(Request request) = 0;
};

}  // namespace isthmus::net
