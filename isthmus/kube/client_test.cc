#include "isthmus/kube/client.h"

#include <gtest/gtest.h>

#include <deque>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/net/pieces_testing.h"

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;

const ObjectName kNode{Node::resource, {"", "n1"}};
const ObjectName kEvent{Event::resource, {"shop", "web.17"}};
const ObjectName kLease{Lease::resource, {"kube-system", "ccm"}};

// Answers what it was told and keeps what it was sent.
class Wire final : public net::Transport {
 public:
  Task<Result<net::Response>> call(net::Request request) override {
    sent.push_back(std::move(request));
    CO_TRY(co_await sleep_for(takes));
    co_return answer;
  }
  Task<Result<net::StreamedResponse>> open(net::Request request) override {
    sent.push_back(std::move(request));
    CO_TRY(co_await yield());
    if (!answer) co_return std::unexpected(answer.error());
    net::StreamedResponse response{answer->status, answer->headers, nullptr};
    response.body = std::make_unique<net::testing::Pieces>(pieces);
    co_return response;
  }

  Result<net::Response> answer = net::Response{};
  std::deque<Result<std::string>> pieces;
  Duration takes{};
  std::vector<net::Request> sent;
};

class Tokens final : public TokenSource {
 public:
  Result<Secret> token() override { return next; }
  void rejected(const Secret& token) override {
    ++rejections;
    EXPECT_EQ(token.reveal(), next->reveal());
  }
  Result<Secret> next = Secret("t0ken");
  int rejections = 0;
};

class ClientTest : public ::testing::Test {
 protected:
  void answers(int status, std::string body, net::Headers more = {}) {
    more.set("Content-Type", "application/json");
    wire.answer = net::Response{status, std::move(more), std::move(body)};
  }
  void answers_status(int code, std::string reason, std::string details = "{}") {
    answers(code, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
                  R"("message":"so it is","reason":")" +
                      reason + R"(","details":)" + details + R"(,"code":)" + std::to_string(code) +
                      "}");
  }
  Error got() {
    Result<std::string> result = world.run(api.get(kNode));
    return result ? Error{Outcome::ok, *result} : result.error();
  }

  VirtualWorld world;
  Wire wire;
  Tokens tokens;
  Metrics metrics;
  HttpApi api{
      wire, tokens, {.user_agent = "isthmus/1 test", .host = "h:6443"}, world.loop, metrics};
};

