#include "isthmus/net/http_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>

#include "isthmus/net/server_testing.h"
#include "isthmus/net/temporary_directory_testing.h"

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::unique_ptr<Transport> transport_to(PosixWorld& world, const std::string& url,
                                        ClientTls tls = {}) {
  return make_curl_transport(world, Endpoint{.url = url, .tls = std::move(tls), .proxy = ""})
      .value();
}

TEST(http_server, a_handler_sees_the_request_and_its_answer_arrives) {
  PosixWorld world;
  TestServer server(world);
  const auto transport = transport_to(world, server.url());
  const auto response =
      while_serving(world, server,
                    transport->call({.method = "PATCH",
                                     .target = "/a%2Fb?x=1+2",
                                     .headers = {{"Content-Type", "application/json"}},
                                     .body = "{}"}));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "PATCH /a%2Fb?x=1+2 {}");
  EXPECT_EQ(response->headers.find("X-Type"), "application/json");
  EXPECT_THAT(std::string(response->headers.find("Date").value_or("")), EndsWith(" GMT"));
  EXPECT_THAT(server.handler.last_peer.address, StartsWith("127.0.0.1:"));
  EXPECT_TRUE(server.handler.last_peer.is_local);
}

TEST(http_server, a_streamed_answer_arrives_whole) {
  PosixWorld world;
  TestServer server(world);
  const auto transport = transport_to(world, server.url());
  const auto response = while_serving(world, server, transport->call(get("/count")));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "one two three");
}

TEST(http_server, a_handler_without_an_answer_is_an_internal_error_that_tells_nothing) {
  PosixWorld world;
  TestServer server(world);
  const auto transport = transport_to(world, server.url());
  const auto response = while_serving(world, server, transport->call(get("/silent")));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 500);
  EXPECT_EQ(response->body, "internal error\n");
}

TEST(http_server, an_answer_left_unfinished_does_not_pass_for_a_whole_one) {
  PosixWorld world;
  TestServer server(world);
  const auto transport = transport_to(world, server.url());
  EXPECT_EQ(while_serving(world, server, transport->call(get("/half"))).outcome(), Outcome::lost);
}

TEST(http_server, a_header_with_a_line_break_is_not_sent) {
  PosixWorld world;
  TestServer server(world);
  const auto transport = transport_to(world, server.url());
  EXPECT_EQ(while_serving(world, server, transport->call(get("/split")))->status, 500);
}

