#include "isthmus/infra/store/sqlite_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "isthmus/base/signal.h"
#include "isthmus/infra/store/sqlite.h"

namespace isthmus::infra {
namespace {

using sqlite::Database;
using sqlite::Statement;

// Marks the file as ours ("isth"), and the version of the tables in it.
constexpr std::uint32_t kApplicationId = 0x69737468;
constexpr int kSchemaVersion = 1;

// Every value a key ever had since the last compaction; a null value is a deletion.
constexpr const char* kSchema = R"(
  CREATE TABLE entries (
    key TEXT NOT NULL,
    revision INTEGER NOT NULL,
    value TEXT,
    PRIMARY KEY (key, revision)
  ) STRICT;
  CREATE INDEX entries_by_revision ON entries (revision, key);
  CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    revision INTEGER NOT NULL,
    compacted INTEGER NOT NULL CHECK (compacted <= revision)
  ) STRICT;
  INSERT INTO state VALUES (1, 0, 0);
)";

// Steps from key to key, so that it costs what there is and not what there ever was: the history
// holds ten thousand values of a key that every commit writes.
constexpr std::string_view kReadSql = R"(
  WITH RECURSIVE keys (key) AS (
    SELECT * FROM (SELECT key FROM entries WHERE key >= ?1 AND key < ?2 AND key > ?3
                   ORDER BY key LIMIT 1)
    UNION ALL
    SELECT (SELECT key FROM entries WHERE key > keys.key AND key < ?2 ORDER BY key LIMIT 1)
    FROM keys WHERE keys.key IS NOT NULL
  )
  SELECT entry.key, entry.revision, entry.value FROM keys CROSS JOIN entries AS entry
  WHERE entry.key = keys.key AND entry.value IS NOT NULL AND entry.revision =
    (SELECT max(revision) FROM entries WHERE key = keys.key AND revision <= ?4)
  LIMIT ?5
)";
constexpr std::string_view kLatestSql =
    "SELECT revision, value FROM entries WHERE key = ?1 ORDER BY revision DESC LIMIT 1";
constexpr std::string_view kInsertSql =
    "INSERT INTO entries (key, revision, value) VALUES (?1, ?2, ?3)";
constexpr std::string_view kAdvanceSql = "UPDATE state SET revision = ?1";
// Left to itself SQLite walks every key of the prefix, with all its history, and sorts.
constexpr std::string_view kChangesSql = R"(
  SELECT key, revision, value FROM entries INDEXED BY entries_by_revision
  WHERE revision > ?1 AND key >= ?2 AND key < ?3 ORDER BY revision, key
)";
// Only a key that was written between the two compactions can have an older value to forget.
constexpr std::string_view kForgetOldSql = R"(
  DELETE FROM entries WHERE rowid IN (
    SELECT older.rowid FROM entries AS newer
    JOIN entries AS older ON older.key = newer.key AND older.revision < newer.revision
    WHERE newer.revision > ?1 AND newer.revision <= ?2)
)";
constexpr std::string_view kForgetDeletedSql =
    "DELETE FROM entries WHERE value IS NULL AND revision > ?1 AND revision <= ?2";
constexpr std::string_view kCompactedSql = "UPDATE state SET compacted = ?1";

// No UTF-8 text has this byte, so it is greater than every key of the prefix.
std::string end_of(const std::string& prefix) { return prefix + '\xff'; }

Result<> check_identity(Database& database, const std::string& path) {
  std::string application = TRY(database.query("PRAGMA application_id"));
  if (application != std::to_string(kApplicationId)) {
    return fail(Outcome::invalid, fmt::format("{}: an SQLite file of another program; name a file "
                                              "that does not exist yet",
                                              path));
  }
  std::string version = TRY(database.query("PRAGMA user_version"));
  if (version != std::to_string(kSchemaVersion)) {
    return fail(Outcome::invalid,
                fmt::format("{}: written by another version of this program (its tables are of "
                            "version {}, ours of {}); run that version, or restore an older file",
                            path, version, kSchemaVersion));
  }
  std::string damage = TRY(database.query("PRAGMA quick_check(1)"));
  if (damage != "ok") {
    return fail(Outcome::invalid, fmt::format("{}: damaged: {}; restore a copy", path, damage));
  }
  return {};
}

Result<> create_tables(Database& database) {
  return database.execute(fmt::format(
      "BEGIN IMMEDIATE; {} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT", kSchema,
      kApplicationId, kSchemaVersion));
}

// Takes the file for us alone, and makes sure that it is ours.
Result<> prepare_file(Database& database, const std::string& path) {
  TRY(database.execute("PRAGMA locking_mode = EXCLUSIVE"));
  std::string tables = TRY(database.query("SELECT count(*) FROM sqlite_schema"));
  std::string application = TRY(database.query("PRAGMA application_id"));
  bool fresh = tables == "0" && application == "0";
  if (!fresh) TRY(check_identity(database, path));
  TRY(database.query("PRAGMA journal_mode = WAL"));
  TRY(database.execute("PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY"));
  if (fresh) TRY(create_tables(database));
  return database.execute("BEGIN EXCLUSIVE; COMMIT");
}

