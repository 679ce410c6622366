#include "isthmus/infra/store/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

namespace isthmus::infra::sqlite {
namespace {

Outcome outcome_of(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Outcome::busy;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return Outcome::invalid;
    default:
      return Outcome::lost;
  }
}

// What SQLite says of it, and what helps where nothing else does.
std::string text_of(sqlite3* handle, int code) {
  std::string_view advice = outcome_of(code) == Outcome::invalid ? "; restore a copy" : "";
  return fmt::format("{}{}", sqlite3_errmsg(handle), advice);
}

// SQLite would make the file readable for everyone; what its journals may be read by follows it.
void make_for_owner_only(const std::string& path) {
  int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);  // Otherwise it is there, or sqlite3_open_v2 says why it cannot be.
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)) {}

Statement::~Statement() { sqlite3_finalize(statement_); }

Result<bool> Statement::step() {
  int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return fail(outcome_of(code), text_of(sqlite3_db_handle(statement_), code));
}

std::uint64_t Statement::integer(int column) const {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
}

std::string Statement::text(int column) const { return optional_text(column).value_or(""); }

std::optional<std::string> Statement::optional_text(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  auto length = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return std::string(bytes == nullptr ? "" : bytes, length);
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Statement::bind(int place, std::uint64_t value) {
  int code = sqlite3_bind_int64(statement_, place, static_cast<sqlite3_int64>(value));
  ISTHMUS_ASSERT(code == SQLITE_OK, "a parameter the statement does not have");
}

void Statement::bind(int place, std::string_view value) {
  int code = sqlite3_bind_text64(statement_, place, value.data(), value.size(), SQLITE_TRANSIENT,
                                 SQLITE_UTF8);
  ISTHMUS_ASSERT(code == SQLITE_OK, "a parameter the statement does not have, or no memory");
}

void Statement::bind(int place, const std::optional<std::string>& value) {
  if (value) return bind(place, std::string_view(*value));
  int code = sqlite3_bind_null(statement_, place);
  ISTHMUS_ASSERT(code == SQLITE_OK, "a parameter the statement does not have");
}

Result<Database> Database::open(const std::string& path) {
  if (path != ":memory:") make_for_owner_only(path);
  sqlite3* handle = nullptr;
  int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(handle, path);  // Also a handle that failed to open must be closed.
  if (code != SQLITE_OK) return database.failed(code);
  sqlite3_extended_result_codes(handle, 1);
  return database;
}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

Database::~Database() { sqlite3_close_v2(handle_); }

std::unexpected<Error> Database::failed(int code) const {
  return fail(outcome_of(code), fmt::format("{}: {}", path_, text_of(handle_, code)));
}

Result<> Database::execute(const std::string& sql) {
  int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failed(code);
  return {};
}

Result<std::string> Database::query(const std::string& sql) {
  Statement statement = TRY(prepare(sql));
  Result<bool> row = statement.step();
  if (!row) return fail(path_, row.error());
  if (!*row) return fail(Outcome::invalid, fmt::format("{}: no answer to {}", path_, sql));
  return statement.text(0);
}

Result<> Database::check_place() const {
  int moved = 0;  // Stays so where there is no file.
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved == 0) return {};
  return fail(Outcome::lost, fmt::format("{}: the file was removed or replaced while it was in "
                                         "use; restart isthmus infra",
                                         path_));
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return failed(code);
  return Statement(statement);
}

}  // namespace isthmus::infra::sqlite
