#include "isthmus/infra/guarded_writer.h"

#include <utility>

namespace isthmus::infra {

Task<Result<Revision>> GuardedWriter::commit(Revision lock_at, std::vector<Write> writes) {
  // When it was written is for people who look into the store.
  writes.push_back({lock_, rfc3339(clock_.wall_now())});
  std::vector<Condition> conditions{{lock_, lock_at}};
  Result<Revision> written = co_await commit(std::move(conditions), std::move(writes));
  co_return written;
}

Task<Result<Revision>> GuardedWriter::commit(std::vector<Condition> conditions,
                                             std::vector<Write> writes) {
  Result<Revision> written = co_await store_.commit(std::move(conditions), std::move(writes));
  // Other outcomes are about what was written, or our own, and say nothing about the store.
  const bool failed = written.outcome() == Outcome::lost || written.outcome() == Outcome::busy;
  if (written) trouble_.reset();
  if (failed) trouble_ = written.error().message;
  co_return written;
}

}  // namespace isthmus::infra
