// The JSON forms that all objects of an owner share, and how an answer of a server is read: with
// the tolerance of decode_instance (instance.h). What is wrong goes to the reader's Mistakes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/json.h"
#include "isthmus/infra/api/object.h"

namespace isthmus::infra::api {

// Generous: what a newer or foreign server says may be longer than what we would say.
inline constexpr std::size_t kAnswerTextMax = 64 * 1024;
inline constexpr std::size_t kAnswerItemsMax = 10'000;
inline constexpr JsonLimits kAnswerLimits{.bytes_max = 64 * 1024 * 1024, .depth_max = 32};
inline constexpr std::uint64_t kCountMax = (std::uint64_t{1} << 53) - 1;  // What JSON numbers hold.

// A text that keeps a rule of rules.h.
std::string read_ruled(JsonReader value, std::optional<std::string> (*wrong)(std::string_view));

std::string text_or_empty(JsonReader& object, std::string_view key);
bool boolean_or(JsonReader& object, std::string_view key, bool otherwise);

// Generations, revisions and the like: from 0 to kCountMax.
std::uint64_t read_count(JsonReader value);
std::uint64_t count_or_zero(JsonReader& object, std::string_view key);
std::uint32_t read_small_count(JsonReader value);
std::uint16_t read_port(JsonReader value);  // 1 to 65535

WallTime read_time(JsonReader value);
std::optional<WallTime> time_if_said(JsonReader& object, std::string_view key);

IpAddress read_ip(JsonReader value);
std::vector<IpAddress> read_ips(JsonReader& object, std::string_view key);  // None if missing.

json::array to_json(const std::vector<IpAddress>& addresses);
json::object to_json(const Metadata& metadata);
json::array to_json(const std::vector<Condition>& conditions);

// What a client writes of it: without the owner and what is the server's to say.
json::object input_json(const Metadata& metadata);

Metadata read_metadata(JsonReader metadata);
std::vector<Condition> read_conditions(JsonReader& status);

// A whole answer: lost when it is no JSON or `read` finds a mistake.
template <class Object>
Result<Object> decode_answer(std::string_view kind, std::string_view text,
                             Object (*read)(JsonReader)) {
  const std::string what = "not of the kind " + std::string(kind);
  json::monotonic_resource memory;
  Result<json::value> document = parse_json(text, kAnswerLimits, &memory);
  if (!document) return fail(Outcome::lost, what + ": " + document.error().message);
  Mistakes mistakes;
  Object object = read(JsonReader(*document, mistakes));
  if (!mistakes.empty()) return fail(Outcome::lost, what + ": " + mistakes.text());
  return object;
}

// A list likewise; items that would be lost by themselves are left out and counted.
template <class List, class Object>
Result<List> decode_list_answer(std::string_view kind, std::string_view text,
                                Object (*read)(JsonReader)) {
  const std::string what = "not of the kind " + std::string(kind);
  json::monotonic_resource memory;
  Result<json::value> document = parse_json(text, kAnswerLimits, &memory);
  if (!document) return fail(Outcome::lost, what + ": " + document.error().message);
  Mistakes mistakes;
  JsonReader reader(*document, mistakes);
  List list;
  reader.required("kind").choice({kind});
  JsonReader metadata = reader.required("metadata");
  list.revision = read_count(metadata.required("revision"));
  if constexpr (requires { list.continue_token; }) {
    list.continue_token = text_or_empty(metadata, "continue");
  }
  for (JsonReader& item : reader.required("items").elements(kAnswerItemsMax)) {
    Mistakes of_item;
    Object object = read(JsonReader(item.value(), of_item));
    if (of_item.empty()) {
      list.items.push_back(std::move(object));
    } else {
      ++list.not_understood;
    }
  }
  if (!mistakes.empty()) return fail(Outcome::lost, what + ": " + mistakes.text());
  return list;
}

template <class List>
std::string encode_list(std::string_view kind, const List& list) {
  json::object metadata{{"revision", list.revision}};
  if constexpr (requires { list.continue_token; }) {
    if (!list.continue_token.empty()) metadata["continue"] = list.continue_token;
  }
  json::array items;
  items.reserve(list.items.size());
  for (const auto& item : list.items) items.push_back(to_json(item));
  return compact_json(
      json::object{{"kind", kind}, {"metadata", std::move(metadata)}, {"items", std::move(items)}});
}

}  // namespace isthmus::infra::api
