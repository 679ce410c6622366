// How a body that is written to us is read: strictly, with every mistake named by its JSON pointer.
// What is wrong goes to the reader's Mistakes.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/json.h"
#include "isthmus/infra/api/problem.h"

namespace isthmus::infra::api {

// One of rules.h.
using Rule = std::optional<std::string> (*)(std::string_view);

// A text that keeps a rule. What does not is answered all the same, so that what refers to it is
// not found wrong as well.
std::string ruled_text(JsonReader value, Rule wrong,
                       JsonReader::Empty empty = JsonReader::Empty::refused);

// Empty where the member is missing; `allowed` takes an empty one for missing.
std::string optional_ruled_text(JsonReader& object, std::string_view key, Rule wrong,
                                JsonReader::Empty empty = JsonReader::Empty::refused);

// An address by wrong_reachable_ip.
std::optional<IpAddress> reachable_ip(JsonReader value);

// A prefix with nothing behind it.
std::optional<IpPrefix> clean_prefix(JsonReader value);

// The elements of a list that has at least one.
std::vector<JsonReader> at_least_one(JsonReader list, std::size_t count_max);

// The member `labels` of metadata.
std::map<std::string, std::string> input_labels(JsonReader& metadata);

// A member that may be there and must then be what the path says.
void must_be_of_path(JsonReader& metadata, std::string_view key, std::string_view of_path);

// Members that are the server's to say: they may come back as they were answered.
void pass_over(JsonReader& object, std::initializer_list<std::string_view> keys);

// Reads a whole body by `read`, which is handed a reader of the document and finds the mistakes.
struct BodyErrors {
  std::optional<std::string> unreadable;  // Why the body is no JSON document at all.
  std::vector<FieldError> errors;         // In the order they were found.
};
template <class Read>
BodyErrors read_body(std::string_view text, const Read& read);

// The parts of read_body that know nothing of what is read.
void refuse_doubled_keys(std::string_view text, Mistakes& mistakes);
std::vector<FieldError> as_field_errors(const Mistakes& mistakes, const json::value& document);

template <class Read>
BodyErrors read_body(std::string_view text, const Read& read) {
  BodyErrors found;
  json::monotonic_resource memory;
  Result<json::value> document = parse_json(text, {}, &memory);
  if (!document) {
    found.unreadable = document.error().message;
    return found;
  }
  Mistakes mistakes;
  refuse_doubled_keys(text, mistakes);
  read(JsonReader(*document, mistakes));
  found.errors = as_field_errors(mistakes, *document);
  return found;
}

}  // namespace isthmus::infra::api
