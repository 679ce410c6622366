// A store that fails on request, and tells what is asked of it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

// The store behind it outlives it.
class FaultyStore final : public Store {
 public:
  explicit FaultyStore(Store& next) : next_(next) {}

  Task<Result<Snapshot>> read(Range range) override {
    if (read_failure) co_return std::unexpected(*read_failure);
    Result<Snapshot> answer = co_await next_.read(std::move(range));
    co_return answer;
  }

  Task<Result<Revision>> commit(std::vector<Condition> conditions,
                                std::vector<Write> writes) override {
    if (writes.empty()) {
      // Only asks for the revision.
      if (read_failure) co_return std::unexpected(*read_failure);
      Result<Revision> revision = co_await next_.commit(std::move(conditions), {});
      co_return revision;
    }
    ++commits;
    // What somebody else does between the plan and its commit.
    if (before_commit) std::exchange(before_commit, {})();
    if (commit_failure) co_return std::unexpected(*commit_failure);
    Result<Revision> answer = co_await next_.commit(std::move(conditions), std::move(writes));
    // Done, and nobody is told.
    if (lost_answer) co_return std::unexpected(*lost_answer);
    co_return answer;
  }

  Task<Result<Changes>> watch(std::string prefix, Revision after, std::size_t limit) override {
    Result<Changes> answer = co_await next_.watch(std::move(prefix), after, limit);
    co_return answer;
  }

  Task<Result<>> compact(Revision before) override {
    Result<> answer = co_await next_.compact(before);
    co_return answer;
  }

  std::size_t commits = 0;
  std::function<void()> before_commit;
  std::optional<Error> read_failure;
  std::optional<Error> commit_failure;
  std::optional<Error> lost_answer;

 private:
  Store& next_;
};

}  // namespace isthmus::infra
