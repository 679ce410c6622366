// The parts that records in the store have in common, as JSON (ledger_records.h). What is wrong
// with one that is read goes to the reader's Mistakes.
//
// This form is the store's own, not the API's: it says only what is not empty, and is never seen
// by a client.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/ip.h"
#include "isthmus/base/json.h"
#include "isthmus/base/result.h"
#include "isthmus/infra/api/object.h"

namespace isthmus::infra::record_json {

// RFC 3339 with as many digits as it takes to read the same time back.
std::string exact(WallTime time);
std::optional<WallTime> read_time(JsonReader& document, std::string_view key);

// Empty where the member is not there.
std::string read_text(JsonReader& document, std::string_view key);
bool read_flag(JsonReader& document, std::string_view key);
std::uint64_t read_count(JsonReader& document, std::string_view key);

IpAddress read_ip(JsonReader reader);
json::array to_json(const std::vector<IpAddress>& addresses);
std::vector<IpAddress> read_ips(JsonReader& document, std::string_view key, std::size_t count_max);

json::object to_json(const api::Metadata& metadata);
api::Metadata read_metadata(JsonReader document);

json::array to_json(const std::vector<api::Condition>& conditions);
std::vector<api::Condition> read_conditions(JsonReader& document);  // The member "conditions".

// One of the words that to_string has for these.
template <class Word>
Word read_word(JsonReader reader, std::initializer_list<Word> words) {
  const std::string text = reader.text();
  for (Word word : words) {
    if (to_string(word) == text) return word;
  }
  if (!reader.missing()) reader.refuse_expected("a word that this version knows");
  return *words.begin();
}

// The whole value of a key. lost: see decode_balancer_record.
template <class Record>
Result<Record> decode(std::string_view value, Record (*read)(JsonReader document)) {
  json::monotonic_resource memory;
  Result<json::value> document = parse_json(value, {}, &memory);
  if (!document)
    return fail(Outcome::lost,
                "a damaged record: " + document.error().message + "; restore a copy");
  Mistakes mistakes;
  JsonReader reader(*document, mistakes);
  Record record = read(reader);
  reader.no_other_fields();
  if (mistakes.empty()) return record;
  return fail(Outcome::lost,
              "a damaged record, or one that a newer version of this program wrote: " +
                  mistakes.text() + "; restore a copy, or run that version");
}

}  // namespace isthmus::infra::record_json
