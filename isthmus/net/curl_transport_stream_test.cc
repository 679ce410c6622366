// Streams: piece by piece, with the sender held back, and gone when nobody wants them any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/net/curl_transport.h"
#include "isthmus/net/talk_testing.h"

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string kChunkedHead = "HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n";

// Sends one line after each permission, so that what is read when is no matter of luck.
Task<Result<>> send_lines(RawServer& server, std::vector<Signal>& permissions, std::string end) {
  RawPeer peer = CO_TRY(co_await server.accept());
  CO_TRY(co_await peer.read_message());
  CO_TRY(co_await peer.send(kChunkedHead));
  for (Signal& permission : permissions) {
    CO_TRY(co_await permission.wait());
    CO_TRY(co_await peer.send("5\r\nline\n\r\n"));
  }
  CO_TRY(co_await peer.send(std::move(end)));
  co_return Result<>{};
}

Task<Result<std::string>> read_lines(Transport& transport, std::vector<Signal>& permissions) {
  const StreamedResponse response = CO_TRY(co_await transport.open(get("/watch")));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.find("x-a"), "1");
  for (Signal& permission : permissions) {
    const Result<std::string> early = co_await with_timeout(1ms, response.body->next());
    EXPECT_EQ(early.outcome(), Outcome::deadline);
    permission.set();
    const std::string line = CO_TRY(co_await response.body->next());
    EXPECT_EQ(line, "line\n");
  }
  Result<std::string> end = co_await response.body->next();
  co_return end;
}

TEST(curl_stream, answers_at_once_and_hands_on_each_piece_when_it_comes) {
  PosixWorld world;
  RawServer server(world);
  std::vector<Signal> permissions(3);
  const auto transport = transport_to(world, server);
  const auto end = run_in(world, beside(send_lines(server, permissions, "0\r\n\r\n"),
                                        read_lines(*transport, permissions)));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(*end, "");
}

TEST(curl_stream, that_is_cut_is_lost) {
  PosixWorld world;
  RawServer server(world);
  std::vector<Signal> permissions(1);
  const auto transport = transport_to(world, server);
  const auto end = run_in(
      world, beside(send_lines(server, permissions, ""), read_lines(*transport, permissions)));
  EXPECT_EQ(end.outcome(), Outcome::lost);
}

Task<Result<>> cut_after_a_piece(RawServer& server, Seen& seen, Signal& closed) {
  CO_TRY(co_await serve_answers(server, seen, {kChunkedHead + "3\r\nabc\r\n"}));
  closed.set();
  co_return Result<>{};
}

Task<Result<>> read_after_the_cut(Transport& transport, Signal& closed) {
  const StreamedResponse response = CO_TRY(co_await transport.open(get("/watch")));
  CO_TRY(co_await closed.wait());
  const std::string piece = CO_TRY(co_await response.body->next());
  EXPECT_EQ(piece, "abc");
  const Result<std::string> end = co_await response.body->next();
  EXPECT_EQ(end.outcome(), Outcome::lost);
  co_return Result<>{};
}

TEST(curl_stream, what_came_before_the_cut_is_still_handed_on) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  Signal closed;
  const auto transport = transport_to(world, server);
  EXPECT_TRUE(run_in(world, beside(cut_after_a_piece(server, seen, closed),
                                   read_after_the_cut(*transport, closed))));
}

// Sends without end, and counts what the kernel has taken.
Task<Result<>> send_endlessly(RawServer& server, std::size_t& sent) {
  RawPeer peer = CO_TRY(co_await server.accept());
  CO_TRY(co_await peer.read_message());
  CO_TRY(co_await peer.send(kChunkedHead));
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  for (;;) {
    CO_TRY(co_await peer.send(chunk));
    sent += chunk.size();
  }
}

// Waits until the sender has made no progress for a while: it is blocked.
Task<Result<>> until_blocked(const std::size_t& sent) {
  std::size_t before = 0;
  int unchanged = 0;
  while (unchanged < 20) {
    unchanged = sent == before && sent > 0 ? unchanged + 1 : 0;
    before = sent;
    CO_TRY(co_await Sleep(1ms));
  }
  co_return Result<>{};
}

