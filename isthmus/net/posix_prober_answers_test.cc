// However an answer is cut into pieces, and whatever it is, it is judged the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/base/random.h"
#include "isthmus/net/probe_answer_impl.h"

namespace isthmus::net {
namespace {

const std::vector<std::string>& answers() {
  static const std::vector<std::string> kAnswers = {
      "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell",
      "HTTP/1.1 204 No Content\r\n\r\n",
      "HTTP/1.0 200 OK\r\nServer: x\r\n\r\nuntil the end",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4;x=y\r\nwell\r\n3\r\nyes\r\n0\r\nX: y\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 302 Found\r\n\r\n",
      "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy",
      "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\nwell",
      "SSH-2.0-OpenSSH_9.2p1\r\n\r\n",
      "",
  };
  return kAnswers;
}

// What is said of it when the peer closes behind it.
template <class Cut>
Result<> judge(std::string_view text, Cut bytes_of_next_piece) {
  ProbeAnswer answer;
  while (!text.empty()) {
    const std::size_t bytes = std::min<std::size_t>(bytes_of_next_piece(), text.size());
    if (std::optional<Result<>> verdict = answer.feed(text.substr(0, bytes))) return *verdict;
    text.remove_prefix(bytes);
  }
  return answer.end();
}

Result<> judge_whole(std::string_view text) {
  return judge(text, [] { return std::string_view::npos; });
}

TEST(posix_prober_answers, are_judged_the_same_however_they_are_cut) {
  for (const std::string& text : answers()) {
    const Result<> whole = judge_whole(text);
    EXPECT_EQ(judge(text, [] { return 1; }), whole) << text;
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      std::size_t piece = cut;
      EXPECT_EQ(judge(text, [&] { return std::exchange(piece, text.size()); }), whole)
          << text << " cut at " << cut;
    }
  }
}

TEST(posix_prober_answers, are_incomplete_at_every_earlier_end) {
  const std::string& chunked = answers()[3];
  EXPECT_TRUE(judge_whole(chunked));
  for (std::size_t end = 0; end < chunked.size(); ++end) {
    EXPECT_FALSE(judge_whole(std::string_view(chunked).substr(0, end))) << end;
  }
}

TEST(posix_prober_answers, that_were_damaged_end_in_a_verdict_all_the_same) {
  constexpr std::uint64_t kSeed = 20261130;
  SCOPED_TRACE(kSeed);
  SeededRandom random(kSeed);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = answers()[random.below(answers().size() - 1)];
    for (std::uint64_t damage = random.below(4); damage > 0; --damage) {
      text[random.below(text.size())] = static_cast<char>(random.next());
    }
    const Result<> whole = judge_whole(text);
    EXPECT_TRUE(whole || whole.outcome() == Outcome::lost);
    EXPECT_EQ(judge(text, [&] { return 1 + random.below(8); }).outcome(), whole.outcome()) << text;
  }
}

}  // namespace
}  // namespace isthmus::net
