// Where the backend keeps what it must not forget: keys and values with a history, as a door.
//
// The interface is what an embedded single-node engine and a replicated one (etcd) both can do:
// read a snapshot at a revision, change several keys at once if nothing they depend on has changed,
// and learn what changed since. One object is one key. The store has one revision, a number that
// every commit raises by one and every key it touches takes; a new store is at 0.
//
// Errors of every call: lost (the engine failed; of a commit the effect is unknown), busy (come
// back), and cancelled or deadline of the calling scope, which leave no effect behind in the
// embedded engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/base/task.h"

namespace isthmus::infra {

using Revision = std::uint64_t;

struct Entry {
  std::string key;
  std::string value;
  Revision revision = 0;  // Of the commit that wrote it.

  friend bool operator==(const Entry&, const Entry&) = default;
};

// The keys that begin with `prefix`, are greater than `after` (empty: all), in order, at most
// `limit`. `at` is the revision to read at; nullopt means the newest.
struct Range {
  std::string prefix = {};
  std::string after = {};
  std::size_t limit = 0;  // 0: no limit. Only for what is known to be small.
  std::optional<Revision> at = std::nullopt;
};

struct Snapshot {
  std::vector<Entry> entries;
  Revision revision = 0;  // What it was read at.
  bool more = false;      // The limit cut it off.
};

// The key was last written at this revision; 0: it does not exist.
struct Condition {
  std::string key;
  Revision revision = 0;
};

// nullopt deletes the key.
struct Write {
  std::string key;
  std::optional<std::string> value;
};

struct Change {
  std::string key;
  std::optional<std::string> value;  // nullopt: deleted.
  Revision revision = 0;

  friend bool operator==(const Change&, const Change&) = default;
};

// Whole commits only: all changes of the last revision are there. `revision` is how far they reach,
// also where nothing of the prefix changed.
struct Changes {
  std::vector<Change> changes;  // By revision, then key.
  Revision revision = 0;
};

// The history no longer reaches back to the revision that was asked for, or has not got there. A
// caller reads a new snapshot. Named in the interface because it is not an error of the engine:
// read and watch answer it as `absent`.
inline constexpr Outcome kRevisionGone = Outcome::absent;

// Limits of every engine, so that no caller comes to rely on one: etcd refuses requests over 1.5
// MiB.
inline constexpr std::size_t kKeyBytesMax = 512;
inline constexpr std::size_t kValueBytesMax = 512 * 1024;

class Store {
 public:
  virtual ~Store() = default;

  // kRevisionGone: `at` was compacted away, or lies in the future.
  virtual Task<Result<Snapshot>> read(Range range) = 0;

  // All writes take effect as one, or none does, and answers the new revision. A key is written at
  // most once. conflict: a condition does not hold; nothing was written. invalid: a key or value
  // over the limits. A commit without writes only checks its conditions, and answers the revision
  // that stands.
  virtual Task<Result<Revision>> commit(std::vector<Condition> conditions,
                                        std::vector<Write> writes) = 0;

  // Everything of the prefix that was committed after the revision, in whole commits, about
  // `limit` changes at most. Waits while the store is still at that revision. kRevisionGone as
  // above.
  virtual Task<Result<Changes>> watch(std::string prefix, Revision after, std::size_t limit) = 0;

  // Forgets the history before the revision: a read or watch from an earlier one answers
  // kRevisionGone afterwards. What stands at the revision and later is untouched. A revision in the
  // future is taken as the newest, one before the last compaction changes nothing.
  virtual Task<Result<>> compact(Revision before) = 0;
};

}  // namespace isthmus::infra
