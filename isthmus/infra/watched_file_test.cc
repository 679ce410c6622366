#include "isthmus/infra/watched_file.h"

#include <gtest/gtest.h>

#include <deque>

#include "isthmus/base/virtual_world.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

// Answers what it is told to, else ok.
class Told final : public WatchedFile {
 public:
  Told(Files& files, const Clock& clock, Metrics& metrics, Logger& log)
      : WatchedFile(files, "/file",
                    {.metrics = "told", .file = "told file", .kept = "the last good one counts"},
                    clock, metrics, log) {}

  std::deque<Error> answers;
  int loads = 0;

 private:
  Task<Result<>> load_text(std::size_t& mistakes) override {
    ++loads;
    CO_TRY(files().read(path(), 1024));
    if (answers.empty()) co_return Result<>{};
    Error answer = answers.front();
    answers.pop_front();
    if (answer.message.find('\n') != std::string::npos) mistakes = 2;
    co_return std::unexpected(std::move(answer));
  }
  std::string_view refusal() const override { return "told file not loaded"; }
};

class watched_file : public testing::Test {
 protected:
  watched_file() { write("one"); }
  void write(std::string_view text) {
    EXPECT_TRUE(files.write("/file", text, FileMode::world_readable));
  }
  void watch_for(Duration time) {
    EXPECT_EQ(world.run(with_timeout(time, file.keep_loaded())).outcome(), Outcome::deadline);
  }
  double loads(const std::string& result) {
    return metrics
        .counter("told_loads_total", "How often the told file was loaded, by result.",
                 {{"result", result}})
        .value();
  }

  VirtualWorld world;
  MemoryFiles files;
  MemoryLogger log;
  Metrics metrics;
  Told file{files, world.loop, metrics, log};
};

TEST_F(watched_file, is_loaded_when_it_changed_and_then_rested) {
  ASSERT_TRUE(world.run(file.load()));
  watch_for(5s);
  EXPECT_EQ(file.loads, 1) << "nothing has changed";
  write("two");
  watch_for(kFileCheckPeriod + 1ms);
  EXPECT_EQ(file.loads, 1) << "it may still be written";
  watch_for(kFileCheckPeriod + 1ms);
  EXPECT_EQ(file.loads, 2);
  EXPECT_EQ(loads("ok"), 2);
}

TEST_F(watched_file, with_mistakes_waits_for_its_next_change_and_tells_each_of_them) {
  file.answers = {{Outcome::invalid, "line 1: wrong\nline 2: wrong too"}};
  EXPECT_EQ(world.run(file.load()).outcome(), Outcome::invalid);

  EXPECT_EQ(file.trouble(), "2 mistakes, the first: line 1: wrong");
  EXPECT_TRUE(log.mentions("line 1: wrong"));
  EXPECT_TRUE(log.mentions("line 2: wrong too"));
  EXPECT_EQ(loads("refused"), 1);
  watch_for(5s);
  EXPECT_EQ(file.loads, 1);
  write("right");
  watch_for(2s);
  EXPECT_EQ(file.trouble(), std::nullopt);
}

TEST_F(watched_file, is_tried_again_when_the_fault_was_not_its_own) {
  file.answers = {{Outcome::lost, "the store is gone"}, {Outcome::busy, "come back"}};
  watch_for(2 * kFileCheckPeriod + 1ms);
  EXPECT_EQ(file.trouble(), "the store is gone");
  watch_for(2s);
  EXPECT_EQ(file.trouble(), std::nullopt);
  EXPECT_EQ(file.loads, 3);
  EXPECT_EQ(loads("refused"), 2);
}

}  // namespace
}  // namespace isthmus::infra
