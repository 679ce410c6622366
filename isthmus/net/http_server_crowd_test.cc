// What a server does about peers that only connect, and about more of them than it has room for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <string>
#include <vector>

#include "isthmus/net/http_server.h"
#include "isthmus/net/server_testing.h"

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;
using testing::StartsWith;

const std::string kAsk = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const std::string kAskToWait = "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n";
const std::string kAskFirst =
    "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";

ServerTls certificate(PosixWorld& world) {
  return make_self_signed("test", {"127.0.0.1"}, world.loop().wall_now()).value();
}

std::vector<RawPeer> connect_many(PosixWorld& world, TestServer& server, std::size_t count) {
  std::vector<RawPeer> peers;
  for (std::size_t i = 0; i < count; ++i) {
    peers.push_back(connect_raw(world, server.server->port()));
  }
  return peers;
}

// Says this, and answers what it was told until the server closed the connection.
Task<Result<std::string>> say(PosixWorld& world, TestServer& server, std::string bytes) {
  RawPeer peer = connect_raw(world, server.server->port());
  if (!bytes.empty()) CO_TRY(co_await peer.send(std::move(bytes)));
  Result<std::string> all = co_await peer.read_to_end();
  co_return all;
}

TEST(http_server_crowd, a_peer_that_says_nothing_is_closed_in_time) {
  PosixWorld world;
  const ServerLimits limits{.handshake_timeout = 20ms};
  TestServer plain(world, limits);
  EXPECT_EQ(while_serving(world, plain, say(world, plain, "")).value(), "");
  TestServer secure(world, limits, certificate(world));
  EXPECT_EQ(while_serving(world, secure, say(world, secure, "")).value(), "");
}

TEST(http_server_crowd, a_handshake_that_does_not_go_on_is_cut_off_in_time) {
  PosixWorld world;
  TestServer server(world, ServerLimits{.handshake_timeout = 20ms}, certificate(world));
  EXPECT_EQ(while_serving(world, server, say(world, server, "\x16\x03\x01")).value(), "");
}

// Twice as many as there is room for say nothing; whoever speaks is answered all the same.
Task<Result<>> ask_in_a_silent_crowd(PosixWorld& world, TestServer& server, Transport& transport) {
  const std::vector<RawPeer> before = connect_many(world, server, 40);
  const Response response = CO_TRY(co_await transport.call(get("/first")));
  EXPECT_EQ(response.status, 200);
  const std::vector<RawPeer> after = connect_many(world, server, 40);
  const Response again = CO_TRY(co_await transport.call(get("/second")));
  EXPECT_EQ(again.status, 200);
  co_return Result<>{};
}

TEST(http_server_crowd, silent_peers_do_not_lock_out_one_that_speaks) {
  for (const bool is_secure : {false, true}) {
    PosixWorld world;
    std::optional<ServerTls> tls;
    if (is_secure) tls = certificate(world);
    TestServer server(world, ServerLimits{.connections_max = 20}, tls);
    const ClientTls client{.ca_pem = tls ? tls->certificate_pem : ""};
    const Endpoint endpoint{.url = server.url(), .tls = client, .proxy = ""};
    const auto transport = make_curl_transport(world, endpoint).value();
    const auto asked =
        while_serving(world, server, ask_in_a_silent_crowd(world, server, *transport));
    EXPECT_TRUE(asked) << asked.error().message;
    EXPECT_TRUE(server.log.mentions("too many connections; the one silent longest is closed"));
  }
}

// The order in which they make way for newcomers is the reverse of that in which they came.
Task<Result<>> make_way_one_by_one(PosixWorld& world, TestServer& server) {
  RawPeer busy = connect_raw(world, server.server->port());
  CO_TRY(co_await busy.send(kAskToWait));
  CO_TRY(co_await server.handler.waiting.wait());
  RawPeer served = connect_raw(world, server.server->port());
  CO_TRY(co_await served.send(kAsk));
  CO_TRY(co_await served.read_message());
  RawPeer speaking = connect_raw(world, server.server->port());
  CO_TRY(co_await speaking.send(kAskFirst));
  CO_TRY(co_await speaking.read_until("100 Continue\r\n\r\n"));
  RawPeer silent = connect_raw(world, server.server->port());

  std::vector<RawPeer> newcomers;
  for (RawPeer* leaves : {&silent, &speaking, &served}) {
    newcomers.push_back(connect_raw(world, server.server->port()));
    const std::string nothing = CO_TRY(co_await leaves->read_to_end());
    EXPECT_EQ(nothing, "");
    server.handler.waiting.clear();
    CO_TRY(co_await newcomers.back().send(kAskToWait));
    CO_TRY(co_await server.handler.waiting.wait());
  }
  RawPeer too_late = connect_raw(world, server.server->port());
  const std::string nothing = CO_TRY(co_await too_late.read_to_end());
  EXPECT_EQ(nothing, "");

  server.handler.release.set();
  newcomers.push_back(std::move(busy));
  for (RawPeer& waiting : newcomers) {
    const std::string answer = CO_TRY(co_await waiting.read_message());
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  }
  co_return Result<>{};
}

