// What a network and a bad server can do to a call, one test each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "isthmus/net/curl_transport.h"
#include "isthmus/net/talk_testing.h"

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The answer of a call to a server that sends exactly this and closes.
Result<Response> call_answered_with(std::string bytes, TransportLimits limits = {}) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server, limits);
  return run_in(
      world, beside(serve_answers(server, seen, {std::move(bytes)}), transport->call(get("/x"))));
}

Task<Result<Response>> call_after_a_get(Transport& transport, Request request) {
  CO_TRY(co_await transport.call(get("/")));
  Result<Response> response = co_await transport.call(std::move(request));
  co_return response;
}

Result<Response> call_on_a_dying_connection(std::string method, std::string body, Seen& seen) {
  PosixWorld world;
  RawServer server(world);
  const auto transport = transport_to(world, server);
  Request request{
      .method = std::move(method), .target = "/x", .headers = {}, .body = std::move(body)};
  return run_in(world, beside(hang_up_on_the_second(server, seen),
                              call_after_a_get(*transport, std::move(request))));
}

TEST(curl_transport_faults, a_write_is_never_silently_sent_twice) {
  for (const char* method : {"POST", "PATCH", "PUT", "DELETE"}) {
    for (const char* body : {"", "{}"}) {
      Seen seen;
      const auto response = call_on_a_dying_connection(method, body, seen);
      ASSERT_EQ(response.outcome(), Outcome::lost) << method;
      EXPECT_THAT(response.error().message, HasSubstr("not sent a second time"));
      EXPECT_THAT(response.error().message, testing::Not(HasSubstr("not sent:")));
      EXPECT_EQ(seen.requests.size(), 2U) << method << " was executed twice";
    }
  }
}

TEST(curl_transport_faults, a_read_may_be_sent_again_on_a_new_connection) {
  Seen seen;
  const auto response = call_on_a_dying_connection("GET", "", seen);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "third");
  EXPECT_EQ(seen.requests.size(), 3U);
}

Task<Result<>> close_between_requests(RawServer& server, Seen& seen, Signal& closed) {
  CO_TRY(co_await serve_answers(server, seen, {answer_of("1")}));
  closed.set();
  CO_TRY(co_await serve_answers_and_stay(server, seen, {answer_of("2")}));
  co_return Result<>{};
}

Task<Result<>> write_before_and_after(Transport& transport, Signal& closed) {
  const Request post{.method = "POST", .target = "/", .headers = {}, .body = "x"};
  const Response first = CO_TRY(co_await transport.call(post));
  EXPECT_EQ(first.body, "1");
  CO_TRY(co_await closed.wait());
  const Response second = CO_TRY(co_await transport.call(post));
  EXPECT_EQ(second.body, "2");
  co_return Result<>{};
}

TEST(curl_transport_faults, a_connection_closed_between_requests_is_replaced) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  Signal closed;
  const auto transport = transport_to(world, server);
  const auto result = run_in(world, beside(close_between_requests(server, seen, closed),
                                           write_before_and_after(*transport, closed)));
  EXPECT_TRUE(result) << result.error().message;
  EXPECT_EQ(seen.connections, 2);
}

// What two that wake in one turn do: the first writes, with little time left, and then the process
// stands still for so long that the time is over when it goes on.
Task<Result<>> write_when_told(Transport& transport, Signal& go, Signal& ended, Outcome& outcome) {
  CO_TRY(co_await go.wait());
  Request put{.method = "PUT", .target = "/", .headers = {}, .body = "late"};
  const Result<Response> answer = co_await with_timeout(20ms, transport.call(std::move(put)));
  outcome = answer.outcome();
  ended.set();
  co_return Result<>{};
}
Task<Result<>> stand_still_when_told(Signal& go) {
  CO_TRY(co_await go.wait());
  ::poll(nullptr, 0, 1200);
  co_return Result<>{};
}

