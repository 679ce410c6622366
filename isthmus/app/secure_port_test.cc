#include "isthmus/app/secure_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "isthmus/app/reviews_testing.h"
#include "isthmus/net/authority_testing.h"
#include "isthmus/net/talk_testing.h"
#include "isthmus/net/temporary_directory_testing.h"

namespace isthmus::app {
namespace {

using testing::HasSubstr;

constexpr std::filesystem::perms kOwnerOnly =
    std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;

// The reviews over HTTP, as an API server answers them.
class ReviewServer final : public net::HttpHandler {
 public:
  Task<Result<>> serve(net::Request request, net::Peer, net::ResponseWriter& writer) override {
    const bool is_token = request.target.ends_with("tokenreviews");
    kube::CreateRequest create{
        {is_token ? kube::TokenReview::resource : kube::SubjectAccessReview::resource, {}},
        request.body};
    std::string answer = CO_TRY(co_await reviews.create(std::move(create)));
    net::Response response{.status = 201,
                           .headers = {{"Content-Type", "application/json"}},
                           .body = std::move(answer)};
    co_return co_await writer.respond(std::move(response));
  }

  FakeReviews reviews;
};

class SecurePortTest : public testing::Test {
 protected:
  SecurePortTest() {
    api_handler.reviews.users["good"] = "prometheus";
    api_handler.reviews.allowed = {"prometheus get /metrics"};
    setup.address = net::parse_listen_address("https://127.0.0.1:0").value();
    setup.certificate.names = {"127.0.0.1"};
    setup.certificate.pair = new_pair(setup.certificate.names, world.loop().wall_now()).value();
    setup.token_ttl = std::chrono::seconds(10);
  }

  void trust_certificates() {
    setup.client_ca_file = "ca.crt";
    setup.client_ca = net::ClientAuthorities::parse(authority.pem()).value();
    setup.policy.asks_for_certificate = true;
  }

