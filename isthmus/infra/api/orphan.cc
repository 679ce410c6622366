#include "isthmus/infra/api/orphan.h"

#include <utility>

#include "isthmus/base/json.h"
#include "isthmus/infra/api/object_json.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra::api {
namespace {

constexpr std::string_view kKind = "Orphan";

json::object to_json(const Orphan& orphan) {
  return {{"kind", kKind},
          {"metadata",
           json::object{
               {"owner", orphan.owner}, {"name", orphan.name}, {"generation", orphan.generation}}},
          {"status", json::object{{"addresses", api::to_json(orphan.addresses)},
                                  {"abandoned", orphan.abandoned}}}};
}

Orphan read_orphan(JsonReader document) {
  document.required("kind").choice({kKind});
  JsonReader metadata = document.required("metadata");
  JsonReader status = document.required("status");
  Orphan orphan;
  orphan.owner = read_ruled(metadata.required("owner"), wrong_name);
  orphan.name = read_ruled(metadata.required("name"), wrong_object_name);
  orphan.generation = read_count(metadata.required("generation"));
  orphan.addresses = read_ips(status, "addresses");
  orphan.abandoned = boolean_or(status, "abandoned", false);
  return orphan;
}

}  // namespace

std::string encode(const Orphan& orphan) { return compact_json(to_json(orphan)); }

std::string encode(const OrphanList& list) {
  json::array items;
  for (const Orphan& orphan : list.items) items.push_back(to_json(orphan));
  return compact_json(json::object{{"kind", "OrphanList"},
                                   {"metadata", json::object{{"revision", list.revision}}},
                                   {"items", std::move(items)}});
}

Result<Orphan> decode_orphan(std::string_view text) {
  return decode_answer<Orphan>(kKind, text, read_orphan);
}

Result<OrphanList> decode_orphan_list(std::string_view text) {
  return decode_list_answer<OrphanList>("OrphanList", text, read_orphan);
}

}  // namespace isthmus::infra::api
