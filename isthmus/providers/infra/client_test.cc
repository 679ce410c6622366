#include "isthmus/providers/infra/client.h"

#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::providers::infra {
namespace {

// A server that only looks at who is asking.
struct Doorman final : net::Transport {
  Task<Result<net::Response>> call(net::Request request) override {
    seen.emplace_back(request.headers.find("Authorization").value_or("nobody"));
    co_return net::Response{.status = 503, .headers = {{"Retry-After", "9"}}, .body = {}};
  }
  Task<Result<net::StreamedResponse>> open(net::Request) override {
    co_return fail(Outcome::unsupported, "not here");
  }
  std::vector<std::string> seen;
};

struct client : testing::Test {
  Outcome ask(std::string token_file) {
    Client client(doorman, world.loop, files, std::move(token_file));
    return world.run(client.server_info()).outcome();
  }
  void write(std::string_view token) {
    EXPECT_TRUE(files.write("/token", token, FileMode::owner_only));
  }

  VirtualWorld world;
  MemoryFiles files;
  Doorman doorman;
};

TEST_F(client, sends_its_token_and_reads_it_again_when_the_file_has_changed) {
  write("one\n");
  Client speaker(doorman, world.loop, files, "/token");
  EXPECT_EQ(world.run(speaker.server_info()).outcome(), Outcome::busy);
  write("two");
  const auto answer = world.run(speaker.instances(""));
  EXPECT_EQ(answer.error().retry_after, std::chrono::seconds(9));
  EXPECT_EQ(doorman.seen, (std::vector<std::string>{"Bearer one", "Bearer two"}));
}

TEST_F(client, sends_no_token_when_it_has_none) {
  EXPECT_EQ(ask(""), Outcome::busy);
  EXPECT_EQ(doorman.seen, std::vector<std::string>{"nobody"});
}

TEST_F(client, sends_nothing_without_the_token_it_should_have) {
  EXPECT_EQ(ask("/token"), Outcome::denied);
  write("\n");
  EXPECT_EQ(ask("/token"), Outcome::denied);
  EXPECT_TRUE(doorman.seen.empty());
}

}  // namespace
}  // namespace isthmus::providers::infra
