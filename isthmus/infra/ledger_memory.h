// Reading the ledger: everything at one revision of the store, and what the store's changes make of
// it.
#pragma once

#include <memory>
#include <optional>

#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/ledger_records.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

// The memory of the newest snapshot. The store outlives it. Errors are the store's, and lost for a
// damaged record or one of a newer version, naming its key.
class LedgerMemory {
 public:
  using Snapshot = std::shared_ptr<const LedgerSnapshot>;

  explicit LedgerMemory(Store& store) : store_(store) {}

  // At least what stood when it was called; equal revisions are the same snapshot. What was handed
  // out stays as it was (record_map.h).
  Task<Result<Snapshot>> latest();

  // As it stood then; nullopt: as latest(). kRevisionGone when the history does not reach there.
  Task<Result<Snapshot>> at(std::optional<Revision> revision);

  // What latest() last answered; nullptr before the first time. Good until the next await.
  const LedgerSnapshot* remembered() const { return newest_ ? &*newest_ : nullptr; }

 private:
  Task<Result<LedgerSnapshot>> read_all(std::optional<Revision> revision);
  Task<Result<>> read_pages(std::string prefix, LedgerSnapshot& snapshot);
  Task<Result<>> catch_up();

  Store& store_;
  std::optional<LedgerSnapshot> newest_;
  Snapshot published_;  // A copy of `newest_`; nullptr where nobody asked since it changed.
  Snapshot older_;      // What at() last read: the pages of one list ask for one revision.
};

}  // namespace isthmus::infra
