// TLS as a client sees it, against a real local server with certificates made on the spot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/net/curl_transport.h"
#include "isthmus/net/talk_testing.h"

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Duration kYear = 365 * 24h;

ServerTls certificate(PosixWorld& world, std::vector<std::string> names, Duration age = {}) {
  return make_self_signed("test", names, world.loop().wall_now() - age).value();
}

// The answer of a server with this certificate to a client that trusts that one.
Result<Response> call_over_tls(PosixWorld& world, const ServerTls& served, ClientTls trusted,
                               std::string answer = answer_of("secret"), Seen* seen = nullptr) {
  RawServer server(world, served);
  Seen unused;
  const auto transport =
      make_curl_transport(world,
                          Endpoint{.url = server.url(), .tls = std::move(trusted), .proxy = ""})
          .value();
  return run_in(world, beside(serve_answers(server, seen == nullptr ? unused : *seen, {answer}),
                              transport->call(get("/x"))));
}

TEST(curl_tls, a_server_is_trusted_by_its_authority_and_name) {
  PosixWorld world;
  const ServerTls tls = certificate(world, {"127.0.0.1"});
  const auto response = call_over_tls(world, tls, ClientTls{.ca_pem = tls.certificate_pem});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "secret");
}

TEST(curl_tls, one_of_several_authorities_is_enough) {
  PosixWorld world;
  const ServerTls tls = certificate(world, {"127.0.0.1"});
  const ServerTls other = certificate(world, {"127.0.0.1"});
  EXPECT_TRUE(
      call_over_tls(world, tls, ClientTls{.ca_pem = other.certificate_pem + tls.certificate_pem}));
}

TEST(curl_tls, an_unknown_authority_is_denied_before_anything_is_sent) {
  PosixWorld world;
  const ServerTls tls = certificate(world, {"127.0.0.1"});
  const ServerTls other = certificate(world, {"127.0.0.1"});
  Seen seen;
  const auto response =
      call_over_tls(world, tls, ClientTls{.ca_pem = other.certificate_pem}, answer_of(""), &seen);
  ASSERT_EQ(response.outcome(), Outcome::denied);
  EXPECT_THAT(response.error().message,
              HasSubstr("not sent: the server's certificate is refused: "));
  EXPECT_TRUE(seen.requests.empty());
}

TEST(curl_tls, the_bundle_of_the_system_does_not_know_our_certificate) {
  PosixWorld world;
  const auto response = call_over_tls(world, certificate(world, {"127.0.0.1"}), ClientTls{});
  EXPECT_EQ(response.outcome(), Outcome::denied) << response.error().message;
}

TEST(curl_tls, a_certificate_for_another_host_is_denied) {
  PosixWorld world;
  const ServerTls tls = certificate(world, {"10.9.8.7", "other.example"});
  const auto response = call_over_tls(world, tls, ClientTls{.ca_pem = tls.certificate_pem});
  ASSERT_EQ(response.outcome(), Outcome::denied);
  EXPECT_THAT(response.error().message, HasSubstr("127.0.0.1"));
}

TEST(curl_tls, a_certificate_out_of_date_is_denied) {
  PosixWorld world;
  for (const Duration age : {kYear + 1h, -kYear}) {
    const ServerTls tls = certificate(world, {"127.0.0.1"}, age);
    const auto response = call_over_tls(world, tls, ClientTls{.ca_pem = tls.certificate_pem});
    ASSERT_EQ(response.outcome(), Outcome::denied) << response.error().message;
    EXPECT_THAT(response.error().message, HasSubstr(age > 0h ? "expired" : "not yet valid"));
  }
}

TEST(curl_tls, a_server_name_of_its_own_is_checked_instead_of_the_host) {
  PosixWorld world;
  const ServerTls tls = certificate(world, {"kubernetes.default.svc"});
  Seen seen;
  const auto response = call_over_tls(
      world, tls, ClientTls{.ca_pem = tls.certificate_pem, .server_name = "kubernetes.default.svc"},
      answer_of("secret"), &seen);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_THAT(seen.requests.at(0), HasSubstr("\r\nHost: 127.0.0.1:"));

  const auto refused = call_over_tls(
      world, tls, ClientTls{.ca_pem = tls.certificate_pem, .server_name = "other.svc"});
  EXPECT_EQ(refused.outcome(), Outcome::denied);
}

