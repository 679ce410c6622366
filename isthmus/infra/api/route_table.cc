#include "isthmus/infra/api/route_table.h"

#include <utility>

#include "isthmus/infra/api/object_json.h"
#include "isthmus/infra/api/route_table_json.h"
#include "isthmus/infra/api/words.h"

namespace isthmus::infra::api {
namespace {

constexpr Words<RouteState, 3> kStates = {{
    {RouteState::pending, "pending"},
    {RouteState::applied, "applied"},
    {RouteState::conflict, "conflict"},
}};

json::array to_json(const std::vector<IpPrefix>& prefixes) {
  json::array list;
  list.reserve(prefixes.size());
  for (const IpPrefix& prefix : prefixes) list.emplace_back(to_string(prefix));
  return list;
}

json::object spec_json(const RouteTableSpec& spec) {
  json::array routes;
  routes.reserve(spec.routes.size());
  for (const RouteEntry& route : spec.routes) {
    json::object entry{{"destination", to_string(route.destination)}};
    if (!route.instance.empty()) entry["instance"] = route.instance;
    if (route.next_hop) entry["nextHop"] = to_string(*route.next_hop);
    routes.push_back(std::move(entry));
  }
  return {{"clusterCIDRs", to_json(spec.cluster_cidrs)}, {"routes", std::move(routes)}};
}

json::array to_json(const std::vector<OrphanRoute>& orphans) {
  json::array list;
  list.reserve(orphans.size());
  for (const OrphanRoute& orphan : orphans) {
    json::object entry{{"destination", to_string(orphan.destination)}};
    if (orphan.next_hop) entry["nextHop"] = to_string(*orphan.next_hop);
    list.push_back(std::move(entry));
  }
  return list;
}

json::object status_json(const RouteTableStatus& status) {
  json::array routes;
  routes.reserve(status.routes.size());
  for (const RouteStatus& route : status.routes) {
    json::object entry{{"destination", to_string(route.destination)},
                       {"state", to_string(route.state)}};
    if (!route.reason.empty()) entry["reason"] = route.reason;
    if (!route.message.empty()) entry["message"] = route.message;
    routes.push_back(std::move(entry));
  }
  json::object object{{"observedGeneration", status.observed_generation},
                      {"appliedGeneration", status.applied_generation},
                      {"conditions", to_json(status.conditions)},
                      {"routes", std::move(routes)}};
  if (!status.orphans.empty()) object["orphans"] = to_json(status.orphans);
  return object;
}

IpPrefix read_prefix(JsonReader value) {
  Result<IpPrefix> prefix = parse_prefix(value.text(kAnswerTextMax));
  if (prefix) return *prefix;
  if (!value.missing()) value.refuse_expected("a prefix");
  return {};
}

RouteEntry read_entry(JsonReader object) {
  RouteEntry route;
  route.destination = read_prefix(object.required("destination"));
  route.instance = text_or_empty(object, "instance");
  if (auto next_hop = object.optional("nextHop")) route.next_hop = read_ip(*next_hop);
  return route;
}

RouteStatus read_route_status(JsonReader object) {
  RouteStatus status;
  status.destination = read_prefix(object.required("destination"));
  status.state = value_of(kStates, object.required("state").text(kAnswerTextMax))
                     .value_or(RouteState::pending);
  status.reason = text_or_empty(object, "reason");
  status.message = text_or_empty(object, "message");
  return status;
}

OrphanRoute read_orphan(JsonReader object) {
  OrphanRoute orphan;
  orphan.destination = read_prefix(object.required("destination"));
  if (auto next_hop = object.optional("nextHop")) orphan.next_hop = read_ip(*next_hop);
  return orphan;
}

void read_spec(JsonReader object, RouteTableSpec& spec) {
  for (JsonReader& cidr : object.required("clusterCIDRs").elements(kAnswerItemsMax)) {
    spec.cluster_cidrs.push_back(read_prefix(cidr));
  }
  std::vector<JsonReader> routes = object.required("routes").elements(kAnswerItemsMax);
  spec.routes.reserve(routes.size());
  for (JsonReader& route : routes) spec.routes.push_back(read_entry(route));
}

void read_status(JsonReader object, RouteTableStatus& status) {
  status.observed_generation = count_or_zero(object, "observedGeneration");
  status.applied_generation = count_or_zero(object, "appliedGeneration");
  status.conditions = read_conditions(object);
  if (std::optional<JsonReader> list = object.optional("routes")) {
    std::vector<JsonReader> routes = list->elements(kAnswerItemsMax);
    status.routes.reserve(routes.size());
    for (JsonReader& route : routes) status.routes.push_back(read_route_status(route));
  }
  if (std::optional<JsonReader> list = object.optional("orphans")) {
    for (JsonReader& orphan : list->elements(kAnswerItemsMax)) {
      status.orphans.push_back(read_orphan(orphan));
    }
  }
}

}  // namespace

std::string_view to_string(RouteState state) { return word_of(kStates, state); }

json::object to_json(const RouteTable& table) {
  return {{"kind", "RouteTable"},
          {"metadata", to_json(table.metadata)},
          {"spec", spec_json(table.spec)},
          {"status", status_json(table.status)}};
}

RouteTable read_route_table(JsonReader document) {
  RouteTable table;
  document.required("kind").choice({"RouteTable"});
  table.metadata = read_metadata(document.required("metadata"));
  read_spec(document.required("spec"), table.spec);
  read_status(document.required("status"), table.status);
  return table;
}

std::string encode(const RouteTable& table) { return compact_json(to_json(table)); }

std::string encode(const RouteTableList& list) { return encode_list("RouteTableList", list); }

Result<RouteTable> decode_route_table(std::string_view text) {
  return decode_answer("RouteTable", text, read_route_table);
}

Result<RouteTableList> decode_route_table_list(std::string_view text) {
  return decode_list_answer<RouteTableList>("RouteTableList", text, read_route_table);
}

std::string encode_input(const RouteTable& table) {
  return compact_json(json::object{{"kind", "RouteTable"},
                                   {"metadata", input_json(table.metadata)},
                                   {"spec", spec_json(table.spec)}});
}

}  // namespace isthmus::infra::api
