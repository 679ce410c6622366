#include "isthmus/infra/api/target_set.h"

#include <utility>

#include "isthmus/infra/api/object_json.h"
#include "isthmus/infra/api/target_set_json.h"

namespace isthmus::infra::api {
namespace {

json::object spec_json(const TargetSet& set) {
  json::array targets;
  targets.reserve(set.targets.size());
  for (const SetTarget& target : set.targets) {
    targets.push_back(json::object{{"name", target.name},
                                   {"addresses", to_json(target.addresses)},
                                   {"weight", target.weight},
                                   {"drain", target.drain}});
  }
  return {{"targets", std::move(targets)}};
}

SetTarget read_target(JsonReader object) {
  SetTarget target;
  target.name = object.required("name").text(kAnswerTextMax);
  target.addresses = read_ips(object, "addresses");
  if (auto weight = object.optional("weight")) target.weight = read_small_count(*weight);
  target.drain = boolean_or(object, "drain", false);
  return target;
}

}  // namespace

json::object to_json(const TargetSet& set) {
  return {{"kind", "TargetSet"},
          {"metadata", to_json(set.metadata)},
          {"spec", spec_json(set)},
          {"status", json::object{{"users", set.users}}}};
}

TargetSet read_target_set(JsonReader document) {
  TargetSet set;
  document.required("kind").choice({"TargetSet"});
  set.metadata = read_metadata(document.required("metadata"));
  std::vector<JsonReader> targets =
      document.required("spec").required("targets").elements(kAnswerItemsMax);
  set.targets.reserve(targets.size());
  for (JsonReader& element : targets) set.targets.push_back(read_target(element));
  JsonReader status = document.required("status");
  set.users = count_or_zero(status, "users");
  return set;
}

std::string encode(const TargetSet& set) { return compact_json(to_json(set)); }

std::string encode(const TargetSetList& list) { return encode_list("TargetSetList", list); }

Result<TargetSet> decode_target_set(std::string_view text) {
  return decode_answer("TargetSet", text, read_target_set);
}

Result<TargetSetList> decode_target_set_list(std::string_view text) {
  return decode_list_answer<TargetSetList>("TargetSetList", text, read_target_set);
}

std::string encode_input(const TargetSet& set) {
  return compact_json(json::object{
      {"kind", "TargetSet"}, {"metadata", input_json(set.metadata)}, {"spec", spec_json(set)}});
}

}  // namespace isthmus::infra::api
