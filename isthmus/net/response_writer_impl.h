// The answer to one request, on its way into a connection.
#pragma once

#include <functional>
#include <string>

#include "isthmus/base/scope.h"
#include "isthmus/net/connection_impl.h"
#include "isthmus/net/crowd_impl.h"
#include "isthmus/net/http_server.h"

namespace isthmus::net {

// What a session knows of its server.
struct SessionHost {
  Loop& loop;
  HttpHandler& handler;
  const ServerLimits limits;
  bool is_stopping = false;
  ListNode pauses = {};  // Waits that end when the server stops.
  Crowd crowd{limits.strangers_max};
};

// Reads from the connection as long as the server is not stopping; then answers cancelled. For
// waits that may take for ever: the next request, or a client that listens to events.
Task<Result<std::size_t>> read_until_stopping(SessionHost& host, Connection& connection);

// The same for the first byte, by Connection::wait_readable.
Task<Result<>> wait_until_stopping(SessionHost& host, Connection& connection);

// Ends these waits, now and in future.
void stop_waiting(SessionHost& host);

class ConnectionWriter final : public ResponseWriter {
 public:
  // What of the request decides the form of its answer.
  struct Form {
    bool is_head = false;      // No body, whatever its length.
    bool is_http_1_0 = false;  // No chunks.
    bool keep_alive = true;
  };
  ConnectionWriter(SessionHost& host, Crowd::Place& place, Form form);

  Task<Result<>> respond(Response response) override;
  Task<Result<>> begin(int status, Headers headers) override;
  Task<Result<>> chunk(std::string bytes) override;
  Task<Result<>> finish() override;
  Task<Result<>> closed() override;

  bool has_begun() const { return state_ != State::nothing; }

  bool is_complete() const { return state_ == State::complete; }

  // The answer is complete and the connection may carry another.
  bool leaves_connection_open() const { return is_complete() && form_.keep_alive; }

 private:
  enum class State { nothing, streaming, complete, broken };

  Result<std::string> head(int status, const Headers& headers, const std::string& framing);
  Task<Result<>> write(std::string head, std::string body, State next);

  SessionHost& host_;
  Crowd::Place& place_;
  Connection& connection_;
  Form form_;
  State state_ = State::nothing;
};

}  // namespace isthmus::net