Task<Result<Outcome>> write_and_stand_still(Transport& transport, Signal& server_is_done) {
  CO_TRY(co_await transport.call(get("/")));
  Signal go;
  Signal ended;
  Outcome outcome = Outcome::ok;
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(write_when_told, std::ref(transport), std::ref(go), std::ref(ended),
              std::ref(outcome));
  scope.spawn(stand_still_when_told, std::ref(go));
  CO_TRY(co_await sleep_for(1ms));
  go.set();
  CO_TRY(co_await ended.wait());
  CO_TRY(co_await scope.join());
  CO_TRY(co_await server_is_done.wait());
  co_return outcome;
}

Task<Result<>> hear_what_comes_later(RawServer& server, std::string& later, Signal& done) {
  Seen seen;
  RawPeer peer = CO_TRY(co_await answer_each(server, seen, {answer_of("1")}));
  later = CO_TRY(co_await peer.read_to_end());
  done.set();
  co_return Result<>{};
}

TEST(curl_transport_faults, a_process_that_was_frozen_sends_no_write_whose_time_is_over) {
  PosixWorld world;
  RawServer server(world);
  const auto transport = transport_to(world, server);
  std::string later;
  Signal done;
  const auto outcome = run_in(world, beside(hear_what_comes_later(server, later, done),
                                            write_and_stand_still(*transport, done)));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_NE(*outcome, Outcome::ok);
  EXPECT_EQ(later, "") << "was sent after its time";
}

Task<Result<>> never_answer(RawServer& server, Seen& seen) {
  RawPeer peer = CO_TRY(co_await server.accept());
  std::string request = CO_TRY(co_await peer.read_message());
  seen.requests.push_back(std::move(request));
  CO_TRY(co_await peer.read_to_end());
  co_return Result<>{};
}

TEST(curl_transport_faults, a_server_that_never_answers_costs_the_call_timeout) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server, TransportLimits{.call_timeout = 20ms});
  const Moment begin = world.loop().now();
  const auto response =
      run_in(world, beside(never_answer(server, seen), transport->call(get("/x"))));
  ASSERT_EQ(response.outcome(), Outcome::deadline);
  EXPECT_THAT(response.error().message, HasSubstr("GET http://127.0.0.1:"));
  EXPECT_GE(world.loop().now() - begin, 20ms);
  EXPECT_EQ(seen.requests.size(), 1U);
}

TEST(curl_transport_faults, the_deadline_of_the_caller_counts_when_it_is_earlier) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server);
  const auto response = run_in(
      world, beside(never_answer(server, seen), with_timeout(5ms, transport->call(get("/x")))));
  EXPECT_EQ(response.outcome(), Outcome::deadline);
}