TEST(client_request, names_core_and_group_resources_by_their_paths) {
  EXPECT_EQ(http_get(kNode).target, "/api/v1/nodes/n1");
  EXPECT_EQ(http_get(kLease).target,
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/ccm");
  EXPECT_EQ(http_create({kEvent, "{}"}).target, "/api/v1/namespaces/shop/events");
  EXPECT_EQ(http_create({kEvent, "{}"}).method, "POST");
}

TEST(client_request, escapes_what_a_name_must_not_say_to_a_server) {
  EXPECT_EQ(http_get({Node::resource, {"", "../secrets?x"}}).target,
            "/api/v1/nodes/..%2Fsecrets%3Fx");
}

TEST(client_request, asks_for_pages_of_all_namespaces) {
  EXPECT_EQ(http_list({Service::resource, 500, "a=b"}).target,
            "/api/v1/services?limit=500&continue=a%3Db");
  EXPECT_EQ(http_list({Service::resource}).target, "/api/v1/services");
}

TEST(client_request, asks_for_one_namespace_or_for_one_object_of_it) {
  EXPECT_EQ(http_list({.resource = Lease::resource, .limit = 500, .only = {"kube-node-lease", ""}})
                .target,
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?limit=500");
  EXPECT_EQ(http_list({.resource = Lease::resource, .only = kLease.key}).target,
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
            "?fieldSelector=metadata.name%3Dccm");
  EXPECT_EQ(http_list({.resource = Node::resource, .only = {"", "n1"}}).target,
            "/api/v1/nodes?fieldSelector=metadata.name%3Dn1");
}

TEST(client_request, asks_for_a_streaming_list) {
  WatchRequest request{.resource = Node::resource,
                       .resource_version = "",
                       .send_initial_events = true,
                       .timeout = 400s};
  EXPECT_EQ(http_watch(request).target,
            "/api/v1/nodes?watch=true&allowWatchBookmarks=true&resourceVersion=&timeoutSeconds=400"
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
}

TEST(client_request, watches_one_object_from_a_version) {
  WatchRequest request{.resource = Lease::resource, .only = kLease.key, .resource_version = "17"};
  EXPECT_EQ(http_watch(request).target,
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?watch=true"
            "&allowWatchBookmarks=true&resourceVersion=17&timeoutSeconds=300"
            "&fieldSelector=metadata.name%3Dccm");
}

TEST(client_request, patches_a_subresource_with_the_content_type_of_the_patch) {
  const net::Request request =
      http_patch({kNode, "status", {PatchType::strategic_merge, {}, R"({"a":1})"}});
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.target, "/api/v1/nodes/n1/status");
  EXPECT_EQ(request.headers.find("Content-Type"), "application/strategic-merge-patch+json");
  EXPECT_EQ(request.body, R"({"a":1})");
}

TEST(client_request, asks_for_no_more_than_the_metadata_where_that_is_enough) {
  EXPECT_EQ(http_patch({kNode, "", {}}).headers.find("Accept"), "application/json");
  EXPECT_EQ(http_patch({kNode, "", {}, true}).headers.find("Accept"),
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
}

TEST(client_request, puts_what_is_written_whole) {
  const net::Request request = http_patch({kLease, "", {PatchType::whole, {}, R"({"a":1})"}});
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.target, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/ccm");
  EXPECT_EQ(request.headers.find("Content-Type"), "application/json");
}

TEST(client_request, deletes_only_the_uid_that_was_seen) {
  const net::Request request = http_delete({kNode, {"u-1", "9"}});
  EXPECT_EQ(request.method, "DELETE");
  EXPECT_NE(request.body.find(R"("uid":"u-1")"), std::string::npos) << request.body;
}

TEST_F(ClientTest, says_who_it_is_and_what_it_understands) {
  answers(200, R"({"kind":"Node"})");
  EXPECT_EQ(got().message, R"({"kind":"Node"})");
  ASSERT_EQ(wire.sent.size(), 1u);
  EXPECT_EQ(wire.sent[0].headers.find("Authorization"), "Bearer t0ken");
  EXPECT_EQ(wire.sent[0].headers.find("User-Agent"), "isthmus/1 test");
  EXPECT_EQ(wire.sent[0].headers.find("Accept"), "application/json");
}

TEST_F(ClientTest, sends_no_authorization_where_there_is_no_token) {
  tokens.next = Secret();
  answers(200, "{}");
  EXPECT_EQ(got().outcome, Outcome::ok);
  EXPECT_FALSE(wire.sent[0].headers.find("Authorization"));
}

TEST_F(ClientTest, sends_nothing_when_the_token_cannot_be_read) {
  tokens.next = fail(Outcome::denied, "no token");
  EXPECT_EQ(got().outcome, Outcome::denied);
  EXPECT_TRUE(wire.sent.empty());
}

TEST_F(ClientTest, takes_a_404_for_absence_only_if_a_status_says_so_of_the_very_object) {
  answers_status(404, "NotFound", R"({"name":"n1","kind":"nodes"})");
  EXPECT_EQ(got().outcome, Outcome::absent);
  answers_status(404, "NotFound", R"({"name":"n2","kind":"nodes"})");
  EXPECT_EQ(got().outcome, Outcome::lost);
  answers(404, "404 page not found");
  EXPECT_EQ(got().outcome, Outcome::lost);
}

TEST_F(ClientTest, believes_the_code_of_a_proxy_that_asks_to_wait_or_shuts_us_out) {
  const std::pair<int, Outcome> table[] = {
      {401, Outcome::denied}, {403, Outcome::denied}, {429, Outcome::busy}, {502, Outcome::busy},
      {409, Outcome::lost},   {422, Outcome::lost},   {302, Outcome::lost}};
  for (const auto& [code, outcome] : table) {
    wire.answer = net::Response{code, {{"Content-Type", "text/html"}}, "<html>no</html>"};
    EXPECT_EQ(got().outcome, outcome) << code;
  }
}

TEST_F(ClientTest, waits_as_the_server_says_by_header_or_body_but_a_minute_at_most) {
  answers_status(429, "TooManyRequests");
  EXPECT_EQ(got().retry_after, 0s);
  wire.answer->headers.set("Retry-After", "7");
  EXPECT_EQ(got().retry_after, 7s);
  wire.answer->headers.set("Retry-After", "Thu, 01 Jan 2026 00:00:30 GMT");
  EXPECT_EQ(got().retry_after, 30s);
  wire.answer->headers.set("Retry-After", "86400");
  EXPECT_EQ(got().retry_after, 60s);
  answers_status(429, "TooManyRequests", R"({"retryAfterSeconds":3})");
  EXPECT_EQ(got().retry_after, 3s);
}

TEST_F(ClientTest, drops_a_token_that_was_not_accepted) {
  answers_status(401, "Unauthorized");
  EXPECT_EQ(got().outcome, Outcome::denied);
  EXPECT_EQ(tokens.rejections, 1);
  answers_status(403, "Forbidden");
  EXPECT_EQ(got().outcome, Outcome::denied);
  EXPECT_EQ(tokens.rejections, 1);
}

TEST_F(ClientTest, believes_no_answer_that_it_does_not_understand) {
  wire.answer = net::Response{200, {{"Content-Type", "text/html"}}, "<html>Sign in</html>"};
  EXPECT_EQ(got().outcome, Outcome::lost);
  answers(200, R"({"kind":"Node","metad)");
  EXPECT_EQ(got().outcome, Outcome::lost);
  answers(200, "");
  EXPECT_EQ(got().outcome, Outcome::lost);
  wire.answer = net::Response{409, {{"Content-Type", "text/html"}}, "<html>"};
  EXPECT_EQ(got().outcome, Outcome::lost);
}

TEST_F(ClientTest, passes_on_how_an_exchange_failed) {
  wire.answer = fail(Outcome::lost, "connection reset");
  EXPECT_EQ(got().outcome, Outcome::lost);
}

TEST_F(ClientTest, gives_no_call_more_than_thirty_seconds) {
  wire.takes = 1h;
  EXPECT_EQ(got().outcome, Outcome::deadline);
  EXPECT_EQ(world.elapsed(), 30s);
}

TEST_F(ClientTest, measures_every_call) {
  answers(200, "{}");
  got();
  EXPECT_NE(
      metrics.text().find(R"(rest_client_requests_total{code="200",host="h:6443",method="GET"} 1)"),
      std::string::npos);
}

Task<Result<std::vector<std::string>>> read_all(HttpApi& api) {
  std::unique_ptr<WatchStream> stream =
      CO_TRY(co_await api.watch({.resource = Node::resource, .resource_version = "5"}));
  std::vector<std::string> lines;
  for (;;) {
    std::string line = CO_TRY(co_await stream->next());
    if (line.empty()) co_return lines;
    lines.push_back(std::move(line));
  }
}

TEST_F(ClientTest, opens_a_watch_as_a_stream_of_lines) {
  answers(200, "");
  wire.pieces = {"{\"a\":", "1}\n{\"b\":2}\n"};
  Result<std::vector<std::string>> lines = world.run(read_all(api));
  ASSERT_TRUE(lines);
  EXPECT_EQ(*lines, (std::vector<std::string>{R"({"a":1})", R"({"b":2})"}));
}

TEST_F(ClientTest, understands_a_refused_watch) {
  answers(410, "");
  wire.pieces = {R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)",
                 R"("reason":"Expired","message":"too old","code":410})"};
  EXPECT_EQ(world.run(read_all(api)).outcome(), Outcome::conflict);
  wire.answer = net::Response{200, {{"Content-Type", "text/html"}}, {}};
  EXPECT_EQ(world.run(read_all(api)).outcome(), Outcome::lost);
}

TEST_F(ClientTest, answers_a_delete_with_nothing_but_its_success) {
  answers(200, R"({"kind":"Status","status":"Success"})");
  EXPECT_TRUE(world.run(api.remove({kNode, {"u-1", ""}})));
  answers_status(409, "Conflict", R"({"name":"n1","kind":"nodes"})");
  EXPECT_EQ(world.run(api.remove({kNode, {"u-1", ""}})).outcome(), Outcome::conflict);
}

}  // namespace
}  // namespace isthmus::kube
