#include "isthmus/infra/route_table_codec.h"

#include <algorithm>
#include <array>
#include <utility>

#include "isthmus/base/text.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/infra/record_json.h"
#include "isthmus/infra/route_table_plan.h"

namespace isthmus::infra {
namespace {

using record_json::read_count;
using record_json::read_time;

// "10.244.1.0/24 vm-1 10.0.0.11"; what is not said is empty, and at the end left out.
std::string text_of(const api::RouteEntry& route) {
  std::string text = to_string(route.destination) + " " + route.instance;
  if (route.next_hop) text += " " + to_string(*route.next_hop);
  return text;
}

api::RouteEntry read_route(JsonReader reader) {
  const std::string text = reader.text();
  const std::vector<std::string_view> parts = split(text, ' ');
  api::RouteEntry route;
  const Result<IpPrefix> destination = parse_prefix(parts[0]);
  bool good = destination && (parts.size() == 2 || parts.size() == 3);
  if (good) {
    route.destination = *destination;
    route.instance = parts[1];
    good = parts[1].empty() || !api::wrong_uid(parts[1]);
  }
  if (good && parts.size() == 3) {
    const Result<IpAddress> next_hop = parse_ip(parts[2]);
    good = next_hop.has_value();
    if (good) route.next_hop = *next_hop;
  }
  if (!good && !text.empty()) reader.refuse_expected("a destination, a uid and a next hop");
  return route;
}

// "10.244.1.0/24 conflict ForeignRoute static via 10.0.0.9": the message is the rest.
std::string text_of(const api::RouteStatus& status) {
  std::string text = to_string(status.destination) + " " +
                     std::string(api::to_string(status.state)) + " " + status.reason;
  if (!status.message.empty()) text += " " + status.message;
  return text;
}

// Takes what stands before the next space, and the space.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

api::RouteStatus read_route_status(JsonReader reader) {
  const std::string text = reader.text(kValueBytesMax);
  std::string_view rest = text;
  api::RouteStatus status;
  const Result<IpPrefix> destination = parse_prefix(take_word(rest));
  const std::string_view word = take_word(rest);
  constexpr std::array kKept = {api::RouteState::pending, api::RouteState::conflict};
  const auto* state =
      std::ranges::find(kKept, word, [](api::RouteState kept) { return api::to_string(kept); });
  if (destination && state != kKept.end()) {
    status.destination = *destination;
    status.state = *state;
    status.reason = take_word(rest);
    status.message = rest;
  } else if (!text.empty()) {
    reader.refuse_expected("a destination, its state and a reason");
  }
  return status;
}

// "10.244.9.0/24 10.0.0.9", or the destination alone.
std::string text_of(const api::OrphanRoute& orphan) {
  std::string text = to_string(orphan.destination);
  if (orphan.next_hop) text += " " + to_string(*orphan.next_hop);
  return text;
}

api::OrphanRoute read_orphan(JsonReader reader) {
  const std::string text = reader.text();
  std::string_view rest = text;
  api::OrphanRoute orphan;
  const Result<IpPrefix> destination = parse_prefix(take_word(rest));
  const Result<IpAddress> next_hop = parse_ip(rest);
  const bool good = destination && (rest.empty() || next_hop);
  if (destination) orphan.destination = *destination;
  if (next_hop) orphan.next_hop = *next_hop;
  if (!good && !text.empty()) reader.refuse_expected("a destination and a next hop");
  return orphan;
}

json::array to_json(const std::vector<IpPrefix>& prefixes) {
  json::array list;
  for (const IpPrefix& prefix : prefixes) list.emplace_back(to_string(prefix));
  return list;
}

std::vector<IpPrefix> read_prefixes(JsonReader list, std::size_t count_max) {
  std::vector<IpPrefix> prefixes;
  for (JsonReader& element : list.elements(count_max)) {
    Result<IpPrefix> prefix = parse_prefix(element.text());
    if (prefix) {
      prefixes.push_back(*prefix);
    } else if (!element.missing()) {
      element.refuse_expected("a prefix");
    }
  }
  return prefixes;
}

RouteTableRecord read_table(JsonReader document) {
  RouteTableRecord record;
  record.metadata = record_json::read_metadata(document.required("metadata"));
  record.spec.cluster_cidrs =
      read_prefixes(document.required("clusterCIDRs"), api::kClusterCidrsMax);
  for (JsonReader& route : document.required("routes").elements(api::kRoutesMax)) {
    record.spec.routes.push_back(read_route(route));
  }
  if (auto dropped = document.optional("dropped")) {
    record.dropped = read_prefixes(*dropped, kDroppedRoutesMax);
  }
  record.deleted_at = read_time(document, "deletedAt");
  return record;
}

RouteStatusRecord read_status(JsonReader document) {
  RouteStatusRecord record;
  record.status.observed_generation = read_count(document, "observedGeneration");
  record.status.applied_generation = read_count(document, "appliedGeneration");
  record.status.conditions = record_json::read_conditions(document);
  for (JsonReader& route : document.required("notApplied").elements(api::kRoutesMax)) {
    record.status.routes.push_back(read_route_status(route));
  }
  if (auto orphans = document.optional("orphans")) {
    for (JsonReader& orphan : orphans->elements(api::kOrphanRoutesMax)) {
      record.status.orphans.push_back(read_orphan(orphan));
    }
  }
  return record;
}

}  // namespace

std::string encode(const RouteTableRecord& record) {
  json::array routes;
  routes.reserve(record.spec.routes.size());
  for (const api::RouteEntry& route : record.spec.routes) routes.emplace_back(text_of(route));
  json::object document{{"metadata", record_json::to_json(record.metadata)},
                        {"clusterCIDRs", to_json(record.spec.cluster_cidrs)},
                        {"routes", std::move(routes)}};
  if (!record.dropped.empty()) document["dropped"] = to_json(record.dropped);
  if (record.deleted_at) document["deletedAt"] = record_json::exact(*record.deleted_at);
  return compact_json(document);
}

std::string encode(const RouteStatusRecord& record) {
  json::array routes;
  for (const api::RouteStatus& route : record.status.routes) routes.emplace_back(text_of(route));
  json::object document{{"observedGeneration", record.status.observed_generation},
                        {"appliedGeneration", record.status.applied_generation},
                        {"conditions", record_json::to_json(record.status.conditions)},
                        {"notApplied", std::move(routes)}};
  if (!record.status.orphans.empty()) {
    json::array orphans;
    for (const api::OrphanRoute& orphan : record.status.orphans) {
      orphans.emplace_back(text_of(orphan));
    }
    document["orphans"] = std::move(orphans);
  }
  return compact_json(document);
}

Result<RouteTableRecord> decode_route_table_record(std::string_view value, Revision revision) {
  RouteTableRecord record = TRY(record_json::decode(value, read_table));
  record.metadata.revision = revision;
  return record;
}

Result<RouteStatusRecord> decode_route_status_record(std::string_view value, Revision revision) {
  RouteStatusRecord record = TRY(record_json::decode(value, read_status));
  record.revision = revision;
  return record;
}

api::RouteTableStatus without_applied(api::RouteTableStatus status) {
  std::erase_if(status.routes, [](const api::RouteStatus& route) {
    return route.state == api::RouteState::applied;
  });
  for (std::size_t i = 0; i < status.routes.size(); ++i) {
    std::string& message = status.routes[i].message;
    if (i >= kRouteMessagesMax) message.clear();
    message = shortened(message, kRouteMessageBytesMax);
  }
  return status;
}

}  // namespace isthmus::infra
