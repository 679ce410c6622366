#include "isthmus/net/session_impl.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/net/request_reader_impl.h"

namespace isthmus::net {
namespace {

// How long, and for how much, we listen to a client whose request we have not read to its end.
// Closing while its bytes are still arriving would destroy the answer in its hands (RFC 9112
// section 9.6).
constexpr Duration kLingerTime = std::chrono::seconds(1);
constexpr std::size_t kLingerBytes = 1024 * 1024;

// For the peer's part in closing a TLS connection, which many leave out.
constexpr Duration kShutDownTime = std::chrono::milliseconds(100);

Response plain_text(int status, const std::string& text) {
  return Response{.status = status,
                  .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                  .body = text + "\n"};
}

class Session {
 public:
  Session(SessionHost& host, Crowd::Place& place, Peer peer)
      : host_(host), place_(place), connection_(place.connection()), peer_(std::move(peer)) {}

  Task<Result<>> run() {
    CO_TRY(co_await with_timeout(host_.limits.handshake_timeout, get_acquainted()));
    for (bool again = true; again;) again = CO_TRY(co_await serve_one());
    const Result<> ignored = co_await with_timeout(kShutDownTime, connection_.shut_down());
    if (was_refused_) CO_TRY(co_await with_timeout(kLingerTime, linger()));
    co_return Result<>{};
  }

 private:
  Task<Result<>> get_acquainted() {
    CO_TRY(co_await wait_until_stopping(host_, connection_));
    place_.heard();
    CO_TRY(co_await connection_.handshake());
    peer_.certificates = connection_.peer_certificates();
    place_.heard();
    co_return Result<>{};
  }

  // One request and its answer; false when the connection is to be closed in good order.
  Task<Result<bool>> serve_one() {
    CO_TRY(co_await wait_for_request());
    RequestReader reader(host_.limits);
    const std::optional<Refusal> refused = CO_TRY(co_await read_request(reader));
    if (refused) {
      was_refused_ = true;
      ConnectionWriter writer(host_, place_, {.keep_alive = false});
      CO_TRY(co_await writer.respond(plain_text(refused->status, refused->why)));
      co_return false;
    }
    ConnectionWriter::Form form{.is_http_1_0 = reader.is_http_1_0(),
                                .keep_alive = reader.keeps_alive()};
    Request request = reader.take();
    place_.begin_request();
    form.is_head = request.method == "HEAD";
    ConnectionWriter writer(host_, place_, form);
    CO_TRY(co_await answer(std::move(request), writer));
    place_.end_request();
    is_first_ = false;
    co_return writer.leaves_connection_open() && !host_.is_stopping;
  }

  // Between requests a client may be silent for longer than within one.
  Task<Result<>> wait_for_request() {
    const Duration patience =
        is_first_ ? host_.limits.read_header_timeout : host_.limits.idle_timeout;
    if (connection_.input.empty()) {
      CO_TRY(co_await with_timeout(patience, read_until_stopping(host_, connection_)));
      place_.heard();
    }
    co_return Result<>{};
  }

  Task<Result<std::optional<Refusal>>> read_request(RequestReader& reader) {
    Result<std::optional<Refusal>> head =
        co_await with_timeout(host_.limits.read_header_timeout, read_head(reader));
    if (head.outcome() == Outcome::deadline) {
      co_return Refusal{408, "the headers took too long"};
    }
    if (!head || *head) co_return head;
    if (reader.expects_continue() && !reader.is_complete()) {
      CO_TRY(co_await with_timeout(host_.limits.write_timeout,
                                   connection_.write("HTTP/1.1 100 Continue\r\n\r\n", {})));
    }
    Result<std::optional<Refusal>> body =
        co_await with_timeout(host_.limits.read_body_timeout, read_body(reader));
    if (body.outcome() == Outcome::deadline) {
      co_return Refusal{408, "the body took too long"};
    }
    co_return body;
  }

  Task<Result<std::optional<Refusal>>> read_head(RequestReader& reader) {
    for (;;) {
      if (std::optional<Refusal> refused = reader.feed(connection_.input)) co_return refused;
      if (reader.has_head()) co_return std::nullopt;
      CO_TRY(co_await connection_.read());
      place_.heard();
    }
  }

  Task<Result<std::optional<Refusal>>> read_body(RequestReader& reader) {
    while (!reader.is_complete()) {
      CO_TRY(co_await connection_.read());
      place_.heard();
      if (std::optional<Refusal> refused = reader.feed(connection_.input)) co_return refused;
    }
    co_return std::nullopt;
  }

  // What the handler answers is its own affair; what it has written is ours.
  Task<Result<>> answer(Request request, ConnectionWriter& writer) {
    const Result<> ignored = co_await host_.handler.serve(std::move(request), peer_, writer);
    if (!writer.has_begun()) CO_TRY(co_await writer.respond(plain_text(500, "internal error")));
    // Closed without its end, a half-written answer cannot pass for a whole one.
    if (!writer.is_complete()) co_return fail(Outcome::lost, "the answer was not finished");
    co_return Result<>{};
  }

  Task<Result<>> linger() {
    for (std::size_t bytes = 0; bytes < kLingerBytes;) {
      connection_.input.clear();
      bytes += CO_TRY(co_await connection_.read());
    }
    co_return Result<>{};
  }

  SessionHost& host_;
  Crowd::Place& place_;
  Connection& connection_;
  Peer peer_;
  bool is_first_ = true;
  bool was_refused_ = false;
};

}  // namespace

Task<Result<>> serve_connection(SessionHost& host, std::unique_ptr<Crowd::Place> place, Peer peer) {
  Session session(host, *place, std::move(peer));
  const Result<> ended = co_await session.run();
  place->connection().close();
  co_return Result<>{};
}

}  // namespace isthmus::net
