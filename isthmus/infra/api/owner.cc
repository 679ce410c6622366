#include "isthmus/infra/api/owner.h"

#include <utility>

#include "isthmus/base/json.h"
#include "isthmus/infra/api/object_json.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra::api {
namespace {

constexpr std::string_view kKind = "Owner";

json::object to_json(const Owner& owner) {
  return {{"kind", kKind},
          {"metadata", json::object{{"name", owner.name}}},
          {"status", json::object{{"loadBalancers", owner.load_balancers},
                                  {"targetSets", owner.target_sets},
                                  {"addresses", owner.addresses}}}};
}

Owner read_owner(JsonReader document) {
  document.required("kind").choice({kKind});
  JsonReader metadata = document.required("metadata");
  JsonReader status = document.required("status");
  return {.name = read_ruled(metadata.required("name"), wrong_name),
          .load_balancers = count_or_zero(status, "loadBalancers"),
          .target_sets = count_or_zero(status, "targetSets"),
          .addresses = count_or_zero(status, "addresses")};
}

}  // namespace

std::string encode(const OwnerList& list) {
  json::array items;
  for (const Owner& owner : list.items) items.push_back(to_json(owner));
  return compact_json(json::object{{"kind", "OwnerList"},
                                   {"metadata", json::object{{"revision", list.revision}}},
                                   {"items", std::move(items)}});
}

Result<OwnerList> decode_owner_list(std::string_view text) {
  return decode_list_answer<OwnerList>("OwnerList", text, read_owner);
}

}  // namespace isthmus::infra::api
