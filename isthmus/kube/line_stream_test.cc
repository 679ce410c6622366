#include "isthmus/kube/line_stream.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/pieces.h"

namespace isthmus::kube {
namespace {

using Lines = std::vector<std::string>;

Task<Result<Lines>> read_all(std::deque<Result<std::string>> pieces) {
  LineStream stream(std::make_unique<testing::Pieces>(std::move(pieces)));
  Lines lines;
  for (;;) {
    std::string line = CO_TRY(co_await stream.next());
    if (line.empty()) co_return lines;
    lines.push_back(std::move(line));
  }
}

Result<Lines> lines_of(std::deque<Result<std::string>> pieces) {
  VirtualWorld world;
  return world.run(read_all(std::move(pieces)));
}

TEST(line_stream, cuts_a_body_into_lines_however_it_arrives) {
  EXPECT_EQ(lines_of({"{1", "}\n{2}\n\n{", "3}", "\n"}), (Lines{"{1}", "{2}", "{3}"}));
  EXPECT_EQ(lines_of({"{1}\n{2}\n{3}\n"}), (Lines{"{1}", "{2}", "{3}"}));
}

TEST(line_stream, ends_in_order_where_the_body_does) { EXPECT_EQ(lines_of({}), Lines{}); }

TEST(line_stream, is_lost_when_the_body_ends_within_a_line) {
  EXPECT_EQ(lines_of({"{1}\n{2"}).outcome(), Outcome::lost);
}

TEST(line_stream, is_lost_when_the_body_breaks) {
  EXPECT_EQ(lines_of({"{1}\n", fail(Outcome::lost, "reset")}).outcome(), Outcome::lost);
}

TEST(line_stream, is_lost_when_a_line_has_no_end) {
  std::deque<Result<std::string>> endless;
  for (int i = 0; i < 40; ++i) endless.push_back(std::string(256 * 1024, 'x'));
  EXPECT_EQ(lines_of(std::move(endless)).outcome(), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::kube