Task<Result<>> pipeline(RawPeer peer) {
  CO_TRY(co_await peer.send(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\n"
      "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nHEAD /3 HTTP/1.1\r\nHost: x\r\n"
      "Connection: close\r\n\r\n"));
  const std::string all = CO_TRY(co_await peer.read_to_end());
  EXPECT_THAT(all, HasSubstr("\r\n\r\nGET /1 HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(all, HasSubstr("\r\n\r\nPOST /2 abcHTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(all, EndsWith("Content-Length: 8\r\nConnection: close\r\n\r\n"));
  co_return Result<>{};
}

TEST(http_server, pipelined_requests_are_answered_in_order_on_one_connection) {
  PosixWorld world;
  TestServer server(world);
  EXPECT_TRUE(while_serving(world, server, pipeline(connect_raw(world, server.server->port()))));
  EXPECT_EQ(server.handler.requests, 3);
}

Task<Result<>> speak_http_1_0(PosixWorld& world, TestServer& server) {
  RawPeer peer = connect_raw(world, server.server->port());
  CO_TRY(co_await peer.send("GET /count HTTP/1.0\r\n\r\n"));
  const std::string all = CO_TRY(co_await peer.read_to_end());
  EXPECT_THAT(all, EndsWith("\r\n\r\none two three"));
  EXPECT_THAT(all, Not(HasSubstr("chunked")));
  co_return Result<>{};
}

TEST(http_server, an_old_client_gets_no_chunks_and_a_closed_connection) {
  PosixWorld world;
  TestServer server(world);
  EXPECT_TRUE(while_serving(world, server, speak_http_1_0(world, server)));
}

Task<Result<>> wait_for_permission(RawPeer peer) {
  CO_TRY(co_await peer.send(
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"));
  CO_TRY(co_await peer.read_until("HTTP/1.1 100 Continue\r\n\r\n"));
  CO_TRY(co_await peer.send("body"));
  const std::string answer = CO_TRY(co_await peer.read_message());
  EXPECT_THAT(answer, EndsWith("POST / body"));
  co_return Result<>{};
}

TEST(http_server, a_client_that_asks_first_is_told_to_continue) {
  PosixWorld world;
  TestServer server(world);
  EXPECT_TRUE(
      while_serving(world, server, wait_for_permission(connect_raw(world, server.server->port()))));
}

Task<Result<>> read_and_leave(Transport& transport, TestHandler& handler) {
  {
    const StreamedResponse response = CO_TRY(co_await transport.open(get("/events")));
    const std::string first = CO_TRY(co_await response.body->next());
    EXPECT_EQ(first, "hello");
  }
  CO_TRY(co_await handler.client_left.wait());
  co_return Result<>{};
}

TEST(http_server, a_handler_that_only_waits_notices_that_its_client_has_left) {
  PosixWorld world;
  TestServer server(world);
  const auto transport = transport_to(world, server.url());
  EXPECT_TRUE(while_serving(world, server, read_and_leave(*transport, server.handler)));
}

Task<Result<>> leave_an_endless_answer(Transport& transport, TestHandler& handler) {
  {
    const StreamedResponse response = CO_TRY(co_await transport.open(get("/endless")));
    CO_TRY(co_await response.body->next());
  }
  CO_TRY(co_await handler.handler_ended.wait());
  co_return Result<>{};
}

TEST(http_server, a_handler_that_writes_to_a_client_that_has_left_is_told) {
  PosixWorld world;
  TestServer server(world);
  const auto transport = transport_to(world, server.url());
  EXPECT_TRUE(while_serving(world, server, leave_an_endless_answer(*transport, server.handler)));
}

TEST(http_server, serves_over_tls) {
  PosixWorld world;
  const ServerTls tls = make_self_signed("test", {"127.0.0.1"}, world.loop().wall_now()).value();
  TestServer server(world, {}, tls);
  const auto transport =
      transport_to(world, server.url(), ClientTls{.ca_pem = tls.certificate_pem});
  const auto response = while_serving(world, server, transport->call(get("/large")));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, std::string(3'000'000, 'y'));
}

TEST(http_server, a_large_request_over_tls_arrives_whole) {
  PosixWorld world;
  const ServerTls tls = make_self_signed("test", {"127.0.0.1"}, world.loop().wall_now()).value();
  TestServer server(world, {}, tls);
  const auto transport =
      transport_to(world, server.url(), ClientTls{.ca_pem = tls.certificate_pem});
  const std::string body(3'000'000, 'z');
  const auto response = while_serving(
      world, server,
      transport->call({.method = "POST", .target = "/a", .headers = {}, .body = body}));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "POST /a " + body);
}

Task<Result<>> never_read(Transport& transport, TestHandler& handler) {
  const StreamedResponse endless = CO_TRY(co_await transport.open(get("/endless")));
  CO_TRY(co_await handler.handler_ended.wait());
  co_return Result<>{};
}

TEST(http_server, a_client_that_does_not_read_over_tls_is_cut_off) {
  PosixWorld world;
  const ServerTls tls = make_self_signed("test", {"127.0.0.1"}, world.loop().wall_now()).value();
  TestServer server(world, ServerLimits{.write_timeout = 30ms}, tls);
  const auto transport =
      transport_to(world, server.url(), ClientTls{.ca_pem = tls.certificate_pem});
  EXPECT_TRUE(while_serving(world, server, never_read(*transport, server.handler)));
}

TEST(http_server, a_handler_notices_over_tls_that_its_client_has_left) {
  PosixWorld world;
  const ServerTls tls = make_self_signed("test", {"127.0.0.1"}, world.loop().wall_now()).value();
  TestServer server(world, {}, tls);
  const auto transport =
      transport_to(world, server.url(), ClientTls{.ca_pem = tls.certificate_pem});
  EXPECT_TRUE(while_serving(world, server, read_and_leave(*transport, server.handler)));
}

Task<Result<>> call_before_and_after(Transport& before, Transport& after, TestServer& server,
                                     ServerTls next) {
  CO_TRY(co_await before.call(get("/")));
  EXPECT_TRUE(server.server->replace_certificate(std::move(next)));
  CO_TRY(co_await before.call(get("/")));  // On the connection it has.
  CO_TRY(co_await after.call(get("/")));
  co_return Result<>{};
}

TEST(http_server, a_new_certificate_counts_for_new_connections) {
  PosixWorld world;
  const WallTime now = world.loop().wall_now();
  const ServerTls first = make_self_signed("test", {"127.0.0.1"}, now).value();
  const ServerTls second = make_self_signed("test", {"127.0.0.1"}, now).value();
  TestServer server(world, {}, first);
  const auto before = transport_to(world, server.url(), ClientTls{.ca_pem = first.certificate_pem});
  const auto after = transport_to(world, server.url(), ClientTls{.ca_pem = second.certificate_pem});
  const auto result =
      while_serving(world, server, call_before_and_after(*before, *after, server, second));
  EXPECT_TRUE(result) << result.error().message;
  const ServerTls mixed{first.certificate_pem, second.private_key_pem};
  EXPECT_EQ(server.server->replace_certificate(mixed).outcome(), Outcome::invalid);
}

TEST(http_server, a_unix_socket_is_for_its_owner_only_and_gone_afterwards) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("s");
  PosixWorld world;
  // A proxy in the environment is no business of a unix socket.
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  ::setenv("all_proxy", "http://127.0.0.1:1", 1);
  TestServer server(world, {}, std::nullopt, path);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(server.server->port(), 0);
  const auto transport = transport_to(world, "unix://" + path);
  const auto response = while_serving(world, server, transport->call(get("/x")));
  ::unsetenv("http_proxy");
  ::unsetenv("all_proxy");
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "GET /x ");
  EXPECT_EQ(server.handler.last_peer.address, "unix");
  EXPECT_TRUE(server.handler.last_peer.is_local);
  EXPECT_TRUE(directory.is_empty());
}

