#include "isthmus/providers/infra/watch_stream.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/net/pieces_testing.h"

namespace isthmus::providers::infra {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

struct Reader final : WatchReader {
  explicit Reader(Moment due_at) : due_at_(due_at) {}
  Result<> take(std::string_view line, Moment) override {
    if (line == "bad") return fail(Outcome::lost, "bad line");
    lines.emplace_back(line);
    return {};
  }
  std::optional<Moment> due() const override { return due_at_; }
  void on_due() override {
    due_at_.reset();
    lines.emplace_back("due");
  }
  std::vector<std::string> lines;

 private:
  std::optional<Moment> due_at_;
};

struct watch_stream : testing::Test {
  Result<> read(Reader& reader, std::deque<Result<std::string>> pieces) {
    net::LineReader lines(std::make_unique<net::testing::Pieces>(std::move(pieces)), 1000);
    return world.run(read_watch(lines, reader));
  }
  VirtualWorld world;
};

TEST_F(watch_stream, hands_over_lines_until_the_stream_ends) {
  Reader reader(Moment::max());
  const Result<> end = read(reader, {std::string("a\nb\n"), std::string()});
  EXPECT_EQ(end.error(), (Error{Outcome::lost, "the watch has ended"}));
  EXPECT_THAT(reader.lines, ElementsAre("a", "b"));
}

TEST_F(watch_stream, ends_with_what_the_reader_or_the_transport_says) {
  Reader reader(Moment::max());
  EXPECT_EQ(read(reader, {std::string("a\nbad\nc\n")}).error().message, "bad line");
  EXPECT_THAT(reader.lines, ElementsAre("a"));
  EXPECT_EQ(read(reader, {fail(Outcome::lost, "cut")}).error().message, "cut");
}

TEST_F(watch_stream, calls_the_reader_when_it_is_due) {
  Reader reader(world.loop.now());
  EXPECT_FALSE(read(reader, {std::string("a\n"), std::string()}));
  EXPECT_THAT(reader.lines, ElementsAre("due", "a"));
}

}  // namespace
}  // namespace isthmus::providers::infra
