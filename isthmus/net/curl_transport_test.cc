#include "isthmus/net/curl_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "isthmus/net/talk_testing.h"

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

TEST(curl_transport, a_call_sends_its_request_and_answers_everything) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server);
  const std::string answer =
      "HTTP/1.1 201 Created\r\nX-A: 1\r\nx-b:  two \r\nContent-Length: 5\r\n\r\nhello";
  const auto response = run_in(
      world, beside(serve_answers(server, seen, {answer}),
                    transport->call({.method = "PATCH",
                                     .target = "/a/../b%2F?x=1",
                                     .headers = {{"Content-Type", "text/plain"}, {"X-Empty", ""}},
                                     .body = "body"})));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->headers.find("x-a"), "1");
  EXPECT_EQ(response->headers.find("X-B"), "two");
  ASSERT_EQ(seen.requests.size(), 1U);
  const std::string& request = seen.requests[0];
  EXPECT_TRUE(request.starts_with("PATCH /a/../b%2F?x=1 HTTP/1.1\r\n")) << request;
  EXPECT_THAT(request, HasSubstr("\r\nContent-Type: text/plain\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nX-Empty:\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nContent-Length: 4\r\n"));
  EXPECT_TRUE(request.ends_with("\r\n\r\nbody"));
}

TEST(curl_transport, nothing_is_sent_that_nobody_asked_for) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server);
  const Request post{.method = "POST", .target = "/", .headers = {}, .body = ""};
  ASSERT_TRUE(
      run_in(world, beside(serve_answers(server, seen, {answer_of("")}), transport->call(post))));
  EXPECT_THAT(seen.requests.at(0), HasSubstr("\r\nContent-Length: 0\r\n"));
  EXPECT_THAT(seen.requests[0], Not(HasSubstr("Content-Type")));
  EXPECT_THAT(seen.requests[0], Not(HasSubstr("Expect")));
}

TEST(curl_transport, a_large_body_goes_out_without_waiting_for_permission) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server);
  const Request put{
      .method = "PUT", .target = "/", .headers = {}, .body = std::string(3'000'000, 'x')};
  ASSERT_TRUE(
      run_in(world, beside(serve_answers(server, seen, {answer_of("")}), transport->call(put))));
  EXPECT_TRUE(seen.requests.at(0).ends_with(put.body));
  EXPECT_THAT(seen.requests[0].substr(0, 1000), Not(HasSubstr("Expect")));
}

TEST(curl_transport, the_prefix_of_the_endpoint_comes_before_the_target) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport =
      make_curl_transport(world, Endpoint{.url = server.url() + "/k8s/c/", .tls = {}, .proxy = ""})
          .value();
  ASSERT_TRUE(run_in(
      world, beside(serve_answers(server, seen, {answer_of("")}), transport->call(get("/api")))));
  EXPECT_TRUE(seen.requests.at(0).starts_with("GET /k8s/c/api HTTP/1.1\r\n"));
}

Task<Result<>> call_twice(Transport& transport, Request request) {
  CO_TRY(co_await transport.call(request));
  CO_TRY(co_await transport.call(request));
  co_return Result<>{};
}

TEST(curl_transport, a_connection_is_used_again) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server);
  EXPECT_TRUE(run_in(world, beside(serve_answers(server, seen, {answer_of("1"), answer_of("2")}),
                                   call_twice(*transport, get("/")))));
  EXPECT_EQ(seen.connections, 1);
}

TEST(curl_transport, interim_answers_and_trailers_are_skipped) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server);
  const std::string answer =
      "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n";
  const auto response =
      run_in(world, beside(serve_answers(server, seen, {answer}), transport->call(get("/"))));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "abc");
  EXPECT_EQ(response->headers, (Headers{{"Transfer-Encoding", "chunked"}}));
}

TEST(curl_transport, a_redirect_is_an_answer_like_any_other) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server);
  const std::string answer =
      "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: "
      "0\r\n\r\n";
  const auto response =
      run_in(world, beside(serve_answers(server, seen, {answer}), transport->call(get("/"))));
  EXPECT_EQ(response->status, 307);
  EXPECT_EQ(seen.requests.size(), 1U);
}

