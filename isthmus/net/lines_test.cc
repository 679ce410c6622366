#include "isthmus/net/lines.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/net/pieces_testing.h"

namespace isthmus::net {
namespace {

using Lines = std::vector<std::string>;

Task<Result<Lines>> read_all(std::deque<Result<std::string>> pieces) {
  LineReader reader(std::make_unique<testing::Pieces>(std::move(pieces)), 1024);
  Lines lines;
  for (;;) {
    std::string line = CO_TRY(co_await reader.next());
    if (line.empty()) co_return lines;
    lines.push_back(std::move(line));
  }
}

Result<Lines> lines_of(std::deque<Result<std::string>> pieces) {
  VirtualWorld world;
  return world.run(read_all(std::move(pieces)));
}

TEST(lines, are_cut_out_of_a_body_however_it_arrives) {
  EXPECT_EQ(lines_of({"{1", "}\n{2}\n\n{", "3}", "\n"}), (Lines{"{1}", "{2}", "{3}"}));
  EXPECT_EQ(lines_of({"{1}\n{2}\n{3}\n"}), (Lines{"{1}", "{2}", "{3}"}));
}

TEST(lines, are_read_on_after_a_wait_that_was_given_up) {
  VirtualWorld world;
  LineReader reader(std::make_unique<testing::Pieces>(std::deque<Result<std::string>>{
                        "{1", fail(Outcome::deadline, "quiet"), "}\n"}),
                    1024);
  EXPECT_EQ(world.run(reader.next()).outcome(), Outcome::deadline);
  EXPECT_EQ(world.run(reader.next()), "{1}");
}

TEST(lines, end_in_order_where_the_body_does) { EXPECT_EQ(lines_of({}), Lines{}); }

TEST(lines, are_lost_when_the_body_ends_within_a_line) {
  EXPECT_EQ(lines_of({"{1}\n{2"}).outcome(), Outcome::lost);
}

TEST(lines, are_lost_when_the_body_breaks) {
  EXPECT_EQ(lines_of({"{1}\n", fail(Outcome::lost, "reset")}).outcome(), Outcome::lost);
}

TEST(lines, are_lost_when_one_has_no_end) {
  std::deque<Result<std::string>> endless;
  for (int i = 0; i < 40; ++i) endless.push_back(std::string(256, 'x'));
  EXPECT_EQ(lines_of(std::move(endless)).outcome(), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::net
