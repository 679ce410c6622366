// What a server does about clients that dawdle, ramble, lie, or are too many.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "isthmus/net/http_server.h"
#include "isthmus/net/server_testing.h"

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

// All that one connection is answered to these bytes until the server closes it.
Task<Result<std::string>> send_and_read(PosixWorld& world, TestServer& server, std::string bytes) {
  RawPeer peer = connect_raw(world, server.server->port());
  CO_TRY(co_await peer.send(std::move(bytes)));
  Result<std::string> all = co_await peer.read_to_end();
  co_return all;
}

std::string answer_to(std::string bytes, ServerLimits limits = {}) {
  PosixWorld world;
  TestServer server(world, limits);
  const auto answer = while_serving(world, server, send_and_read(world, server, std::move(bytes)));
  EXPECT_TRUE(answer) << answer.error().message;
  return answer.value_or("");
}

const std::string kHead = "POST / HTTP/1.1\r\nHost: x\r\n";

TEST(http_server_limits, what_is_malformed_is_a_bad_request) {
  for (const std::string& bytes : {
           std::string("hello\r\n\r\n"),
           std::string("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\nHost: x\r\nA b: 1\r\n\r\n"),
           kHead + "Content-Length: nine\r\n\r\n",
           kHead + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
           kHead + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
           kHead + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
           std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
       }) {
    const std::string answer = answer_to(bytes, ServerLimits{.read_header_timeout = 200ms});
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request\r\n")) << bytes;
    EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n")) << bytes;
  }
}

