// HTTP as values: what a request and a response are, without any way of sending them.
//
// Requests are built and answers are judged by plain functions, so everything that speaks HTTP is
// tested without a socket. transport.h sends, http_server.h serves.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"

namespace isthmus::net {

// Header fields in order. Names compare without regard to case (RFC 9110 section 5.1).
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

  void add(std::string name, std::string value);
  void set(std::string name, std::string value);  // Replaces all of that name.

  // The first value of that name, or nullopt.
  std::optional<std::string_view> find(std::string_view name) const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  bool operator==(const Headers&) const = default;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct Request {
  std::string method = "GET";
  std::string target = "/";  // Origin form: percent-encoded path, then "?" and the query if any.
  Headers headers;
  std::string body;

  bool operator==(const Request&) const = default;
};

struct Response {
  int status = 0;
  Headers headers;
  std::string body;

  bool operator==(const Response&) const = default;
};

// The wait an answer asks for in Retry-After (RFC 9110 section 10.2.3): whole seconds, or an HTTP
// date, of which the distance from `now` counts. nullopt when absent or unreadable; never negative;
// capped at one hour, because a server's mistake must not silence us for a year.
std::optional<Duration> retry_after(const Headers& headers, WallTime now);

// Percent-encodes everything but unreserved characters (RFC 3986 section 2.3); for one path segment
// or one query name or value.
std::string percent_encode(std::string_view text);

// The reverse; nullopt where a "%" is not followed by two hexadecimal digits. "+" stays "+".
std::optional<std::string> percent_decode(std::string_view text);

// "/p" and {{"a","1"},{"b","x y"}} make "/p?a=1&b=x%20y"; no parameters, no "?".
std::string with_query(std::string_view path,
                       const std::vector<std::pair<std::string, std::string>>& parameters);

// A target taken apart: the path still encoded, the parameters decoded (here a "+" is a space, as
// form encoders write it), in order. Also takes the absolute form, whose authority is dropped.
// invalid names the part that cannot be decoded.
struct Target {
  std::string path;
  std::vector<std::pair<std::string, std::string>> parameters;

  // The last value of that name, as in "a flag given twice".
  std::optional<std::string_view> parameter(std::string_view name) const;
};
Result<Target> parse_target(std::string_view target);

// Whether a host (a name or an address without brackets) is this very machine whatever the network
// says: "localhost", "::1" and 127.0.0.0/8. "127.example.com" is not.
bool is_loopback(std::string_view host);

// The URL as a message may show it: what stands between "://" and the last "@", which may be a
// password, becomes "…".
std::string without_user_info(std::string_view url);

}  // namespace isthmus::net