  struct Caller {
    std::string path = "/metrics";
    std::string token = {};
    std::optional<net::IssuedCertificate> certificate = {};
  };
  net::Response ask(const Caller& caller) {
    const auto api = listen_api();
    if (looks_callers_up) {
      setup.authentication = {.server = "http://127.0.0.1:" + std::to_string(api->port())};
      setup.authorization = setup.authentication;
    }
    EndpointSources sources{.checks = {},
                            .config = [] { return std::string("{}"); },
                            .process_start = [] { return 1000.0; }};
    auto port = SecurePort::open(world, setup, std::move(sources), metrics, log).value();
    net::ClientTls tls{.ca_pem = certificate_to_trust()};
    if (caller.certificate) {
      tls.certificate_pem = caller.certificate->pem;
      tls.private_key_pem = caller.certificate->key_pem;
    }
    const std::string url = "https://127.0.0.1:" + std::to_string(port->port());
    const auto client =
        net::make_curl_transport(world, {.url = url, .tls = tls, .proxy = ""}).value();
    net::Request request{.target = caller.path};
    if (!caller.token.empty()) request.headers.set("Authorization", "Bearer " + caller.token);
    Result<net::Response> answer =
        net::run_in(world, net::beside(serve_both(*port, *api), client->call(std::move(request))));
    EXPECT_TRUE(answer.has_value());
    return answer.value_or(net::Response{});
  }
  // As somebody takes it who has the file, or else what was made.
  std::string certificate_to_trust() {
    const CertificateFiles& paths = setup.certificate.files;
    return paths.empty() ? setup.certificate.pair.tls.certificate_pem : read(paths.certificate);
  }
  std::string read(const std::string& path) { return world.files().read(path, 10'000).value(); }
  static std::filesystem::perms mode_of(const std::string& path) {
    return std::filesystem::status(path).permissions();
  }
  void make_in(const net::TemporaryDirectory& directory) {
    setup.certificate.files = {directory.path("ccm.crt"), directory.path("ccm.key")};
    setup.certificate.is_made_there = true;
  }
  std::unique_ptr<net::HttpServer> listen_api() {
    return net::listen(world, net::parse_listen_address("http://127.0.0.1:0").value(), std::nullopt,
                       api_handler, log)
        .value();
  }
  static Task<Result<>> serve_both(SecurePort& port, net::HttpServer& api) {
    Scope& here = co_await current_scope();
    Scope both(here);
    both.spawn(&SecurePort::run, &port);
    both.spawn(&net::HttpServer::run, &api);
    Result<> ended = co_await both.join();
    co_return ended;
  }

  net::PosixWorld world;
  Metrics metrics;
  MemoryLogger log;
  ReviewServer api_handler;
  const net::TestAuthority authority{world.loop().wall_now()};
  bool looks_callers_up = false;
  ServingSetup setup;
};

TEST_F(SecurePortTest, a_token_that_the_api_server_knows_reads_the_metrics) {
  looks_callers_up = true;
  const net::Response response = ask({.token = "good"});
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr("isthmus_loop_lag_seconds_bucket"));
}

TEST_F(SecurePortTest, nobody_else_does_and_everybody_may_probe) {
  looks_callers_up = true;
  EXPECT_EQ(ask({.token = "wrong"}).status, 401);
  EXPECT_EQ(ask({}).status, 403);
  EXPECT_EQ(ask({.path = "/livez"}).body, "ok");
  EXPECT_THAT(ask({.path = "/livez?verbose"}).body, HasSubstr("[+]event-loop ok"));
}

TEST_F(SecurePortTest, a_client_certificate_is_enough_for_masters) {
  trust_certificates();
  const auto admin = authority.issue({.common_name = "admin", .organizations = {"system:masters"}});
  EXPECT_EQ(ask({.certificate = admin}).status, 200);

  const net::TestAuthority other(world.loop().wall_now());
  const auto forged = other.issue({.common_name = "admin", .organizations = {"system:masters"}});
  EXPECT_EQ(ask({.certificate = forged}).status, 401);
}

TEST_F(SecurePortTest, without_anybody_to_ask_this_machine_may) {
  EXPECT_EQ(ask({}).status, 200);
  EXPECT_TRUE(log.mentions("of this machine"));
}

TEST_F(SecurePortTest, an_address_in_use_is_an_error_before_anything_is_served) {
  const auto api = listen_api();
  setup.address.port = api->port();
  const auto port = SecurePort::open(world, setup, {}, metrics, log);
  EXPECT_EQ(port.outcome(), Outcome::conflict);
}

TEST_F(SecurePortTest, a_pair_made_for_a_directory_is_written_there) {
  const net::TemporaryDirectory directory;
  make_in(directory);
  EXPECT_EQ(ask({.path = "/livez"}).status, 200);
  EXPECT_EQ(read(setup.certificate.files.certificate), setup.certificate.pair.tls.certificate_pem);
  EXPECT_EQ(read(setup.certificate.files.private_key),
            setup.certificate.pair.tls.private_key_pem.reveal());
  EXPECT_EQ(mode_of(setup.certificate.files.private_key), kOwnerOnly);
}

TEST_F(SecurePortTest,
       a_pair_of_ours_that_ended_while_we_were_away_is_renewed_before_anybody_asks) {
  const net::TemporaryDirectory directory;
  make_in(directory);
  const CertificateFiles& paths = setup.certificate.files;
  const WallTime then = world.loop().wall_now() - std::chrono::days(400);
  const ServingPair old = new_pair(setup.certificate.names, then).value();
  EXPECT_TRUE(write_pair(world.files(), paths, old.tls));
  setup.certificate.pair = load_pair(world.files(), paths).value();

  EXPECT_EQ(ask({.path = "/livez"}).status, 200);

  EXPECT_NE(read(paths.certificate), old.tls.certificate_pem);
  EXPECT_TRUE(load_pair(world.files(), paths));
  EXPECT_EQ(mode_of(paths.private_key), kOwnerOnly);
}

TEST_F(SecurePortTest, a_directory_that_is_not_there_is_an_error_that_names_the_flag) {
  const net::TemporaryDirectory directory;
  make_in(directory);
  setup.certificate.files = {directory.path("none/ccm.crt"), directory.path("none/ccm.key")};
  const auto port = SecurePort::open(world, setup, {}, metrics, log);
  ASSERT_EQ(port.outcome(), Outcome::absent);
  EXPECT_THAT(port.error().message, testing::StartsWith("--cert-dir: "));
}

}  // namespace
}  // namespace isthmus::app