// Sends a byte every millisecond, for ever.
Task<Result<>> drip(RawServer& server) {
  RawPeer peer = CO_TRY(co_await server.accept());
  CO_TRY(co_await peer.read_message());
  CO_TRY(co_await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"));
  for (;;) {
    CO_TRY(co_await peer.send("x"));
    CO_TRY(co_await Sleep(1ms));
  }
}

TEST(curl_transport_faults, an_answer_that_drips_is_cut_by_the_deadline) {
  PosixWorld world;
  RawServer server(world);
  const auto transport = transport_to(world, server, TransportLimits{.call_timeout = 30ms});
  const auto response = run_in(world, beside(drip(server), transport->call(get("/x"))));
  EXPECT_EQ(response.outcome(), Outcome::deadline);
}

TEST(curl_transport_faults, a_body_over_the_limit_is_lost_while_it_is_received) {
  const auto response =
      call_answered_with(answer_of(std::string(100, 'x')), TransportLimits{.body_bytes_max = 99});
  ASSERT_EQ(response.outcome(), Outcome::lost);
  EXPECT_THAT(response.error().message, HasSubstr("longer than this transport allows"));
  const auto fits =
      call_answered_with(answer_of(std::string(99, 'x')), TransportLimits{.body_bytes_max = 99});
  EXPECT_TRUE(fits);
}

TEST(curl_transport_faults, a_truncated_answer_is_lost) {
  for (const char* bytes : {
           "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
           "HTTP/1.1 200 OK\r\nContent-Len",
           "",
       }) {
    const auto response = call_answered_with(bytes);
    ASSERT_EQ(response.outcome(), Outcome::lost) << bytes;
    EXPECT_THAT(response.error().message, testing::Not(HasSubstr("not sent"))) << bytes;
  }
}

TEST(curl_transport_faults, what_is_not_http_is_lost) {
  for (const char* bytes : {"<html><body>It works!</body></html>\n", "\x16\x03\x01\x02garbage\n",
                            "HTTP/1.1 banana\r\n\r\n", "220 smtp.example ESMTP\r\n"}) {
    const auto response = call_answered_with(bytes);
    ASSERT_EQ(response.outcome(), Outcome::lost) << bytes;
    EXPECT_THAT(response.error().message, HasSubstr("not HTTP")) << bytes;
  }
}

TEST(curl_transport_faults, headers_without_end_are_lost) {
  std::string bytes = "HTTP/1.1 200 OK\r\n";
  while (bytes.size() < 1'100'000) bytes += "X-A: " + std::string(1000, 'x') + "\r\n";
  const auto response = call_answered_with(bytes);
  EXPECT_EQ(response.outcome(), Outcome::lost);
}

TEST(curl_transport_faults, a_refused_connection_is_lost_and_says_that_nothing_was_sent) {
  PosixWorld world;
  std::string url;
  {
    const RawServer gone(world);
    url = gone.url();
  }
  const auto transport =
      make_curl_transport(world, Endpoint{.url = url, .tls = {}, .proxy = ""}).value();
  const auto response = run_in(world, transport->call(get("/x")));
  ASSERT_EQ(response.outcome(), Outcome::lost);
  EXPECT_THAT(response.error().message, HasSubstr("GET " + url + "/x: not sent: "));
  EXPECT_THAT(response.error().message, HasSubstr(": Connection refused"));
}

TEST(curl_transport_faults, a_missing_unix_socket_is_lost_and_says_that_nothing_was_sent) {
  PosixWorld world;
  const auto transport =
      make_curl_transport(world,
                          Endpoint{.url = "unix:///nonexistent/x.sock", .tls = {}, .proxy = ""})
          .value();
  const auto response = run_in(world, transport->call(get("/x")));
  ASSERT_EQ(response.outcome(), Outcome::lost);
  EXPECT_EQ(
      response.error().message,
      "GET unix:///nonexistent/x.sock/x: not sent: nobody answers on the unix socket: No such "
      "file or directory");
}

// The options of whichever socket of this process is connected to that port.
int user_timeout_of_connection_to(std::uint16_t port) {
  for (int number = 3; number < 1024; ++number) {
    sockaddr_in address{};
    socklen_t bytes = sizeof(address);
    if (::getpeername(number, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) continue;
    if (address.sin_family != AF_INET || ntohs(address.sin_port) != port) continue;
    int timeout = 0;
    socklen_t size = sizeof(timeout);
    ::getsockopt(number, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, &size);
    return timeout;
  }
  return -1;
}

TEST(curl_transport_faults, the_kernel_is_told_to_notice_a_peer_that_has_vanished) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server, TransportLimits{.dead_peer_timeout = 7s});
  ASSERT_TRUE(run_in(
      world, beside(serve_answers(server, seen, {answer_of("")}), transport->call(get("/x")))));
  EXPECT_EQ(user_timeout_of_connection_to(server.port()), 7000);
}

Task<Result<>> serve_the_second(RawServer& server, Seen& seen) {
  CO_TRY(co_await server.accept());
  CO_TRY(co_await serve_answers_and_stay(server, seen, {answer_of("")}));
  co_return Result<>{};
}

TEST(curl_transport_faults, a_call_abandoned_without_a_word_leaves_nothing_behind) {
  PosixWorld world;
  RawServer server(world);
  const auto transport = transport_to(world, server);
  {
    Scope scope(world.loop());
    scope.spawn(
        [](Transport& to) -> Task<Result<>> {
          CO_TRY(co_await to.call(get("/x")));
          co_return Result<>{};
        },
        std::ref(*transport));
    int turns = 0;
    world.loop().run_until([&turns] { return ++turns > 3; });
  }
  Seen seen;
  EXPECT_TRUE(run_in(world, beside(serve_the_second(server, seen), transport->call(get("/y")))));
  EXPECT_EQ(seen.requests.size(), 1U);
}

}  // namespace
}  // namespace isthmus::net
