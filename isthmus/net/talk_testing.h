// A real transport and a scripted server on one loop, for tests of the transport.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/base/scope.h"
#include "isthmus/base/signal.h"
#include "isthmus/net/curl_transport.h"
#include "isthmus/net/raw_peer_testing.h"

namespace isthmus::net {

// Real time passes in these tests, so nothing waits longer than this before it fails.
inline constexpr Duration kPatience = std::chrono::seconds(10);

inline std::string answer_of(const std::string& body, const std::string& extra = "") {
  return "HTTP/1.1 200 OK\r\n" + extra + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

// What the scripted server has seen.
struct Seen {
  int connections = 0;
  std::vector<std::string> requests;
};

// Accepts one connection, answers its requests one after the other, and gives it back.
inline Task<Result<RawPeer>> answer_each(RawServer& server, Seen& seen,
                                         std::vector<std::string> answers) {
  RawPeer peer = CO_TRY(co_await server.accept());
  ++seen.connections;
  for (std::string& answer : answers) {
    std::string request = CO_TRY(co_await peer.read_message());
    seen.requests.push_back(std::move(request));
    CO_TRY(co_await peer.send(std::move(answer)));
  }
  co_return std::move(peer);
}

// The same, and closes it.
inline Task<Result<>> serve_answers(RawServer& server, Seen& seen,
                                    std::vector<std::string> answers) {
  const RawPeer peer = CO_TRY(co_await answer_each(server, seen, std::move(answers)));
  co_return Result<>{};
}

// The same, but keeps it open until the test ends.
inline Task<Result<>> serve_answers_and_stay(RawServer& server, Seen& seen,
                                             std::vector<std::string> answers) {
  RawPeer peer = CO_TRY(co_await answer_each(server, seen, std::move(answers)));
  CO_TRY(co_await peer.read_to_end());
  co_return Result<>{};
}

// Answers the first request, hangs up on the second without an answer, serves the third as if it
// were new: what a reused connection that dies looks like.
inline Task<Result<>> hang_up_on_the_second(RawServer& server, Seen& seen) {
  {
    RawPeer peer = CO_TRY(co_await answer_each(server, seen, {answer_of("first")}));
    std::string second = CO_TRY(co_await peer.read_message());
    seen.requests.push_back(std::move(second));
  }
  CO_TRY(co_await serve_answers_and_stay(server, seen, {answer_of("third")}));
  co_return Result<>{};
}

// Runs the client's story while the server's script runs beside it; the script ends with the story.
template <class T>
Task<Result<T>> beside(Task<Result<>> script, Task<Result<T>> story) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn([](Task<Result<>> task) { return task; }, std::move(script));
  Result<T> result = co_await with_timeout(kPatience, std::move(story));
  scope.cancel();
  const Result<> ignored = co_await scope.join();
  co_return result;
}

inline std::unique_ptr<Transport> transport_to(PosixWorld& world, const RawServer& server,
                                               TransportLimits limits = {}) {
  return make_curl_transport(world, Endpoint{.url = server.url(), .tls = {}, .proxy = ""}, limits)
      .value();
}

inline Request get(std::string target) {
  return Request{.method = "GET", .target = std::move(target), .headers = {}, .body = ""};
}

}  // namespace isthmus::net
