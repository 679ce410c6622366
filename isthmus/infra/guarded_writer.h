// Commits that take effect only if nothing has changed since they were planned.
//
// Everything of one kind (machines, load balancers with all that belongs to them) is guarded by one
// key, its lock, which every change rewrites on the condition that it stands as it did when the
// change was planned. Whoever gets `conflict` plans again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

// A writer that lost the race this often is told to come back.
inline constexpr int kAttemptsMax = 5;

// The store and the clock outlive it. Errors are the store's.
class GuardedWriter {
 public:
  GuardedWriter(Store& store, const Clock& clock, std::string_view lock)
      : store_(store), clock_(clock), lock_(lock) {}

  // All writes and the lock, if the lock still is at that revision (0: it was never written).
  Task<Result<Revision>> commit(Revision lock_at, std::vector<Write> writes);

  // All writes, under conditions of the caller's own.
  Task<Result<Revision>> commit(std::vector<Condition> conditions, std::vector<Write> writes);

  // Why the store did not take the last write, in one line; nullopt while it takes them. A store on
  // a full disk answers every read and no write.
  const std::optional<std::string>& trouble() const { return trouble_; }

 private:
  Store& store_;
  const Clock& clock_;
  const std::string lock_;
  std::optional<std::string> trouble_;
};

}  // namespace isthmus::infra