struct Statements {
  Statement begin, commit, read, latest, insert, advance, changes, forget_old, forget_deleted,
      compacted;
};

Result<Statements> prepare_statements(Database& database) {
  return Statements{
      .begin = TRY(database.prepare("BEGIN IMMEDIATE")),
      .commit = TRY(database.prepare("COMMIT")),
      .read = TRY(database.prepare(kReadSql)),
      .latest = TRY(database.prepare(kLatestSql)),
      .insert = TRY(database.prepare(kInsertSql)),
      .advance = TRY(database.prepare(kAdvanceSql)),
      .changes = TRY(database.prepare(kChangesSql)),
      .forget_old = TRY(database.prepare(kForgetOldSql)),
      .forget_deleted = TRY(database.prepare(kForgetDeletedSql)),
      .compacted = TRY(database.prepare(kCompactedSql)),
  };
}

// Damage that shows while we run is the engine's failure, not a mistake of whoever asked.
template <class T>
Result<T> answered(Result<T> result) {
  if (!result && result.error().outcome == Outcome::invalid) result.error().outcome = Outcome::lost;
  return result;
}

// Reports how long it lived.
class Stopwatch {
 public:
  Stopwatch(const StoreObserver& observer, std::string_view call)
      : observer_(observer), call_(call) {}
  ~Stopwatch() {
    if (observer_) observer_(call_, std::chrono::steady_clock::now() - start_);
  }

 private:
  const StoreObserver& observer_;
  std::string_view call_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A statement left in the middle of its rows would hold the write-ahead log.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(Statement& statement) : statement_(statement) {}
  ~ResetAtEnd() { statement_.reset(); }

 private:
  Statement& statement_;
};

// A statement without parameters and rows.
Result<> run(Statement& statement) {
  ResetAtEnd reset(statement);
  TRY(statement.step());
  return {};
}

Result<> check_limits(const std::vector<Write>& writes) {
  for (const Write& write : writes) {
    if (write.key.empty() || write.key.size() > kKeyBytesMax) {
      return fail(Outcome::invalid, fmt::format("a key of {} bytes; 1 to {} are allowed",
                                                write.key.size(), kKeyBytesMax));
    }
    if (write.value && write.value->size() > kValueBytesMax) {
      return fail(Outcome::invalid, fmt::format("{}: a value of {} bytes; {} are allowed",
                                                write.key, write.value->size(), kValueBytesMax));
    }
  }
  return {};
}

class SqliteStore final : public Store {
 public:
  SqliteStore(Database database, Statements statements, Revision revision, Revision compacted,
              StoreObserver observer)
      : database_(std::move(database)),
        statements_(std::move(statements)),
        revision_(revision),
        compacted_(compacted),
        observer_(std::move(observer)) {}

  Task<Result<Snapshot>> read(Range range) override { co_return answered(read_now(range)); }

  Task<Result<Revision>> commit(std::vector<Condition> conditions,
                                std::vector<Write> writes) override {
    CO_TRY(check_limits(writes));
    Result<Revision> answer = answered(commit_now(conditions, writes));
    if (answer && !writes.empty()) {
      changed_.set();
      changed_.clear();
    }
    co_return answer;
  }

  Task<Result<Changes>> watch(std::string prefix, Revision after, std::size_t limit) override {
    while (revision_ == after) CO_TRY(co_await changed_.wait());
    co_return answered(changes_now(prefix, after, limit));
  }

  Task<Result<>> compact(Revision before) override { co_return answered(compact_now(before)); }

 private:
  Result<Snapshot> read_now(const Range& range);
  Result<Revision> commit_now(const std::vector<Condition>& conditions,
                              const std::vector<Write>& writes);
  Result<Changes> changes_now(const std::string& prefix, Revision after, std::size_t limit);
  Result<> compact_now(Revision before);

  Result<> check_history(Revision revision) const;
  Result<> check_conditions(const std::vector<Condition>& conditions);
  Result<> apply(const std::vector<Write>& writes, Revision revision);
  Result<> forget_until(Revision revision);

  // Runs the change in a transaction; what fails in it, or at its end, leaves nothing behind.
  template <class Change>
  Result<> transact(Change change);

  Database database_;
  Statements statements_;
  Revision revision_;
  Revision compacted_;
  Signal changed_;
  StoreObserver observer_;
};

Result<> SqliteStore::check_history(Revision revision) const {
  if (revision >= compacted_ && revision <= revision_) return {};
  return fail(kRevisionGone, fmt::format("revision {} is not in the history, which reaches from {} "
                                         "to {}",
                                         revision, compacted_, revision_));
}