// Connects, sends, and breaks the connection off, all before the server has accepted it.
void send_and_reset(std::uint16_t port, const std::string& bytes) {
  const int number = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(number, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::send(number, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  const linger reset{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(number, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  ::close(number);
}

// The kernel no longer says where it came from, which once made it pass for a unix socket.
TEST(http_server, a_client_that_left_before_it_was_accepted_is_not_served) {
  PosixWorld world;
  TestServer server(world);
  send_and_reset(server.server->port(), "GET /gone HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto transport = transport_to(world, server.url());
  const auto response = while_serving(world, server, transport->call(get("/x")));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(server.handler.requests, 1);
}

NullLogger silent;

Result<std::unique_ptr<HttpServer>> listen_on(PosixWorld& world, TestHandler& handler,
                                              const std::string& path) {
  return listen(world, parse_listen_address("unix:" + path).value(), std::nullopt, handler, silent);
}

// Leaves a socket that nobody listens on any more, as a killed process does.
void leave_stale_socket(const std::string& path) {
  const int number = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(number, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(number);
}

TEST(http_server, a_stale_unix_socket_is_replaced_and_a_live_one_is_not) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("s");
  PosixWorld world;
  TestHandler handler;
  leave_stale_socket(path);
  auto first = listen_on(world, handler, path);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = listen_on(world, handler, path);
  ASSERT_EQ(second.outcome(), Outcome::conflict);
  EXPECT_EQ(second.error().message, "listen: " + path + ": a live server is listening there");
  first->reset();
  EXPECT_TRUE(directory.is_empty());
  ASSERT_TRUE(world.files().write(path, "precious", FileMode::owner_only));
  EXPECT_EQ(listen_on(world, handler, path).outcome(), Outcome::invalid);
  EXPECT_EQ(world.files().read(path, 100).value(), "precious");
}

TEST(http_server, a_port_in_use_is_reported_before_anything_starts) {
  PosixWorld world;
  TestServer server(world);
  const std::string address = "http://127.0.0.1:" + std::to_string(server.server->port());
  const auto second =
      listen(world, parse_listen_address(address).value(), std::nullopt, server.handler, silent);
  ASSERT_EQ(second.outcome(), Outcome::conflict);
  EXPECT_THAT(second.error().message, HasSubstr("127.0.0.1 port "));
}

TEST(http_server, https_without_a_certificate_is_refused) {
  PosixWorld world;
  TestHandler handler;
  const auto address = parse_listen_address("https://127.0.0.1:0").value();
  EXPECT_EQ(listen(world, address, std::nullopt, handler, silent).outcome(), Outcome::invalid);
}

TEST(listen_address, is_a_unix_socket_or_an_address_with_a_port) {
  const auto unix_socket = parse_listen_address("unix:/run/x.sock");
  EXPECT_EQ(unix_socket->host_or_path, "/run/x.sock");
  EXPECT_EQ(parse_listen_address("unix:///run/x.sock")->host_or_path, "/run/x.sock");
  const auto v6 = parse_listen_address("https://[::]:10258");
  EXPECT_EQ(v6->kind, ListenAddress::Kind::https);
  EXPECT_EQ(v6->host_or_path, "::");
  EXPECT_EQ(v6->port, 10258);
  EXPECT_EQ(parse_listen_address("http://localhost:0")->host_or_path, "127.0.0.1");
}

TEST(listen_address, that_is_wrong_is_named) {
  const auto refused = [](const char* text) { return parse_listen_address(text).error().message; };
  EXPECT_EQ(refused("ftp://x"), "listen: \"ftp://x\": must begin with unix:/, http:// or https://");
  EXPECT_EQ(refused("unix:x"), "listen: \"unix:x\": the path must be absolute");
  EXPECT_EQ(refused("http://1.2.3.4"), "listen: \"http://1.2.3.4\": has no port");
  EXPECT_EQ(refused("http://1.2.3.4:99999"),
            "listen: \"http://1.2.3.4:99999\": \"99999\" is not a port");
  EXPECT_EQ(refused("http://::1:80"),
            "listen: \"http://::1:80\": an IPv6 address stands in brackets");
  EXPECT_THAT(refused("http://name:80"), HasSubstr("neither an IP address nor localhost"));
}

TEST(http_server, a_port_is_shared_by_those_who_all_allow_it) {
  PosixWorld world;
  TestHandler handler;
  MemoryLogger log;
  ListenAddress address = parse_listen_address("http://127.0.0.1:0").value();
  address.shares_port = true;
  const auto first = listen(world, address, std::nullopt, handler, log).value();
  address.port = first->port();
  EXPECT_TRUE(listen(world, address, std::nullopt, handler, log));

  address.shares_port = false;
  EXPECT_EQ(listen(world, address, std::nullopt, handler, log).outcome(), Outcome::conflict);
}

}  // namespace
}  // namespace isthmus::net