Task<Result<>> read_slowly(Transport& transport, const std::size_t& sent) {
  constexpr std::size_t kBufferMax = 64 * 1024 + 16 * 1024;
  const StreamedResponse response = CO_TRY(co_await transport.open(get("/watch")));
  CO_TRY(co_await until_blocked(sent));
  const std::size_t blocked_at = sent;
  std::size_t received = 0;
  while (received < 2 * blocked_at) {
    const std::string piece = CO_TRY(co_await response.body->next());
    EXPECT_LE(piece.size(), kBufferMax);
    received += piece.size();
  }
  EXPECT_GT(sent, blocked_at) << "reading has let the sender go on";
  CO_TRY(co_await until_blocked(sent));
  EXPECT_LE(sent, received + blocked_at + (2 << 20));
  co_return Result<>{};
}

TEST(curl_stream, a_slow_reader_holds_back_an_endless_sender) {
  PosixWorld world;
  RawServer server(world);
  std::size_t sent = 0;
  const auto transport =
      transport_to(world, server, TransportLimits{.stream_buffer_bytes = 64 * 1024});
  const auto result =
      run_in(world, beside(send_endlessly(server, sent), read_slowly(*transport, sent)));
  EXPECT_TRUE(result) << result.error().message;
}

Task<Result<>> notice_the_end(RawServer& server, Signal& noticed) {
  RawPeer peer = CO_TRY(co_await server.accept());
  CO_TRY(co_await peer.read_message());
  CO_TRY(co_await peer.send(kChunkedHead));
  CO_TRY(co_await peer.read_to_end());
  noticed.set();
  co_return Result<>{};
}

Task<Result<>> leave_a_stream(Transport& transport, Signal& noticed) {
  {
    const StreamedResponse response = CO_TRY(co_await transport.open(get("/watch")));
    const Result<std::string> none = co_await with_timeout(2ms, response.body->next());
    EXPECT_EQ(none.outcome(), Outcome::deadline);
    EXPECT_FALSE(noticed.is_set());
  }
  CO_TRY(co_await noticed.wait());
  co_return Result<>{};
}

TEST(curl_stream, that_is_let_go_closes_its_connection) {
  PosixWorld world;
  RawServer server(world);
  Signal noticed;
  const auto transport = transport_to(world, server);
  EXPECT_TRUE(
      run_in(world, beside(notice_the_end(server, noticed), leave_a_stream(*transport, noticed))));
}

TEST(curl_stream, without_headers_ends_at_the_call_timeout) {
  PosixWorld world;
  RawServer server(world);
  const auto transport = transport_to(world, server, TransportLimits{.call_timeout = 10ms});
  const auto response = run_in(world, transport->open(get("/watch")));
  ASSERT_EQ(response.outcome(), Outcome::deadline);
}

Task<Result<>> read_to_the_end(Transport& transport) {
  const StreamedResponse response = CO_TRY(co_await transport.open(get("/")));
  std::string all;
  for (;;) {
    const std::string piece = CO_TRY(co_await response.body->next());
    if (piece.empty()) break;
    all += piece;
  }
  EXPECT_EQ(all, "hello");
  const std::string again = CO_TRY(co_await response.body->next());
  EXPECT_EQ(again, "");
  co_return Result<>{};
}

Task<Result<>> read_two_streams(Transport& transport) {
  CO_TRY(co_await read_to_the_end(transport));
  CO_TRY(co_await read_to_the_end(transport));
  co_return Result<>{};
}

TEST(curl_stream, that_was_read_to_its_end_leaves_a_connection_to_use_again) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server);
  const auto result = run_in(
      world, beside(serve_answers_and_stay(server, seen, {answer_of("hello"), answer_of("hello")}),
                    read_two_streams(*transport)));
  EXPECT_TRUE(result) << result.error().message;
  EXPECT_EQ(seen.connections, 1);
}

}  // namespace
}  // namespace isthmus::net
