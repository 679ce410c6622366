// JSON documents: parsing with limits, reading with every mistake found at once, writing.
//
//   json::value document = TRY(parse_json(body));
//   Mistakes mistakes;
//   JsonReader spec(document, mistakes);
//   result.name = spec.required("name").text();
//   for (JsonReader port : spec.required("ports").elements(64)) {
//     result.ports.push_back(port.required("port").integer(1, 65535));
//     port.no_other_fields();
//   }
//   TRY(mistakes.result());  // /ports/0/port: expected a whole number from 1 to 65535, found "x"
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "isthmus/base/duration.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"

namespace isthmus {

namespace json = boost::json;

struct JsonLimits {
  // An API server stores no object above 1.5 MiB (etcd's request limit); twice that is never met.
  std::size_t bytes_max = 3 * 1024 * 1024;
  std::size_t depth_max = 32;
};

// invalid: not JSON, anything behind the document, or beyond the limits; the message says where
// ("line 3, column 12: …"). A key that is given twice counts once, with its last value.
//
// The document, and what is copied or moved out of it, lives in `memory`. Whoever drops all of it
// once it is read gives a json::monotonic_resource, which outlives it, and is spared thousands of
// small allocations.
Result<json::value> parse_json(std::string_view text, const JsonLimits& limits = {},
                               json::storage_ptr memory = {});

// The document in its shortest form, on one line.
std::string compact_json(const json::value& value);

// Reads one value of a document. What is wrong goes to the Mistakes, under the value's JSON pointer
// (RFC 6901), and the reader answers an empty value in its place, so that reading goes on and finds
// the next mistake; the caller looks at the Mistakes before it uses anything. A reader of a missing
// value answers empty without complaining again.
//
// Copies are cheap; the document and the Mistakes outlive all readers.
class JsonReader {
 public:
  JsonReader(const json::value& document, Mistakes& mistakes);

  // A member of an object. A missing one is a mistake; null is a value of the wrong type.
  JsonReader required(std::string_view key);

  // nullopt when the member is missing or null.
  std::optional<JsonReader> optional(std::string_view key);

  // Every member that was not asked for is a mistake: catches misspelled optional fields.
  void no_other_fields();

  // The elements of an array, at most count_max.
  std::vector<JsonReader> elements(std::size_t count_max);

  // The members of an object in document order, at most count_max: for maps with free keys.
  std::vector<std::pair<std::string, JsonReader>> members(std::size_t count_max);

  // A string of at most bytes_max bytes; not empty unless said otherwise.
  enum class Empty : bool { refused, allowed };
  std::string text(std::size_t bytes_max = 4096, Empty empty = Empty::refused);

  // One of these words; the mistake names them all.
  std::string choice(std::initializer_list<std::string_view> words);

  std::int64_t integer(std::int64_t low, std::int64_t high);
  double number();
  bool boolean();

  // A string as Go writes durations ("5m30s").
  Duration duration();

  // A string that no message will quote.
  Secret secret(std::size_t bytes_max = 4096);

  // Reports about this value what only the caller can know: "expected …" or any other sentence.
  void refuse(std::string_view what);

  // "expected <what>, found <the value, shortened>".
  void refuse_expected(std::string_view what);

  bool missing() const { return value_ == nullptr; }

  // null for a missing one.
  const json::value& value() const;
  std::string pointer() const;

 private:
  struct Place;
  using SharedPlace = std::shared_ptr<Place>;  // By copies, which read the same value.

  JsonReader(const json::value* value, SharedPlace place, Mistakes& mistakes);
  const json::object* object();
  void note_asked(std::string_view key);
  JsonReader child(const json::value* value, std::string key) const;

  const json::value* value_;
  SharedPlace place_;
  Mistakes* mistakes_;
};

}  // namespace isthmus