TEST(http_server_limits, another_version_is_named) {
  EXPECT_THAT(answer_to("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), StartsWith("HTTP/1.1 505 "));
}

TEST(http_server_limits, another_transfer_coding_is_named) {
  EXPECT_THAT(answer_to(kHead + "Transfer-Encoding: gzip\r\n\r\n"), StartsWith("HTTP/1.1 501 "));
}

TEST(http_server_limits, headers_over_the_limit_are_refused) {
  const ServerLimits limits{.header_bytes_max = 1000};
  const std::string long_header = "A: " + std::string(1000, 'x');
  EXPECT_THAT(answer_to(kHead + long_header + "\r\n\r\n", limits), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(answer_to(kHead + long_header, limits), StartsWith("HTTP/1.1 431 "));
  const std::string long_target = "GET /" + std::string(1000, 'x');
  EXPECT_THAT(answer_to(long_target, limits), StartsWith("HTTP/1.1 431 "));
  const std::string chunk_line = "1;" + std::string(2000, 'x');
  EXPECT_THAT(answer_to(kHead + "Transfer-Encoding: chunked\r\n\r\n" + chunk_line, limits),
              StartsWith("HTTP/1.1 4"));
}

TEST(http_server_limits, a_body_over_the_limit_is_refused_and_the_client_can_read_why) {
  const ServerLimits limits{.body_bytes_max = 1000};
  const std::string body(900'000, 'x');
  EXPECT_THAT(answer_to(kHead + "Content-Length: 900000\r\n\r\n" + body, limits),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer_to(kHead + "Transfer-Encoding: chunked\r\n\r\ndbba0\r\n" + body, limits),
              StartsWith("HTTP/1.1 413 "));
  const std::string fits(1000, 'x');
  EXPECT_THAT(answer_to(kHead + "Connection: close\r\nContent-Length: 1000\r\n\r\n" + fits, limits),
              StartsWith("HTTP/1.1 200 "));
}

TEST(http_server_limits, a_server_that_takes_no_bodies_serves_requests_without_one) {
  const ServerLimits limits{.body_bytes_max = 0};
  const std::string head = kHead + "Connection: close\r\n";
  EXPECT_THAT(answer_to(head + "\r\n", limits), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer_to(head + "Content-Length: 0\r\n\r\n", limits), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer_to(head + "Content-Length: 1\r\n\r\nx", limits), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer_to(head + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", limits),
              StartsWith("HTTP/1.1 413 "));
}

TEST(http_server_limits, a_client_that_asks_first_is_refused_before_it_sends) {
  const ServerLimits limits{.body_bytes_max = 1000};
  const std::string answer =
      answer_to(kHead + "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n", limits);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
}

TEST(http_server_limits, slow_headers_are_cut_off) {
  const ServerLimits limits{.read_header_timeout = 20ms};
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\nHo", limits), StartsWith("HTTP/1.1 408 "));
}

TEST(http_server_limits, an_expectation_nobody_knows_is_refused) {
  const std::string end = "Content-Length: 0\r\nConnection: close\r\n\r\n";
  for (const char* expect : {"Expect: 200-ok\r\n", "Expect:\r\n", "Expect: 100-continue, x\r\n",
                             "Expect: 100-continue\r\nExpect: x\r\n"}) {
    EXPECT_THAT(answer_to(kHead + expect + end), StartsWith("HTTP/1.1 417 Expectation Failed\r\n"))
        << expect;
  }
  EXPECT_THAT(answer_to(kHead + "expect: 100-Continue\r\n" + end), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer_to("POST / HTTP/1.0\r\nExpect: x\r\n" + end), StartsWith("HTTP/1.1 200 "))
      << "an old client knows no expectations";
}

// One byte every few milliseconds: each arrives in time, the whole does not.
Task<Result<std::string>> dribble(PosixWorld& world, TestServer& server, std::string head) {
  RawPeer peer = connect_raw(world, server.server->port());
  CO_TRY(co_await peer.send(std::move(head)));
  for (int byte = 0; byte < 10; ++byte) {
    CO_TRY(co_await peer.send("x"));
    CO_TRY(co_await Sleep(5ms));
  }
  Result<std::string> all = co_await peer.read_to_end();
  co_return all;
}

TEST(http_server_limits, a_body_that_dribbles_is_cut_off) {
  PosixWorld world;
  TestServer server(world, ServerLimits{.read_body_timeout = 20ms});
  const auto answer = while_serving(
      world, server, dribble(world, server, kHead + "Content-Length: 100000\r\n\r\n"));
  EXPECT_THAT(answer.value(), StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(server.handler.requests, 0);
}

TEST(http_server_limits, a_connection_nobody_uses_is_closed) {
  const std::string answer =
      answer_to("GET / HTTP/1.1\r\nHost: x\r\n\r\n", ServerLimits{.idle_timeout = 10ms});
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
}

Task<Result<>> never_read(PosixWorld& world, TestServer& server) {
  RawPeer peer = connect_raw(world, server.server->port(), 4096);
  CO_TRY(co_await peer.send("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n"));
  CO_TRY(co_await server.handler.handler_ended.wait());
  co_return Result<>{};
}

TEST(http_server_limits, a_client_that_does_not_read_holds_up_its_handler_and_is_cut_off) {
  PosixWorld world;
  TestServer server(world, ServerLimits{.write_timeout = 30ms});
  EXPECT_TRUE(while_serving(world, server, never_read(world, server)));
  EXPECT_LT(server.handler.sent, 16U << 20);
}

// Every file descriptor this process may still have, until it goes.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{.rlim_cur = 200, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (;;) {
      const int number = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (number < 0) break;
      held_.push_back(number);
    }
  }
  ~NoDescriptors() {
    for (const int number : held_) ::close(number);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  std::vector<int> held_;
};

Task<Result<int>> connect_without_descriptors(PosixWorld& world, TestServer& server) {
  RawPeer peer = connect_raw(world, server.server->port());
  int turns = 0;
  {
    const NoDescriptors none;
    world.loop().observe_turns([&turns](Duration) { ++turns; });
    CO_TRY(co_await Sleep(50ms));
    world.loop().observe_turns({});
  }
  CO_TRY(co_await peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  CO_TRY(co_await peer.read_message());
  co_return turns;
}

TEST(http_server_limits, without_file_descriptors_it_waits_instead_of_spinning) {
  PosixWorld world;
  TestServer server(world);
  const auto turns = while_serving(world, server, connect_without_descriptors(world, server));
  ASSERT_TRUE(turns) << turns.error().message;
  EXPECT_LT(*turns, 20);
  ASSERT_EQ(server.log.lines.size(), 1U) << "told once, however often it is tried";
  EXPECT_NE(server.log.lines[0].text.find("Too many open files"), std::string::npos);
}

// Asks for something, and answers how long the server took to stop afterwards.
struct Stop {
  Outcome outcome = Outcome::ok;
  Duration took{};
  std::string answer;
};

Task<Result<>> ask(RawPeer& peer, std::string target, std::string& answer) {
  CO_TRY(co_await peer.send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n"));
  answer = CO_TRY(co_await peer.read_to_end());
  co_return Result<>{};
}

Task<Result<>> run_server(TestServer& server, Stop& stop) {
  const Result<> ended = co_await server.server->run();
  stop.outcome = ended.outcome();
  co_return Result<>{};
}

// Stops the server as soon as the handler waits; releases the handler, if so wished, afterwards.
Task<Result<>> stop_under_way(PosixWorld& world, TestServer& server, std::string target,
                              bool release, Stop& stop) {
  Scope& here = co_await current_scope();
  Scope serving(here);
  serving.spawn(run_server, std::ref(server), std::ref(stop));
  RawPeer peer = connect_raw(world, server.server->port());
  Scope asking(here);
  asking.spawn(ask, std::ref(peer), std::move(target), std::ref(stop.answer));
  CO_TRY(co_await server.handler.waiting.wait());
  const Moment begin = world.loop().now();
  serving.cancel();
  CO_TRY(co_await yield());
  if (release) server.handler.release.set();
  const Result<> stopped = co_await serving.join();
  stop.took = world.loop().now() - begin;
  peer.close();
  const Result<> asked = co_await asking.join();
  co_return stopped;
}

TEST(http_server_stop, an_answer_under_way_is_finished) {
  PosixWorld world;
  TestServer server(world);
  Stop stop;
  EXPECT_TRUE(run_in(world, stop_under_way(world, server, "/wait", true, stop)));
  EXPECT_EQ(stop.outcome, Outcome::cancelled);
  EXPECT_THAT(stop.answer, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(stop.answer, testing::EndsWith("released"));
}

TEST(http_server_stop, a_handler_that_does_not_end_is_cut_off_in_time) {
  PosixWorld world;
  TestServer server(world, ServerLimits{.stop_timeout = 20ms});
  Stop stop;
  EXPECT_TRUE(run_in(world, stop_under_way(world, server, "/wait", false, stop)));
  EXPECT_GE(stop.took, 20ms);
  EXPECT_LT(stop.took, 1s);
}

TEST(http_server_stop, a_handler_that_only_listens_for_its_client_ends_at_once) {
  PosixWorld world;
  TestServer server(world, ServerLimits{.stop_timeout = 5s});
  Stop stop;
  EXPECT_TRUE(run_in(world, stop_under_way(world, server, "/events", false, stop)));
  EXPECT_LT(stop.took, 1s);
  EXPECT_FALSE(server.handler.client_left.is_set());
}

Task<Result<>> stop_while_idle(PosixWorld& world, TestServer& server, Stop& stop) {
  Scope& here = co_await current_scope();
  Scope serving(here);
  serving.spawn(run_server, std::ref(server), std::ref(stop));
  RawPeer silent = connect_raw(world, server.server->port());
  RawPeer idle = connect_raw(world, server.server->port());
  CO_TRY(co_await idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  CO_TRY(co_await idle.read_message());
  const Moment begin = world.loop().now();
  serving.cancel();
  const Result<> stopped = co_await serving.join();
  stop.took = world.loop().now() - begin;
  CO_TRY(co_await idle.read_to_end());
  CO_TRY(co_await silent.read_to_end());
  co_return stopped;
}

TEST(http_server_stop, idle_connections_are_closed_at_once) {
  PosixWorld world;
  TestServer server(world, ServerLimits{.stop_timeout = 5s});
  Stop stop;
  EXPECT_TRUE(run_in(world, with_timeout(kPatience, stop_while_idle(world, server, stop))));
  EXPECT_LT(stop.took, 1s);
}

TEST(http_server_stop, a_server_destroyed_at_work_leaves_nothing_running) {
  const std::size_t frames = isthmus::detail::live_frames;
  {
    PosixWorld world;
    TestServer server(world);
    RawPeer peer = connect_raw(world, server.server->port());
    std::string answer;
    Stop stop;
    Scope scope(world.loop());
    scope.spawn(run_server, std::ref(server), std::ref(stop));
    scope.spawn(ask, std::ref(peer), std::string("/wait"), std::ref(answer));
    world.loop().run_until([&server] { return server.handler.waiting.is_set(); });
  }
  EXPECT_EQ(isthmus::detail::live_frames, frames);
}

}  // namespace
}  // namespace isthmus::net
