// Our own backend in the process of a test, on a host that is only imagined, and the way to it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/base/channel.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/host_testing.h"
#include "isthmus/infra/http_testing.h"
#include "isthmus/infra/reconciler_testing.h"
#include "isthmus/infra/server.h"
#include "isthmus/net/transport.h"
#include "isthmus/providers/infra/provider.h"

namespace isthmus::providers::infra::testing {

namespace backend = isthmus::infra;

// A streamed answer on its way from a handler to its reader, who leaves by destroying it.
class Pipe final : public net::BodyStream, private net::ResponseWriter {
 public:
  Pipe(Loop& loop, net::HttpHandler& handler, net::Request request) : scope_(loop) {
    scope_.spawn(serve, std::ref(handler), std::move(request), std::ref(*this));
  }

  // Until status and headers are there.
  Task<Result<>> answered() {
    CO_TRY(co_await begun_.wait());
    co_return Result<>{};
  }
  Task<Result<std::string>> next() override {
    std::optional<std::string> piece = CO_TRY(co_await pieces_.receive());
    co_return std::move(piece).value_or("");
  }

  int status = 0;
  net::Headers headers;

 private:
  static Task<Result<>> serve(net::HttpHandler& handler, net::Request request, Pipe& pipe) {
    const net::Peer peer{.address = "unix", .is_local = true};
    Result<> served = co_await handler.serve(std::move(request), peer, pipe);
    pipe.pieces_.close();
    pipe.begun_.set();
    co_return served;
  }
  Task<Result<>> respond(net::Response response) override {
    CO_TRY(co_await begin(response.status, std::move(response.headers)));
    CO_TRY(co_await chunk(std::move(response.body)));
    co_return Result<>{};
  }
  Task<Result<>> begin(int answered_status, net::Headers answered_headers) override {
    status = answered_status;
    headers = std::move(answered_headers);
    begun_.set();
    co_return Result<>{};
  }
  Task<Result<>> chunk(std::string bytes) override {
    CO_TRY(co_await pieces_.send(std::move(bytes)));
    co_return Result<>{};
  }
  Task<Result<>> finish() override { co_return Result<>{}; }
  Task<Result<>> closed() override {
    CO_TRY(co_await left_.wait());
    co_return fail(Outcome::lost, "the client left");
  }

  Signal begun_;
  Signal left_;  // Never: a reader that leaves takes the handler with it.
  Channel<std::string> pieces_{16};
  Scope scope_;
};

// Hands requests to a handler, as a server on a unix socket would.
class InProcess final : public net::Transport {
 public:
  InProcess(Loop& loop, net::HttpHandler& handler) : loop_(loop), handler_(handler) {}

  Task<Result<net::Response>> call(net::Request request) override {
    backend::RecordingWriter writer;
    const net::Peer peer{.address = "unix", .is_local = true};
    CO_TRY(co_await handler_.serve(std::move(request), peer, writer));
    co_return std::move(writer.response);
  }
  Task<Result<net::StreamedResponse>> open(net::Request request) override {
    auto pipe = std::make_unique<Pipe>(loop_, handler_, std::move(request));
    CO_TRY(co_await pipe->answered());
    net::StreamedResponse response{
        .status = pipe->status, .headers = pipe->headers, .body = nullptr};
    response.body = std::move(pipe);
    co_return std::move(response);
  }

 private:
  Loop& loop_;
  net::HttpHandler& handler_;
};

// The backend with the owners "prod" and "test", whose tokens are in files of their names.
class BackendFixture : public ::testing::Test {
 protected:
  // `host` is what its configuration says of host and pools; empty: it has none.
  explicit BackendFixture(std::string_view host) {
    write("/prod", "owner-token");
    write("/test", "test-token");
    write("/admin", "admin-token");
    write("/inventory", "instances: []");
    write("/proc/sys/net/ipv4/ip_forward", "1\n");
    write("/proc/sys/net/ipv6/conf/all/forwarding", "1\n");
    const std::string text = std::string(host.empty() ? kOwners : kRoutingOwners) +
                             std::string(kSurroundings) + std::string(host);
    write("/config", text);
    Mistakes mistakes;
    const backend::Config config = backend::parse_config(text, "/config", mistakes);
    EXPECT_TRUE(mistakes.empty()) << mistakes.text();
    auto opened = backend::open_server(
        config, "/config", {world.loop, random, files, metrics, log, &host_doors}, "1.2");
    EXPECT_TRUE(opened) << opened.error().message;
    server = *std::move(opened);
    EXPECT_TRUE(world.run(server->start()));
  }

  static constexpr std::string_view kSurroundings = R"(
listen: ["unix:/s"]
store: {sqlite: ":memory:"}
inventory: /inventory
adminTokenFile: /admin
)";
  static constexpr std::string_view kOwners = R"(
owners: [{name: prod, tokenFile: /prod}, {name: test, tokenFile: /test}]
)";

  // Where there is a host that can: each may have routes where the conformance test makes them.
  static constexpr std::string_view kRoutingOwners = R"(
owners:
- {name: prod, tokenFile: /prod, routes: {destinations: [203.0.113.0/24, "2001:db8:fffe::/48"]}}
- {name: test, tokenFile: /test, routes: {destinations: [203.0.113.0/24, "2001:db8:fffe::/48"]}}
)";

  // Four addresses, 10.0.0.100 to 10.0.0.103.
  static constexpr std::string_view kHost = R"(
host: {name: lb1, driver: nft}
pools: [{name: public, ranges: [10.0.0.100/30], interface: eth0}]
)";

  std::unique_ptr<InfraProvider> provider_of(std::string token_file, std::string owner = "") {
    return std::make_unique<InfraProvider>(
        std::make_unique<InProcess>(world.loop, server->handler()), world.loop, files,
        Identity{.token_file = std::move(token_file), .owner = std::move(owner)});
  }
  void write(const std::string& path, std::string_view text) {
    EXPECT_TRUE(files.write(path, text, FileMode::owner_only));
  }

  VirtualWorld world;
  backend::testing::FakeKernel kernel;
  backend::testing::FakeProber prober;
  const backend::HostDoors host_doors{prober, 16,
                                      [this]() -> Result<std::unique_ptr<backend::Host>> {
                                        return std::make_unique<backend::testing::FakeHost>(kernel);
                                      }};
  MemoryFiles files;
  MemoryLogger log;
  Metrics metrics;
  SeededRandom random{1};
  std::unique_ptr<backend::Server> server;
};

}  // namespace isthmus::providers::infra::testing
