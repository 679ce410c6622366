#include "isthmus/providers/make.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::providers {
namespace {

using testing::HasSubstr;

struct Nowhere final : net::Transport {
  Task<Result<net::Response>> call(net::Request) override { co_return fail(Outcome::lost, ""); }
  Task<Result<net::StreamedResponse>> open(net::Request) override {
    co_return fail(Outcome::lost, "");
  }
};

struct make_provider_ : testing::Test {
  std::string mistake(std::string_view name, const std::string& path) {
    const Result<Made> made = make_provider(name, path, doors);
    EXPECT_EQ(made.outcome(), Outcome::invalid);
    return made ? "" : made.error().message;
  }
  void write(const std::string& path, std::string_view text) {
    EXPECT_TRUE(files.write(path, text, FileMode::world_readable));
  }

  VirtualWorld world;
  MemoryFiles files;
  std::string connected_to;
  Doors doors{world.loop, files,
              [this](net::Endpoint endpoint) -> Result<std::unique_ptr<net::Transport>> {
                connected_to = endpoint.url;
                return std::make_unique<Nowhere>();
              }};
};

TEST_F(make_provider_, names_the_providers_there_are) {
  EXPECT_THAT(mistake("gce", "/c"), HasSubstr("\"gce\" is not one of isthmus"));
}

TEST_F(make_provider_, needs_a_configuration) {
  EXPECT_THAT(mistake("isthmus", ""), HasSubstr("--cloud-config is missing"));
  EXPECT_THAT(mistake("isthmus", "/nowhere"), HasSubstr("/nowhere"));
}

TEST_F(make_provider_, names_every_file_that_cannot_be_read) {
  write("/c", "url: https://lb1:1\ncaFile: /ca\ntokenFile: /token");
  const std::string text = mistake("isthmus", "/c");
  EXPECT_THAT(text, HasSubstr("/c: line 2: caFile: "));
  EXPECT_THAT(text, HasSubstr("/c: line 3: tokenFile: "));
}

TEST_F(make_provider_, names_the_mistakes_of_a_configuration_together_with_those_of_its_files) {
  write("/c", "url: https://lb1:1\nowner: a/b\ncaFile: /ca\ntokenFile: /token\nregion: x");
  const std::string text = mistake("isthmus", "/c");
  EXPECT_THAT(text, HasSubstr("/c: line 2: owner: "));
  EXPECT_THAT(text, HasSubstr("/c: line 3: caFile: "));
  EXPECT_THAT(text, HasSubstr("/c: line 4: tokenFile: "));
  EXPECT_THAT(text, HasSubstr("/c: line 5: \"region\" is not one of"));
}

TEST_F(make_provider_, refuses_a_certificate_file_without_a_certificate) {
  write("/c", "url: https://lb1:1\ncaFile: /ca");
  write("/ca", "hello");
  EXPECT_THAT(mistake("isthmus", "/c"), HasSubstr("/c: line 2: caFile: /ca: "));
}

TEST_F(make_provider_, builds_what_the_configuration_says) {
  write("/c", "url: unix:///run/infra.sock");
  const Result<Made> made = make_provider("isthmus", "/c", doors);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->provider->scheme(), "isthmus");
  EXPECT_EQ(connected_to, "unix:///run/infra.sock");
}

}  // namespace
}  // namespace isthmus::providers