TEST(http_server_crowd, who_has_shown_least_makes_way_and_nobody_who_is_being_answered) {
  PosixWorld world;
  TestServer server(world, ServerLimits{.connections_max = 4});
  const auto done = while_serving(world, server, make_way_one_by_one(world, server));
  EXPECT_TRUE(done) << done.error().message;
}

// As many as there is room for ask, and do not read what they are answered.
Task<Result<>> ask_beside_those_who_never_read(PosixWorld& world, TestServer& server) {
  constexpr int kSmallBuffer = 4096;
  std::vector<RawPeer> peers;
  for (int i = 0; i < 2; ++i) {
    peers.push_back(connect_raw(world, server.server->port(), kSmallBuffer));
    CO_TRY(co_await peers.back().send("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
  std::size_t sent = 0;
  do {
    sent = server.handler.sent;
    CO_TRY(co_await Sleep(50ms));
  } while (server.handler.requests < 2 || sent != server.handler.sent);
  const std::string answer =
      CO_TRY(co_await exchange(connect_raw(world, server.server->port()), kAsk));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  co_return Result<>{};
}

TEST(http_server_crowd, who_does_not_read_its_answer_makes_way) {
  PosixWorld world;
  TestServer server(world, ServerLimits{.connections_max = 2});
  const auto done = while_serving(world, server, ask_beside_those_who_never_read(world, server));
  EXPECT_TRUE(done) << done.error().message;
}

// The one that came first spoke last.
Task<Result<>> speak_and_stay(PosixWorld& world, TestServer& server) {
  RawPeer first = connect_raw(world, server.server->port());
  RawPeer second = connect_raw(world, server.server->port());
  for (RawPeer* peer : {&first, &second, &first}) {
    CO_TRY(co_await peer->send(kAsk));
    CO_TRY(co_await peer->read_message());
  }
  const RawPeer third = connect_raw(world, server.server->port());
  CO_TRY(co_await second.read_to_end());
  CO_TRY(co_await first.send(kAsk));
  CO_TRY(co_await first.read_message());
  co_return Result<>{};
}

TEST(http_server_crowd, among_equals_the_one_silent_longest_makes_way) {
  PosixWorld world;
  TestServer server(world, ServerLimits{.connections_max = 2});
  const auto done = while_serving(world, server, speak_and_stay(world, server));
  EXPECT_TRUE(done) << done.error().message;
}

// Two are answered one after the other, two more only begin to ask: there is room for them all.
// A third that begins is one too many.
Task<Result<>> begin_and_never_end(PosixWorld& world, TestServer& server) {
  std::vector<RawPeer> peers = connect_many(world, server, 5);
  for (std::size_t i = 0; i < 2; ++i) {
    CO_TRY(co_await peers[i].send(kAsk));
    CO_TRY(co_await peers[i].read_message());
  }
  for (std::size_t i = 2; i < 5; ++i) {
    CO_TRY(co_await peers[i].send(kAskFirst));
    CO_TRY(co_await peers[i].read_until("100 Continue\r\n\r\n"));
  }
  CO_TRY(co_await peers[2].read_to_end());
  for (const std::size_t i : {0, 1}) {
    CO_TRY(co_await peers[i].send(kAsk));
    CO_TRY(co_await peers[i].read_message());
  }
  for (const std::size_t i : {3, 4}) {
    CO_TRY(co_await peers[i].send("12345"));
    CO_TRY(co_await peers[i].read_message());
  }
  co_return Result<>{};
}

TEST(http_server_crowd, of_those_that_only_begin_to_ask_a_few_may_stay) {
  PosixWorld world;
  TestServer server(world, ServerLimits{.strangers_max = 2});
  const auto done = while_serving(world, server, begin_and_never_end(world, server));
  EXPECT_TRUE(done) << done.error().message;
}

// How many bytes of our memory each silent connection takes, at both its ends. One more than there
// is room for shows by its effect on the first that the server has accepted them all.
Task<Result<std::size_t>> weigh_silent_peers(PosixWorld& world, TestServer& server,
                                             std::size_t count) {
  const std::size_t before = ::mallinfo2().uordblks;
  std::vector<RawPeer> peers = connect_many(world, server, count + 1);
  CO_TRY(co_await peers.front().read_to_end());
  const std::size_t after = ::mallinfo2().uordblks;
  co_return after > before ? (after - before) / count : 0;
}

TEST(http_server_crowd, a_silent_peer_costs_no_tls_buffers) {
  constexpr std::size_t kPeers = 100;
  PosixWorld world;
  TestServer server(world, ServerLimits{.connections_max = kPeers}, certificate(world));
  const auto each = while_serving(world, server, weigh_silent_peers(world, server, kPeers));
  ASSERT_TRUE(each) << each.error().message;
  RecordProperty("bytes_each", std::to_string(*each));
  EXPECT_LT(*each, 16U * 1024) << "the TLS engine takes 46 KB";
}

}  // namespace
}  // namespace isthmus::net
