#include "isthmus/net/posix_prober.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/net/server_testing.h"

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;
using Kind = ProbeRequest::Kind;

isthmus::Endpoint at(std::uint16_t port, const std::string& address = "127.0.0.1") {
  return {.address = parse_ip(address).value(), .port = port};
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

// Sockets of this host to that port which only wait for their minute to be over.
std::size_t in_time_wait(std::uint16_t port) {
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::size_t count = 0;
  std::array<char, 8> hexadecimal{};
  std::snprintf(hexadecimal.data(), hexadecimal.size(), ":%04X", port);
  while (std::getline(table, line)) {
    const bool is_ours = line.find(hexadecimal.data()) != std::string::npos;
    if (is_ours && line.find(" 06 ") != std::string::npos) ++count;
  }
  return count;
}

// Sends a text, perhaps hangs up, and keeps what it was asked. Ends when the other side has left.
struct Script {
  std::string answer;
  bool then_close = true;
  std::string asked;
  int connections = 0;
};

Task<Result<>> play(RawServer& server, Script& script) {
  for (;;) {
    RawPeer peer = CO_TRY(co_await server.accept());
    ++script.connections;
    script.asked = CO_TRY(co_await peer.read_message());
    const Result<> sent = co_await peer.send(script.answer);
    if (sent && !script.then_close) CO_TRY(co_await peer.read_to_end());
  }
}

struct Stage {
  // What a probe of the path says to a server that answers with exactly this.
  Result<> probe(std::string answer, bool then_close = true, Duration timeout = kPatience) {
    script.answer = std::move(answer);
    script.then_close = then_close;
    Task<Result<>> story = with_timeout(
        timeout, prober->probe({.endpoint = at(server.port()), .kind = Kind::http, .path = "/up"}));
    return run_in(world, beside(play(server, script), std::move(story)));
  }

  PosixWorld world;
  RawServer server{world};
  std::unique_ptr<Prober> prober = make_posix_prober(world);
  Script script;
};

Result<> lost(const std::string& why) { return fail(Outcome::lost, why); }

TEST(posix_prober, nobody_who_listens_is_a_refusal) {
  PosixWorld world;
  const auto prober = make_posix_prober(world);
  const std::uint16_t port = RawServer(world).port();
  for (const Kind kind : {Kind::tcp, Kind::http}) {
    const Result<> answer = run_in(world, prober->probe({.endpoint = at(port), .kind = kind}));
    EXPECT_EQ(answer, lost("connection refused"));
  }
}

TEST(posix_prober, a_listener_whose_process_does_nothing_is_well_by_tcp_and_silent_by_http) {
  PosixWorld world;
  const RawServer server(world);
  const auto prober = make_posix_prober(world);
  EXPECT_TRUE(run_in(world, prober->probe({.endpoint = at(server.port()), .kind = Kind::tcp})));
  const Result<> answer = run_in(
      world,
      with_timeout(50ms, prober->probe({.endpoint = at(server.port()), .kind = Kind::http})));
  EXPECT_EQ(answer.outcome(), Outcome::deadline);
}

TEST(posix_prober, asks_for_the_path_and_names_the_endpoint_as_host) {
  Stage stage;
  EXPECT_TRUE(stage.probe(answer_of("well")));
  EXPECT_EQ(stage.script.asked,
            "GET /up HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(stage.server.port()) +
                "\r\nUser-Agent: isthmus-health-check\r\nAccept: */*\r\nConnection: close\r\n\r\n");
}

TEST(posix_prober, a_complete_answer_is_enough_though_the_server_does_not_close) {
  Stage stage;
  EXPECT_TRUE(stage.probe(answer_of("well"), false));
  EXPECT_TRUE(stage.probe("HTTP/1.1 204 No Content\r\n\r\n", false));
  EXPECT_TRUE(stage.probe("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false));
  EXPECT_TRUE(stage.probe(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwell\r\n0\r\n\r\n", false));
}

TEST(posix_prober, an_answer_may_end_with_its_connection) {
  Stage stage;
  EXPECT_TRUE(stage.probe("HTTP/1.1 200 OK\r\n\r\nas long as it is"));
  EXPECT_TRUE(stage.probe("HTTP/1.0 200 OK\r\n\r\n"));
}

TEST(posix_prober, interim_answers_are_passed_over) {
  Stage stage;
  EXPECT_TRUE(stage.probe("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + answer_of("well")));
  EXPECT_EQ(stage.probe("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\n\r\n"),
            lost("answered 503"));
  EXPECT_EQ(stage.probe("HTTP/1.1 100 Continue\r\n\r\n"),
            lost("closed before its answer was complete"));
  EXPECT_EQ(stage.probe("HTTP/1.1 101 Switching Protocols\r\n\r\n"), lost("answered 101"));
}

TEST(posix_prober, well_is_200_to_399_and_no_redirect_is_followed) {
  Stage stage;
  const std::string head = "\r\nContent-Length: 0\r\nLocation: http://127.0.0.1:1/\r\n\r\n";
  for (const int status : {200, 302, 308, 399}) {
    EXPECT_TRUE(stage.probe("HTTP/1.1 " + std::to_string(status) + " X" + head)) << status;
  }
  EXPECT_EQ(stage.script.connections, 4);
  for (const int status : {400, 404, 500, 503, 599}) {
    EXPECT_EQ(stage.probe("HTTP/1.1 " + std::to_string(status) + " X" + head, false),
              lost("answered " + std::to_string(status)));
  }
}

TEST(posix_prober, half_an_answer_is_none) {
  Stage stage;
  for (const char* half : {"HTTP/1.1 20", "HTTP/1.1 200 OK\r\nContent-Le",
                           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwell",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwell\r\n"}) {
    EXPECT_EQ(stage.probe(half), lost("closed before its answer was complete")) << half;
  }
  EXPECT_EQ(stage.probe(""), lost("closed without an answer"));
}

TEST(posix_prober, half_an_answer_and_then_silence_runs_out_of_time) {
  Stage stage;
  const std::string half = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwell";
  EXPECT_EQ(stage.probe(half, false, 50ms).outcome(), Outcome::deadline);
}

TEST(posix_prober, what_is_not_http_is_called_so) {
  Stage stage;
  for (const char* garbage : {"SSH-2.0-OpenSSH_9.2p1\r\n\r\n", "HTTP/1.1 OK\r\n\r\n",
                              "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                              "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
                              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfour\r\n"}) {
    EXPECT_EQ(stage.probe(garbage), lost("not HTTP")) << garbage;
  }
}

TEST(posix_prober, an_answer_without_end_is_complete_after_64_kib_and_a_head_without_end_is_lost) {
  Stage stage;
  const std::string many(2 * kProbeAnswerMax, 'x');
  EXPECT_TRUE(stage.probe("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + many, false));
  EXPECT_TRUE(stage.probe("HTTP/1.1 200 OK\r\n\r\n" + many, false));
  EXPECT_EQ(stage.probe("HTTP/1.1 500 OK\r\n\r\n" + many, false), lost("answered 500"));
  const Result<> too_long = lost("its answer's head is too long");
  EXPECT_EQ(stage.probe("HTTP/1.1 200 OK\r\nX: " + many, false), too_long);
  std::string interim;
  while (interim.size() < kProbeAnswerMax) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(stage.probe(interim, false), too_long);
}

Task<Result<>> drip(RawServer& server, Duration pause) {
  RawPeer peer = CO_TRY(co_await server.accept());
  for (const char character : answer_of(std::string(1000, 'x'))) {
    CO_TRY(co_await peer.send(std::string(1, character)));
    CO_TRY(co_await sleep_for(pause));
  }
  co_return Result<>{};
}

TEST(posix_prober, an_answer_that_drips_has_no_more_time_than_any_other) {
  Stage stage;
  Task<Result<>> story = with_timeout(
      100ms, stage.prober->probe({.endpoint = at(stage.server.port()), .kind = Kind::http}));
  const Result<> answer = run_in(stage.world, beside(drip(stage.server, 1ms), std::move(story)));
  EXPECT_EQ(answer.outcome(), Outcome::deadline);
}

TEST(posix_prober, an_answer_in_pieces_is_put_together) {
  Stage stage;
  Task<Result<>> story =
      stage.prober->probe({.endpoint = at(stage.server.port()), .kind = Kind::http});
  EXPECT_TRUE(run_in(stage.world, beside(drip(stage.server, 0ms), std::move(story))));
}

TEST(posix_prober, speaks_ipv6) {
  PosixWorld world;
  TestHandler handler;
  MemoryLogger log;
  const auto address = parse_listen_address("http://[::1]:0").value();
  const auto server = listen(world, address, std::nullopt, handler, log).value();
  const auto prober = make_posix_prober(world);
  const isthmus::Endpoint endpoint = at(server->port(), "::1");
  EXPECT_TRUE(run_in(world, prober->probe({.endpoint = endpoint, .kind = Kind::tcp})));
  Task<Result<>> story = prober->probe({.endpoint = endpoint, .kind = Kind::http});
  EXPECT_TRUE(run_in(world, beside(server->run(), std::move(story))));
  EXPECT_EQ(handler.requests, 1);
}

TEST(posix_prober, what_cannot_be_sent_is_invalid) {
  PosixWorld world;
  const auto prober = make_posix_prober(world);
  const auto outcome_of = [&](std::uint16_t port, const std::string& path) {
    return run_in(world, prober->probe({.endpoint = at(port), .kind = Kind::http, .path = path}))
        .outcome();
  };
  EXPECT_EQ(outcome_of(0, "/"), Outcome::invalid);
  const std::string long_path = "/" + std::string(kProbePathMax, 'x');
  for (const std::string& path :
       {std::string(), std::string("up"), std::string("/a b"), std::string("/a\r\nX: y"),
        std::string("/#a"), std::string("/\xc3\xa4"), std::string("/\0", 2), long_path}) {
    EXPECT_EQ(outcome_of(1, path), Outcome::invalid) << path;
  }
}

TEST(posix_prober, a_probe_that_ends_early_leaves_no_descriptor_open) {
  PosixWorld world;
  const RawServer server(world);
  const auto prober = make_posix_prober(world);
  const std::size_t before = open_descriptors();
  {
    Scope scope(world.loop());
    for (int i = 0; i < 100; ++i) {
      scope.spawn(&Prober::probe, prober.get(),
                  ProbeRequest{.endpoint = at(server.port()), .kind = Kind::http});
    }
    world.loop().run_until([&] { return open_descriptors() == before + 100; });
    scope.cancel();
    world.loop().run_until([&scope] { return scope.children() == 0; });
    EXPECT_EQ(open_descriptors(), before);
  }
  {
    Scope crashing(world.loop());
    crashing.spawn(&Prober::probe, prober.get(),
                   ProbeRequest{.endpoint = at(server.port()), .kind = Kind::http});
    world.loop().run_until([&] { return open_descriptors() == before + 1; });
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(posix_prober, a_host_without_descriptors_is_busy) {
  PosixWorld world;
  const RawServer server(world);
  const auto prober = make_posix_prober(world);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const Result<> answer = run_in(world, prober->probe({.endpoint = at(server.port())}));
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(answer.outcome(), Outcome::busy);
}

TEST(posix_prober, a_thousand_probes_leave_no_socket_in_time_wait) {
  PosixWorld world;
  TestServer server(world);
  const auto prober = make_posix_prober(world);
  const auto ask_often = [](Prober& asked, std::uint16_t port) -> Task<Result<>> {
    for (int i = 0; i < 500; ++i) {
      CO_TRY(co_await asked.probe({.endpoint = at(port), .kind = Kind::tcp}));
      CO_TRY(co_await asked.probe({.endpoint = at(port), .kind = Kind::http}));
    }
    co_return Result<>{};
  };
  EXPECT_TRUE(while_serving(world, server, ask_often(*prober, server.server->port())));
  EXPECT_EQ(server.handler.requests, 500);
  EXPECT_EQ(in_time_wait(server.server->port()), 0U);
}

TEST(posix_prober, connections_and_probes_leave_descriptors_for_the_rest) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  EXPECT_LE(2 * connections_at_once(2, 1'000'000'000) + probes_at_once() + 64, before.rlim_max);
  EXPECT_EQ(connections_at_once(1, 3), 3U);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(posix_prober, half_of_what_may_be_open_is_left_to_others) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const std::size_t places = probes_at_once();
  rlimit after{};
  ::getrlimit(RLIMIT_NOFILE, &after);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  EXPECT_GE(places, 1U);
  EXPECT_LE(places, std::max<std::size_t>(after.rlim_cur / 2, 1));
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace isthmus::net
