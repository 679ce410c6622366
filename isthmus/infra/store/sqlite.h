// SQLite's C interface with owners and Results: just what sqlite_store.cc uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace isthmus::infra::sqlite {

// A prepared statement, to be used again and again. Its database outlives it.
//
// Columns and parameters are counted as SQLite does: columns from 0, parameters from 1.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // Forgets the run before and its parameters, and takes new ones in their order. Texts are copied.
  template <class... Values>
  Statement& with(const Values&... values) {
    reset();
    int place = 0;
    (bind(++place, values), ...);
    return *this;
  }

  // True: there is a row to look at. False: done. After an error only with() is of use.
  Result<bool> step();

  std::uint64_t integer(int column) const;
  std::string text(int column) const;
  std::optional<std::string> optional_text(int column) const;

  // Lets go of the database: a statement in the middle of its rows would hold a read lock.
  void reset();

 private:
  void bind(int place, std::uint64_t value);
  void bind(int place, std::string_view value);
  void bind(int place, const std::string& value) { bind(place, std::string_view(value)); }
  void bind(int place, const std::optional<std::string>& value);

  sqlite3_stmt* statement_;
};

// An open file. Errors: busy (locked by another process), invalid (not SQLite, or damaged), lost
// (all else); the message is SQLite's with the path in front.
class Database {
 public:
  static Result<Database> open(const std::string& path);
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  // Any number of statements without parameters; rows are thrown away.
  Result<> execute(const std::string& sql);

  // The first column of the first row; invalid when there is no row.
  Result<std::string> query(const std::string& sql);

  Result<Statement> prepare(std::string_view sql);

  // lost: the path names another file by now, or none, and what is written is gone with our end. It
  // costs one look at the path; what lives in memory has none.
  Result<> check_place() const;

 private:
  Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  std::unexpected<Error> failed(int code) const;

  sqlite3* handle_;
  std::string path_;
};

}  // namespace isthmus::infra::sqlite
