#include "isthmus/providers/infra/authorized_transport.h"

#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::providers::infra {
namespace {

// A server that only looks at who is asking.
struct Doorman final : net::Transport {
  explicit Doorman(std::vector<std::string>& seen_) : seen(seen_) {}
  Task<Result<net::Response>> call(net::Request request) override {
    seen.emplace_back(request.headers.find("Authorization").value_or("nobody"));
    co_return net::Response{.status = 200, .headers = {}, .body = {}};
  }
  Task<Result<net::StreamedResponse>> open(net::Request request) override {
    seen.emplace_back(request.headers.find("Authorization").value_or("nobody"));
    co_return net::StreamedResponse{.status = 200, .headers = {}, .body = nullptr};
  }
  std::vector<std::string>& seen;
};

struct authorized_transport : testing::Test {
  AuthorizedTransport with(std::string token_file) {
    return {std::make_unique<Doorman>(seen), files, std::move(token_file)};
  }
  void write(std::string_view token) {
    EXPECT_TRUE(files.write("/token", token, FileMode::owner_only));
  }

  VirtualWorld world;
  MemoryFiles files;
  std::vector<std::string> seen;
};

TEST_F(authorized_transport, sends_its_token_and_reads_it_again_when_the_file_has_changed) {
  write("one\n");
  AuthorizedTransport transport = with("/token");
  EXPECT_TRUE(world.run(transport.call({})));
  write("\n two\nthree\n");
  EXPECT_TRUE(world.run(transport.call({})));
  EXPECT_TRUE(world.run(transport.open({})));
  EXPECT_EQ(seen, (std::vector<std::string>{"Bearer one", "Bearer two", "Bearer two"}));
}

TEST_F(authorized_transport, sends_no_token_when_it_has_none) {
  AuthorizedTransport transport = with("");
  EXPECT_TRUE(world.run(transport.call({})));
  EXPECT_EQ(seen, std::vector<std::string>{"nobody"});
}

TEST_F(authorized_transport, sends_nothing_without_the_token_it_should_have) {
  AuthorizedTransport transport = with("/token");
  EXPECT_EQ(world.run(transport.call({})).outcome(), Outcome::denied);
  write("\n");
  EXPECT_EQ(world.run(transport.call({})).outcome(), Outcome::denied);
  EXPECT_EQ(world.run(transport.open({})).outcome(), Outcome::denied);
  EXPECT_TRUE(seen.empty());
}

}  // namespace
}  // namespace isthmus::providers::infra