Result<Snapshot> SqliteStore::read_now(const Range& range) {
  Stopwatch stopwatch(observer_, "read");
  Snapshot snapshot{.entries = {}, .revision = range.at.value_or(revision_)};
  TRY(check_history(snapshot.revision));
  // One row too many tells that there are more; as a signed number SQLite takes -1 for no limit.
  std::uint64_t rows = range.limit == 0 ? ~std::uint64_t{0} : range.limit + 1;
  Statement& statement = statements_.read.with(range.prefix, end_of(range.prefix), range.after,
                                               snapshot.revision, rows);
  ResetAtEnd reset(statement);
  while (TRY(statement.step())) {
    if (range.limit != 0 && snapshot.entries.size() == range.limit) {
      snapshot.more = true;
      break;
    }
    snapshot.entries.push_back({statement.text(0), statement.text(2), statement.integer(1)});
  }
  return snapshot;
}

template <class Change>
Result<> SqliteStore::transact(Change change) {
  TRY(database_.check_place());
  TRY(run(statements_.begin));
  Result<> result = change();
  if (result) result = run(statements_.commit);
  if (!result) {
    // After some errors SQLite has rolled back itself; then this one fails and says nothing new.
    [[maybe_unused]] Result<> rolled_back = database_.execute("ROLLBACK");
  }
  return result;
}

Result<> SqliteStore::check_conditions(const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) {
    Statement& latest = statements_.latest.with(condition.key);
    ResetAtEnd reset(latest);
    bool found = TRY(latest.step()) && latest.optional_text(1).has_value();
    Revision revision = found ? latest.integer(0) : 0;
    if (revision != condition.revision) {
      return fail(Outcome::conflict, fmt::format("{} is at revision {}, not at {}", condition.key,
                                                 revision, condition.revision));
    }
  }
  return {};
}

Result<> SqliteStore::apply(const std::vector<Write>& writes, Revision revision) {
  for (const Write& write : writes) {
    TRY(statements_.insert.with(write.key, revision, write.value).step());
    statements_.insert.reset();
  }
  TRY(statements_.advance.with(revision).step());
  statements_.advance.reset();
  return {};
}

Result<Revision> SqliteStore::commit_now(const std::vector<Condition>& conditions,
                                         const std::vector<Write>& writes) {
  Stopwatch stopwatch(observer_, "commit");
  if (writes.empty()) {
    TRY(check_conditions(conditions));
    return revision_;
  }
  Revision next = revision_ + 1;
  TRY(transact([&]() -> Result<> {
    TRY(check_conditions(conditions));
    return apply(writes, next);
  }));
  revision_ = next;
  return revision_;
}

Result<Changes> SqliteStore::changes_now(const std::string& prefix, Revision after,
                                         std::size_t limit) {
  Stopwatch stopwatch(observer_, "watch");
  TRY(check_history(after));
  Changes changes{.changes = {}, .revision = revision_};
  Statement& statement = statements_.changes.with(after, prefix, end_of(prefix));
  ResetAtEnd reset(statement);
  while (TRY(statement.step())) {
    Change change{statement.text(0), statement.optional_text(2), statement.integer(1)};
    bool whole = !changes.changes.empty() && changes.changes.back().revision != change.revision;
    if (whole && changes.changes.size() >= limit) {
      changes.revision = changes.changes.back().revision;
      break;
    }
    changes.changes.push_back(std::move(change));
  }
  return changes;
}

Result<> SqliteStore::forget_until(Revision revision) {
  TRY(statements_.forget_old.with(compacted_, revision).step());
  statements_.forget_old.reset();
  TRY(statements_.forget_deleted.with(compacted_, revision).step());
  statements_.forget_deleted.reset();
  TRY(statements_.compacted.with(revision).step());
  statements_.compacted.reset();
  return {};
}

Result<> SqliteStore::compact_now(Revision before) {
  Stopwatch stopwatch(observer_, "compact");
  Revision until = std::min(before, revision_);
  if (until <= compacted_) return {};
  TRY(transact([&] { return forget_until(until); }));
  compacted_ = until;
  return {};
}

std::unexpected<Error> explained(const std::string& path, Error error) {
  if (error.outcome == Outcome::busy) {
    return fail(Outcome::busy, fmt::format("{}: another process has it open", path));
  }
  if (error.outcome == Outcome::invalid && !error.message.starts_with(path)) {
    return fail(path, std::move(error));
  }
  return std::unexpected(std::move(error));
}

Result<std::unique_ptr<Store>> open_store(const std::string& path, StoreObserver observer) {
  Database database = TRY(Database::open(path));
  TRY(prepare_file(database, path));
  Statements statements = TRY(prepare_statements(database));
  std::string revision = TRY(database.query("SELECT revision FROM state"));
  std::string compacted = TRY(database.query("SELECT compacted FROM state"));
  return std::make_unique<SqliteStore>(std::move(database), std::move(statements),
                                       std::stoull(revision), std::stoull(compacted),
                                       std::move(observer));
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path, StoreObserver observer) {
  Result<std::unique_ptr<Store>> store = open_store(path, std::move(observer));
  if (!store) return explained(path, std::move(store).error());
  return store;
}

}  // namespace isthmus::infra
