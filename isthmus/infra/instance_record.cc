#include "isthmus/infra/instance_record.h"

#include "isthmus/base/json.h"
#include "isthmus/infra/api/instance_json.h"

namespace isthmus::infra {

std::string instance_key(std::string_view uid) {
  return std::string(kInstancePrefix) + std::string(uid);
}

std::string encode(const InstanceRecord& record) {
  return compact_json(json::object{{"source", record.source == Source::file ? "file" : "api"},
                                   {"instance", api::to_json(record.instance)}});
}

Result<InstanceRecord> decode_record(std::string_view value, Revision revision) {
  Result<json::value> document = parse_json(value);
  if (!document) return fail(Outcome::lost, "a damaged record: " + document.error().message);
  Mistakes mistakes;
  JsonReader reader(*document, mistakes);
  InstanceRecord record;
  bool from_file = reader.required("source").choice({"file", "api"}) == "file";
  record.source = from_file ? Source::file : Source::api;
  record.instance = api::read_instance(reader.required("instance"));
  if (!mistakes.empty()) return fail(Outcome::lost, "a damaged record: " + mistakes.text());
  record.instance.revision = revision;
  return record;
}

const InstanceRecord* InstanceSnapshot::find(std::string_view uid) const {
  auto found = records.find(uid);
  return found == records.end() ? nullptr : found->second.get();
}

}  // namespace isthmus::infra