TEST(curl_transport, head_has_no_body) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const auto transport = transport_to(world, server);
  const auto response = run_in(
      world, beside(serve_answers(server, seen, {"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"}),
                    transport->call({.method = "HEAD", .target = "/", .headers = {}, .body = ""})));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->headers.find("content-length"), "7");
  EXPECT_EQ(response->body, "");
}

TEST(curl_transport, a_name_is_resolved_without_holding_up_the_loop) {
  PosixWorld world;
  RawServer server(world);
  Seen seen;
  const std::string url = "http://localhost:" + std::to_string(server.port());
  const auto transport =
      make_curl_transport(world, Endpoint{.url = url, .tls = {}, .proxy = ""}).value();
  const auto response = run_in(
      world, beside(serve_answers(server, seen, {answer_of("hello")}), transport->call(get("/"))));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "hello");
}

// The request line that a proxy sees, or empty when it is passed by.
std::string seen_by_proxy(const char* environment, const char* excluded, bool is_named) {
  PosixWorld world;
  RawServer proxy(world);
  Seen seen;
  if (environment != nullptr) ::setenv("https_proxy", proxy.url().c_str(), 1);
  if (excluded != nullptr) ::setenv("no_proxy", excluded, 1);
  const std::string named = is_named ? proxy.url() : "";
  const auto transport =
      make_curl_transport(world, Endpoint{.url = "https://127.0.0.1:1", .tls = {}, .proxy = named})
          .value();
  const std::string refusal = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
  const auto response =
      run_in(world, beside(serve_answers(proxy, seen, {refusal}), transport->call(get("/secret"))));
  ::unsetenv("https_proxy");
  ::unsetenv("no_proxy");
  EXPECT_EQ(response.outcome(), Outcome::lost);
  EXPECT_THAT(response.error().message, HasSubstr("not sent"));
  return seen.requests.empty() ? "" : seen.requests[0].substr(0, seen.requests[0].find('\r'));
}

TEST(curl_transport, a_proxy_comes_from_the_endpoint_or_the_environment) {
  EXPECT_EQ(seen_by_proxy(nullptr, nullptr, true), "CONNECT 127.0.0.1:1 HTTP/1.1");
  EXPECT_EQ(seen_by_proxy("https_proxy", nullptr, false), "CONNECT 127.0.0.1:1 HTTP/1.1");
  EXPECT_EQ(seen_by_proxy("https_proxy", "127.0.0.0/8", false), "");
  EXPECT_EQ(seen_by_proxy(nullptr, "127.0.0.0/8", true), "CONNECT 127.0.0.1:1 HTTP/1.1");
}

// Serves every connection that comes, and counts how many are open at once.
struct Crowd {
  int open = 0;
  int open_max = 0;
  int answered = 0;
};

Task<Result<>> serve_forever(RawPeer peer, Crowd& crowd) {
  crowd.open_max = std::max(crowd.open_max, ++crowd.open);
  for (;;) {
    const Result<std::string> request = co_await peer.read_message();
    if (!request) break;
    ++crowd.answered;
    const Result<> sent = co_await peer.send(answer_of("x"));
    if (!sent) break;
  }
  --crowd.open;
  co_return Result<>{};
}

Task<Result<>> serve_crowd(RawServer& server, Crowd& crowd) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  for (;;) {
    Result<RawPeer> peer = co_await server.accept();
    if (!peer) break;
    scope.spawn(serve_forever, std::move(*peer), std::ref(crowd));
  }
  const Result<> joined = co_await scope.join();
  co_return joined;
}

Task<Result<>> call_and_count(Transport& transport, int& done) {
  const Response response = CO_TRY(co_await transport.call(get("/")));
  if (response.body == "x") ++done;
  co_return Result<>{};
}

Task<Result<>> call_often(Transport& transport, int times, int& done) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  for (int time = 0; time < times; ++time) {
    scope.spawn(call_and_count, std::ref(transport), std::ref(done));
  }
  const Result<> joined = co_await scope.join();
  co_return joined;
}