TEST(curl_tls, a_truncated_answer_is_lost_over_tls_too) {
  PosixWorld world;
  const ServerTls tls = certificate(world, {"127.0.0.1"});
  for (const char* bytes : {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "<html>"}) {
    const auto response =
        call_over_tls(world, tls, ClientTls{.ca_pem = tls.certificate_pem}, bytes);
    EXPECT_EQ(response.outcome(), Outcome::lost) << bytes;
  }
}

// The answer of a server that serves only clients with a certificate of this authority.
Result<Response> call_with_certificate(PosixWorld& world, const ServerTls& authority,
                                       const ServerTls* client) {
  const ServerTls tls = certificate(world, {"127.0.0.1"});
  RawServer server(world, tls, authority.certificate_pem);
  Seen seen;
  ClientTls ours{.ca_pem = tls.certificate_pem};
  if (client != nullptr) {
    ours.certificate_pem = client->certificate_pem;
    ours.private_key_pem = client->private_key_pem;
  }
  const auto transport =
      make_curl_transport(world, Endpoint{.url = server.url(), .tls = ours, .proxy = ""}).value();
  return run_in(world, beside(serve_answers(server, seen, {answer_of("welcome")}),
                              transport->call(get("/x"))));
}

TEST(curl_tls, a_client_identifies_itself_by_its_certificate) {
  PosixWorld world;
  const ServerTls known = certificate(world, {"client"});
  const ServerTls unknown = certificate(world, {"client"});
  const auto response = call_with_certificate(world, known, &known);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "welcome");
  EXPECT_EQ(call_with_certificate(world, known, &unknown).outcome(), Outcome::lost);
  EXPECT_EQ(call_with_certificate(world, known, nullptr).outcome(), Outcome::lost);
}

// A server that speaks no TLS at all.
Task<Result<>> answer_in_plain_text(RawServer& server) {
  RawPeer peer = CO_TRY(co_await server.accept());
  CO_TRY(co_await peer.send("HTTP/1.1 400 Bad Request\r\n\r\nspeak plainly\n"));
  CO_TRY(co_await peer.read_to_end());
  co_return Result<>{};
}

TEST(curl_tls, a_server_without_tls_is_lost_and_nothing_was_sent) {
  PosixWorld world;
  RawServer server(world);
  const std::string url = "https://127.0.0.1:" + std::to_string(server.port());
  const auto transport =
      make_curl_transport(world, Endpoint{.url = url, .tls = {}, .proxy = ""}).value();
  const auto response =
      run_in(world, beside(answer_in_plain_text(server), transport->call(get("/x"))));
  ASSERT_EQ(response.outcome(), Outcome::lost);
  EXPECT_THAT(response.error().message, HasSubstr("/x: not sent: "));
}

Task<Result<>> call_twice(Transport& transport) {
  CO_TRY(co_await transport.call(get("/")));
  CO_TRY(co_await transport.call({.method = "POST", .target = "/", .headers = {}, .body = "x"}));
  co_return Result<>{};
}

TEST(curl_tls, a_write_is_never_silently_sent_twice) {
  PosixWorld world;
  const ServerTls tls = certificate(world, {"127.0.0.1"});
  RawServer server(world, tls);
  Seen seen;
  const auto transport =
      make_curl_transport(world, Endpoint{.url = server.url(),
                                          .tls = ClientTls{.ca_pem = tls.certificate_pem},
                                          .proxy = ""})
          .value();
  const auto result =
      run_in(world, beside(hang_up_on_the_second(server, seen), call_twice(*transport)));
  EXPECT_EQ(result.outcome(), Outcome::lost);
  EXPECT_EQ(seen.requests.size(), 2U);
}

}  // namespace
}  // namespace isthmus::net
