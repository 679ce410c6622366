// Bytes of a client in, a Request or a refusal out. Knows no sockets.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "isthmus/net/http.h"
#include "isthmus/net/http_server.h"

namespace isthmus::net {

// What a client is told whose request we do not take; its connection is closed afterwards.
struct Refusal {
  int status = 400;
  std::string why;
};

// Reads one request. A resource; a new one for each request.
class RequestReader {
 public:
  explicit RequestReader(const ServerLimits& limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Uses up as much of the input as belongs to this request. nullopt: all is well so far.
  std::optional<Refusal> feed(std::string& input);

  bool has_head() const;          // Start line and headers are complete.
  bool is_complete() const;       // The body is, too.
  bool expects_continue() const;  // The client waits for "100 Continue" before it sends the body.

  // Whether another request may follow on the connection (RFC 9112 section 9.3).
  bool keeps_alive() const;
  bool is_http_1_0() const;

  // Once, when complete.
  Request take();

 private:
  struct Parser;
  std::optional<Refusal> check_head() const;

  const ServerLimits& limits_;
  std::unique_ptr<Parser> parser_;
  bool is_head_checked_ = false;
};

}  // namespace isthmus::net