TEST(curl_transport, a_thousand_calls_take_turns_on_ten_connections) {
  PosixWorld world;
  RawServer server(world);
  Crowd crowd;
  int done = 0;
  const auto transport = transport_to(world, server, TransportLimits{.connections_max = 10});
  const auto result =
      run_in(world, beside(serve_crowd(server, crowd), call_often(*transport, 1000, done)));
  EXPECT_TRUE(result) << result.error().message;
  EXPECT_EQ(done, 1000);
  EXPECT_EQ(crowd.answered, 1000);
  EXPECT_LE(crowd.open_max, 10);
}

Task<Result<>> give_up_waiting(Transport& transport) {
  Result<StreamedResponse> watch = co_await transport.open(get("/watch"));
  EXPECT_TRUE(watch);
  const Result<Response> starved = co_await with_timeout(5ms, transport.call(get("/")));
  EXPECT_EQ(starved.outcome(), Outcome::deadline);
  watch->body.reset();
  const Result<Response> served = co_await transport.call(get("/"));
  EXPECT_TRUE(served);
  co_return Result<>{};
}

TEST(curl_transport, a_call_that_gives_up_its_turn_leaves_it_to_the_next) {
  PosixWorld world;
  RawServer server(world);
  Crowd crowd;
  const auto transport = transport_to(world, server, TransportLimits{.connections_max = 1});
  EXPECT_TRUE(run_in(world, beside(serve_crowd(server, crowd), give_up_waiting(*transport))));
}

TEST(curl_transport, a_request_that_is_not_http_is_refused_by_name) {
  PosixWorld world;
  RawServer server(world);
  const auto transport = transport_to(world, server);
  const auto refused = [&](Request request) {
    const auto response = run_in(world, transport->call(std::move(request)));
    EXPECT_EQ(response.outcome(), Outcome::invalid);
    return response ? "" : response.error().message;
  };
  EXPECT_EQ(refused({.method = "GE T", .target = "/", .headers = {}, .body = ""}),
            "method \"GE T\": is not a token");
  EXPECT_EQ(refused(get("/a b")), "target \"/a b\": must begin with / and be percent-encoded");
  EXPECT_EQ(refused(get("a")), "target \"a\": must begin with / and be percent-encoded");
  EXPECT_EQ(refused(get("/#x")), "target \"/#x\": must begin with / and be percent-encoded");
  EXPECT_EQ(refused({.method = "GET", .target = "/", .headers = {{"A", "1\r\nB: 2"}}, .body = ""}),
            "header A: its value has a line break in it");
  EXPECT_EQ(refused({.method = "GET", .target = "/", .headers = {{"A:", "1"}}, .body = ""}),
            "header \"A:\": is not a token");
}

TEST(curl_transport, an_endpoint_that_is_none_is_refused_by_name) {
  PosixWorld world;
  const auto refused = [&](std::string url, std::string proxy = "") {
    const auto made = make_curl_transport(
        world, Endpoint{.url = std::move(url), .tls = {}, .proxy = std::move(proxy)});
    EXPECT_EQ(made.outcome(), Outcome::invalid);
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(refused("ftp://x"), "url \"ftp://x\": the scheme must be https, http or unix");
  EXPECT_EQ(refused("unix://x"), "url \"unix://x\": the path must be absolute");
  EXPECT_EQ(refused("http://x?q"), "url \"http://x?q\": must not have a query or fragment");
  EXPECT_EQ(refused("http://u:secret@x"),
            "url \"http://\u2026@x\": must not carry a user or password");
  EXPECT_THAT(refused("ftp://u:secret@x"), Not(HasSubstr("secret")));
  EXPECT_THAT(refused("http://u:secret@x:y"), Not(HasSubstr("secret")));
  EXPECT_THAT(refused("10.0.0.1:6443"), HasSubstr("url \"10.0.0.1:6443\": "));
  EXPECT_THAT(refused(""), HasSubstr("url \"\": "));
  EXPECT_EQ(refused("http://x", "http://[:80"), "proxy: is not a URL");
  const auto bad_ca = make_curl_transport(
      world, Endpoint{.url = "https://x", .tls = ClientTls{.ca_pem = "x"}, .proxy = ""});
  EXPECT_EQ(bad_ca.error().message, "tls: CA certificates: no PEM certificate in it");
}

}  // namespace
}  // namespace isthmus::net
