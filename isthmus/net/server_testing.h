// A real server with a handler whose targets each do one thing, for tests of the server.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/base/signal.h"
#include "isthmus/net/http_server.h"
#include "isthmus/net/talk_testing.h"

namespace isthmus::net {

class TestHandler final : public HttpHandler {
 public:
  Task<Result<>> serve(Request request, Peer peer, ResponseWriter& writer) override {
    last_peer = std::move(peer);
    ++requests;
    if (request.target == "/wait") return wait(writer);
    if (request.target == "/count") return count(writer);
    if (request.target == "/events") return events(writer);
    if (request.target == "/endless") return endless(writer);
    if (request.target == "/large") return large(writer);
    if (request.target == "/silent") return silent();
    if (request.target == "/half") return half(writer);
    if (request.target == "/split") return split(writer);
    return echo(std::move(request), writer);
  }

  Signal waiting;  // "/wait" has been reached,
  Signal release;  // and may answer.
  Signal client_left;
  Signal handler_ended;
  Peer last_peer;
  int requests = 0;
  std::size_t sent = 0;

 private:
  static Task<Result<>> echo(Request request, ResponseWriter& writer) {
    const std::string type(request.headers.find("Content-Type").value_or("none"));
    Response response{.status = 200, .headers = {{"X-Type", type}}, .body = ""};
    response.body = request.method + " " + request.target + " " + request.body;
    return writer.respond(std::move(response));
  }

  Task<Result<>> wait(ResponseWriter& writer) {
    waiting.set();
    CO_TRY(co_await release.wait());
    CO_TRY(co_await writer.respond({.status = 200, .headers = {}, .body = "released"}));
    co_return Result<>{};
  }

  static Task<Result<>> count(ResponseWriter& writer) {
    CO_TRY(co_await writer.begin(200, {{"X-A", "1"}}));
    for (const char* number : {"one ", "", "two ", "three"}) CO_TRY(co_await writer.chunk(number));
    CO_TRY(co_await writer.finish());
    co_return Result<>{};
  }

  Task<Result<>> events(ResponseWriter& writer) {
    CO_TRY(co_await writer.begin(200, {}));
    CO_TRY(co_await writer.chunk("hello"));
    waiting.set();
    const Result<> left = co_await writer.closed();
    if (left.outcome() == Outcome::lost) client_left.set();
    handler_ended.set();
    co_return left;
  }

  Task<Result<>> endless(ResponseWriter& writer) {
    CO_TRY(co_await writer.begin(200, {}));
    for (;;) {
      const Result<> taken = co_await writer.chunk(std::string(64 * 1024, 'x'));
      if (!taken) break;
      sent += 64 * 1024;
    }
    handler_ended.set();
    const Result<> again = co_await writer.chunk("x");
    EXPECT_EQ(again.outcome(), Outcome::lost);
    co_return again;
  }

  static Task<Result<>> large(ResponseWriter& writer) {
    return writer.respond({.status = 200, .headers = {}, .body = std::string(3'000'000, 'y')});
  }

  static Task<Result<>> silent() { co_return fail(Outcome::lost, "the secret reason"); }

  static Task<Result<>> half(ResponseWriter& writer) {
    CO_TRY(co_await writer.begin(200, {}));
    CO_TRY(co_await writer.chunk("half"));
    co_return fail(Outcome::lost, "no more");
  }

  static Task<Result<>> split(ResponseWriter& writer) {
    const Result<> refused =
        co_await writer.respond({.status = 200, .headers = {{"X-A", "1\r\nX-B: 2"}}, .body = ""});
    EXPECT_EQ(refused.outcome(), Outcome::invalid);
    co_return refused;
  }
};

// A server on its own port; run it beside a story.
struct TestServer {
  explicit TestServer(PosixWorld& world, ServerLimits limits = {},
                      std::optional<ServerTls> tls = std::nullopt,
                      const std::string& unix_path = "", TlsPolicy policy = {})
      : address(unix_path.empty() ? (tls ? "https://127.0.0.1:0" : "http://127.0.0.1:0")
                                  : "unix:" + unix_path),
        server(listen(world, parse_listen_address(address).value(), std::move(tls), handler, log,
                      limits, std::move(policy))
                   .value()) {}

  std::string url() const {
    const bool is_tls = address.starts_with("https");
    return (is_tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(server->port());
  }

  TestHandler handler;
  MemoryLogger log;
  std::string address;
  std::unique_ptr<HttpServer> server;
};

// Runs the story while the server serves; afterwards the server is stopped and has ended.
template <class T>
Result<T> while_serving(PosixWorld& world, TestServer& server, Task<Result<T>> story) {
  return run_in(world, beside(server.server->run(), std::move(story)));
}

// What a connection is answered to these bytes, until the server closes it or the answer is whole.
inline Task<Result<std::string>> exchange(RawPeer peer, std::string bytes) {
  CO_TRY(co_await peer.send(std::move(bytes)));
  Result<std::string> answer = co_await peer.read_message();
  co_return answer;
}

}  // namespace isthmus::net
