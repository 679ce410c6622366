#include "isthmus/net/response_writer_impl.h"

#include <algorithm>
#include <array>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/status.hpp>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>

namespace isthmus::net {
namespace {

// RFC 9110 section 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(WallTime time) {
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(time.time_since_epoch());
  const std::chrono::sys_days date{day};
  const std::chrono::year_month_day calendar{date};
  const std::chrono::hh_mm_ss clock{
      std::chrono::floor<std::chrono::seconds>(time.time_since_epoch() - day)};
  std::array<char, 64> text{};
  const int bytes = std::snprintf(
      text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
      kDays[std::chrono::weekday{date}.c_encoding()], static_cast<unsigned>(calendar.day()),
      kMonths[static_cast<unsigned>(calendar.month()) - 1], static_cast<int>(calendar.year()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return std::string(text.data(), static_cast<std::size_t>(bytes));
}

bool is_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

// What the framing of an answer is ours to say.
bool is_framing(std::string_view name) {
  return boost::beast::iequals(name, "Content-Length") ||
         boost::beast::iequals(name, "Transfer-Encoding") ||
         boost::beast::iequals(name, "Connection") || boost::beast::iequals(name, "Date");
}

bool has_no_body(int status) { return status == 204 || status == 304; }

std::string hexadecimal(std::size_t number) {
  std::array<char, 20> text{};
  const int bytes = std::snprintf(text.data(), text.size(), "%zx", number);
  return std::string(text.data(), static_cast<std::size_t>(bytes));
}

// A wait that ends with the server's work.
struct Pause : ListNode {
  Pause(SessionHost& host, Scope& scope_) : scope(scope_) { host.pauses.push_back(*this); }
  Scope& scope;
};

template <class T>
Task<Result<T>> until_stopping(SessionHost& host, Task<Result<T>> task) {
  if (host.is_stopping) co_return fail(Outcome::cancelled, "the server stops");
  Scope& here = co_await current_scope();
  Scope scope(here);
  const Pause pause(host, scope);
  // A frame's parameters outlive its locals, and what waits in a scope must not.
  Task<Result<T>> inner = std::move(task);
  Result<T> result = co_await scope.run(std::move(inner));
  co_return result;
}

}  // namespace

Task<Result<std::size_t>> read_until_stopping(SessionHost& host, Connection& connection) {
  return until_stopping(host, connection.read());
}

Task<Result<>> wait_until_stopping(SessionHost& host, Connection& connection) {
  return until_stopping(host, connection.wait_readable());
}

void stop_waiting(SessionHost& host) {
  host.is_stopping = true;
  while (host.pauses.linked()) {
    Pause& pause = static_cast<Pause&>(host.pauses.front());
    pause.unlink();
    pause.scope.cancel();
  }
}

ConnectionWriter::ConnectionWriter(SessionHost& host, Crowd::Place& place, Form form)
    : host_(host), place_(place), connection_(place.connection()), form_(form) {}

Result<std::string> ConnectionWriter::head(int status, const Headers& headers,
                                           const std::string& framing) {
  ISTHMUS_ASSERT(status >= 200 && status <= 599, "not the status of a final answer");
  const auto reason = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  std::string text = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason) + "\r\n";
  for (const auto& [name, value] : headers) {
    if (is_framing(name)) continue;
    if (name.empty() || !is_one_line(name) || !is_one_line(value)) {
      return fail(Outcome::invalid, "header " + name + ": has a line break in it");
    }
    text += name + ": " + value + "\r\n";
  }
  text += "Date: " + http_date(host_.loop.wall_now()) + "\r\n" + framing;
  if (host_.is_stopping) form_.keep_alive = false;
  if (!form_.keep_alive) text += "Connection: close\r\n";
  return text + "\r\n";
}

Task<Result<>> ConnectionWriter::respond(Response response) {
  ISTHMUS_ASSERT(state_ == State::nothing, "a second answer to one request");
  const std::string length = std::to_string(response.body.size());
  const bool is_bare = has_no_body(response.status);
  const std::string framing = is_bare ? "" : "Content-Length: " + length + "\r\n";
  std::string start = CO_TRY(head(response.status, response.headers, framing));
  if (form_.is_head || is_bare) response.body.clear();
  CO_TRY(co_await write(std::move(start), std::move(response.body), State::complete));
  co_return Result<>{};
}

Task<Result<>> ConnectionWriter::begin(int status, Headers headers) {
  ISTHMUS_ASSERT(state_ == State::nothing, "a second answer to one request");
  if (form_.is_http_1_0) form_.keep_alive = false;  // Only the end of the connection ends the body.
  const std::string framing = form_.is_http_1_0 ? "" : "Transfer-Encoding: chunked\r\n";
  std::string start = CO_TRY(head(status, headers, framing));
  CO_TRY(co_await write(std::move(start), {}, State::streaming));
  co_return Result<>{};
}

Task<Result<>> ConnectionWriter::chunk(std::string bytes) {
  ISTHMUS_ASSERT(state_ == State::streaming || state_ == State::broken, "a chunk without begin");
  if (bytes.empty() || form_.is_head) co_return Result<>{};  // An empty chunk would be the end.
  std::string size;
  if (!form_.is_http_1_0) {
    size = hexadecimal(bytes.size()) + "\r\n";
    bytes += "\r\n";
  }
  CO_TRY(co_await write(std::move(size), std::move(bytes), State::streaming));
  co_return Result<>{};
}

Task<Result<>> ConnectionWriter::finish() {
  ISTHMUS_ASSERT(state_ == State::streaming || state_ == State::broken, "an end without begin");
  const bool has_end = !form_.is_http_1_0 && !form_.is_head;
  CO_TRY(co_await write(has_end ? "0\r\n\r\n" : "", {}, State::complete));
  co_return Result<>{};
}

// What a client sends meanwhile is its next request, and is kept for later as far as the limit for
// headers goes; beyond that it can only wait, in which case only writing notices that it has gone.
Task<Result<>> ConnectionWriter::closed() {
  for (;;) {
    if (connection_.input.size() > host_.limits.header_bytes_max) {
      co_return fail(Outcome::lost, "the client sends more than it may");
    }
    const std::size_t bytes = CO_TRY(co_await read_until_stopping(host_, connection_));
    ISTHMUS_ASSERT(bytes > 0, "a read that reads nothing");
  }
}

// After a write that was cut short nobody knows what the client has got, so nothing may follow.
Task<Result<>> ConnectionWriter::write(std::string head, std::string body, State next) {
  if (state_ == State::broken) co_return fail(Outcome::lost, "the client has gone");
  state_ = State::broken;
  Scope& here = co_await current_scope();
  const Crowd::Place::Writing writing(place_);
  Result<> written = co_await with_timeout(host_.limits.write_timeout,
                                           connection_.write(std::move(head), std::move(body)));
  if (written) {
    state_ = next;
    co_return written;
  }
  connection_.close();
  if (written.outcome() == Outcome::deadline && !here.is_cancelled()) {
    co_return fail(Outcome::lost, "the client is too slow");
  }
  co_return written;
}

}  // namespace isthmus::net
