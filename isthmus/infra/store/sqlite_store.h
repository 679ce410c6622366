// The embedded store: one SQLite file, for one box, and in memory for tests.
//
// A commit is on the disk when it answers (WAL, synchronous FULL: 0.3 ms where measured), because a
// machine once said to be gone must stay gone after a crash. Calls block the loop for that long and
// each is reported to the observer, so that the stall can be seen. The file belongs to one process
// at a time: a second one is refused. Where the file was removed or replaced beneath us, nothing
// more is taken (lost): it would be gone after a restart.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

// What a call did ("read", "commit", "watch", "compact") and how long it held the loop up.
using StoreObserver = std::function<void(std::string_view call, Duration took)>;

// Opens the file, or makes it (mode 0600, its folder must exist); ":memory:" lives as long as the
// store. Everything committed before, by a process that ended or was killed, is there.
//
// invalid, with a sentence naming the file and what to do: it is no SQLite file, not one of ours,
// damaged, or written by a newer version of this program. busy: another process has it open. lost:
// the system refused (no such folder, no permission, disk full). Nothing is changed in these cases.
Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path,
                                                 StoreObserver observer = {});

}  // namespace isthmus::infra
