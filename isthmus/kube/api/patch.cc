#include "isthmus/kube/api/patch.h"

#include <algorithm>

#include "isthmus/base/json.h"

namespace isthmus::kube {
namespace {

// Left out when empty, as the server itself does.
void add_text(json::object& object, std::string_view key, std::string_view text) {
  if (!text.empty()) object[key] = text;
}

json::value text_or_null(std::string_view text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

json::object metadata(const Precondition& precondition) {
  ISTHMUS_ASSERT(!precondition.uid.empty(), "a patch says which object it was thought out for");
  json::object metadata;
  metadata["uid"] = precondition.uid;
  add_text(metadata, "resourceVersion", precondition.resource_version);
  return metadata;
}

Patch make_patch(PatchType type, Precondition precondition, json::object body) {
  return {type, std::move(precondition), compact_json(std::move(body))};
}

// What turns the entries that were seen into those that are wanted; null removes.
json::object map_changes(const StringMap& seen, const StringMap& wanted,
                         const std::vector<std::string>& removed) {
  json::object changes;
  for (const auto& [key, value] : wanted) {
    if (seen.find(key) != value) changes[key] = value;
  }
  for (const std::string& key : removed) {
    if (seen.contains(key) && !wanted.contains(key)) changes[key] = nullptr;
  }
  return changes;
}

bool same_place(const Taint& left, const Taint& right) {
  return left.key == right.key && left.effect == right.effect;
}

std::vector<Taint> changed_taints(std::vector<Taint> taints, const NodeChange& change) {
  std::erase_if(taints, [&](const Taint& taint) {
    return std::ranges::find(change.removed_taints, taint.key) != change.removed_taints.end();
  });
  for (const Taint& added : change.added_taints) {
    auto place =
        std::ranges::find_if(taints, [&](const Taint& taint) { return same_place(taint, added); });
    if (place == taints.end()) {
      taints.push_back(added);
    } else if (place->value != added.value) {
      *place = added;
    }
  }
  return taints;
}

json::value taint_document(const Taint& taint) {
  if (!taint.raw.empty()) {
    Result<json::value> raw = parse_json(taint.raw);
    ISTHMUS_ASSERT(raw.has_value(), "the decoder keeps only JSON as raw");
    return *std::move(raw);
  }
  json::object document{{"key", taint.key}, {"effect", taint.effect}};
  add_text(document, "value", taint.value);
  add_text(document, "timeAdded", taint.time_added);
  return document;
}

json::value taints_document(const std::vector<Taint>& taints) {
  if (taints.empty()) return nullptr;
  json::array document;
  for (const Taint& taint : taints) document.push_back(taint_document(taint));
  return document;
}

json::object ingress_document(const LoadBalancerIngress& ingress) {
  json::object document;
  add_text(document, "ip", ingress.ip);
  add_text(document, "hostname", ingress.hostname);
  add_text(document, "ipMode", ingress.ip_mode);
  json::array ports;
  for (const IngressPort& port : ingress.ports) {
    json::object& entry = ports.emplace_back(json::object()).as_object();
    entry["port"] = port.port;
    entry["protocol"] = port.protocol;
    add_text(entry, "error", port.error);
  }
  if (!ports.empty()) document["ports"] = std::move(ports);
  return document;
}

json::object lease_spec_document(const LeaseSpec& spec) {
  return {{"holderIdentity", spec.holder},
          {"leaseDurationSeconds", spec.duration_seconds},
          {"acquireTime", text_or_null(spec.acquire_time)},
          {"renewTime", text_or_null(spec.renew_time)},
          {"leaseTransitions", spec.transitions}};
}

json::object typed(const ResourceType& resource, json::object metadata) {
  return {{"apiVersion", resource.api_version},
          {"kind", resource.kind},
          {"metadata", std::move(metadata)}};
}

json::object key_document(const ObjectKey& key) {
  json::object document;
  document["name"] = key.name;
  add_text(document, "namespace", key.name_space);
  return document;
}

json::object reference_document(const ObjectReference& reference) {
  json::object document = key_document(reference.key);
  add_text(document, "apiVersion", reference.api_version);
  add_text(document, "kind", reference.kind);
  add_text(document, "uid", reference.uid);
  add_text(document, "resourceVersion", reference.resource_version);
  return document;
}

}  // namespace

std::string_view content_type(PatchType type) {
  switch (type) {
    case PatchType::merge:
      return "application/merge-patch+json";
    case PatchType::strategic_merge:
      return "application/strategic-merge-patch+json";
    case PatchType::json:
      return "application/json-patch+json";
    case PatchType::whole:
      return "application/json";
  }
  ISTHMUS_ASSERT(false, "no such type of patch");
}

Precondition unchanged(const ObjectMeta& meta) { return {meta.uid, meta.resource_version}; }
Precondition same_object(const ObjectMeta& meta) { return {meta.uid, {}}; }

bool NodeChange::empty() const { return *this == NodeChange{}; }

std::optional<Patch> node_patch(const Node& seen, const NodeChange& change) {
  json::object labels = map_changes(seen.meta.labels, change.labels, change.removed_labels);
  json::object annotations =
      map_changes(seen.meta.annotations, change.annotations, change.removed_annotations);
  json::object spec;
  if (change.provider_id != seen.provider_id) add_text(spec, "providerID", change.provider_id);
  const std::vector<Taint> taints = changed_taints(seen.taints, change);
  if (taints != seen.taints) spec["taints"] = taints_document(taints);
  if (labels.empty() && annotations.empty() && spec.empty()) return std::nullopt;

  const Precondition precondition = unchanged(seen.meta);
  ISTHMUS_ASSERT(!precondition.resource_version.empty(), "taints are replaced as they were read");
  json::object body{{"metadata", metadata(precondition)}};
  json::object& meta = body["metadata"].as_object();
  if (!labels.empty()) meta["labels"] = std::move(labels);
  if (!annotations.empty()) meta["annotations"] = std::move(annotations);
  if (!spec.empty()) body["spec"] = std::move(spec);
  return make_patch(PatchType::merge, precondition, std::move(body));
}

Node changed(Node seen, const NodeChange& change) {
  if (!change.provider_id.empty()) seen.provider_id = change.provider_id;
  seen.taints = changed_taints(std::move(seen.taints), change);
  return seen;
}

Patch node_addresses_patch(const Precondition& precondition,
                           const std::vector<NodeAddress>& addresses) {
  json::array list;
  for (const NodeAddress& address : addresses) {
    list.push_back({{"type", address.type}, {"address", address.address}});
  }
  json::object body{{"metadata", metadata(precondition)},
                    {"status", {{"addresses", std::move(list)}}}};
  return make_patch(PatchType::merge, precondition, std::move(body));
}

Patch node_condition_patch(const Precondition& precondition, const NodeConditionChange& condition) {
  json::object entry{{"type", condition.type},
                     {"status", condition.status},
                     {"reason", condition.reason},
                     {"message", condition.message},
                     {"lastHeartbeatTime", condition.heartbeat_time}};
  add_text(entry, "lastTransitionTime", condition.transition_time);
  json::array conditions;
  conditions.push_back(std::move(entry));
  json::object body{{"metadata", metadata(precondition)},
                    {"status", {{"conditions", std::move(conditions)}}}};
  return make_patch(PatchType::strategic_merge, precondition, std::move(body));
}

Patch service_ingress_patch(const Precondition& precondition,
                            const std::vector<LoadBalancerIngress>& ingress) {
  json::array list;
  for (const LoadBalancerIngress& each : ingress) list.push_back(ingress_document(each));
  json::value wanted = ingress.empty() ? json::value(nullptr) : json::value(std::move(list));
  json::object body{{"metadata", metadata(precondition)},
                    {"status", {{"loadBalancer", {{"ingress", std::move(wanted)}}}}}};
  return make_patch(PatchType::merge, precondition, std::move(body));
}

namespace {

Patch finalizer_patch(const ObjectMeta& meta, std::string_view list, std::string_view finalizer) {
  const Precondition precondition = same_object(meta);
  json::object body{{"metadata", metadata(precondition)}};
  json::array finalizers;
  finalizers.push_back(json::value(finalizer));
  body["metadata"].as_object()[list] = std::move(finalizers);
  return make_patch(PatchType::strategic_merge, precondition, std::move(body));
}

}  // namespace

Patch add_finalizer_patch(const ObjectMeta& meta, std::string_view finalizer) {
  return finalizer_patch(meta, "finalizers", finalizer);
}

Patch remove_finalizer_patch(const ObjectMeta& meta, std::string_view finalizer) {
  return finalizer_patch(meta, "$deleteFromPrimitiveList/finalizers", finalizer);
}

std::string lease_body(const ObjectKey& key, const LeaseSpec& spec) {
  json::object body = typed(Lease::resource, key_document(key));
  body["spec"] = lease_spec_document(spec);
  return compact_json(body);
}

Result<Patch> lease_update(const Lease& seen, const LeaseSpec& spec) {
  ISTHMUS_ASSERT(!seen.meta.resource_version.empty(),
                 "without a resourceVersion two could lead at once");
  ISTHMUS_ASSERT(!seen.document.empty(), "a Lease is written back as it was read");
  Result<json::value> document = parse_json(seen.document);
  if (!document) return fail(Outcome::lost, "the Lease: " + document.error().message);
  json::object& body = document->as_object();
  json::value& written = body["spec"];
  if (!written.is_object()) written = json::object();
  for (auto& [field, value] : lease_spec_document(spec)) written.as_object()[field] = value;
  return make_patch(PatchType::whole, unchanged(seen.meta), std::move(body));
}

std::string event_body(const Event& event) {
  json::object body = typed(Event::resource, key_document(event.meta.key));
  body["involvedObject"] = reference_document(event.involved);
  body["type"] = event.type;
  body["reason"] = event.reason;
  body["message"] = event.message;
  body["source"] = {{"component", event.component}};
  body["reportingComponent"] = event.component;
  body["firstTimestamp"] = text_or_null(event.first_time);
  body["lastTimestamp"] = text_or_null(event.last_time);
  body["count"] = event.count;
  return compact_json(body);
}

Patch event_patch(const Event& event) {
  json::object body{{"count", event.count},
                    {"lastTimestamp", text_or_null(event.last_time)},
                    {"message", event.message}};
  Precondition precondition;
  if (!event.meta.uid.empty()) {
    precondition = same_object(event.meta);
    body["metadata"] = metadata(precondition);
  }
  return make_patch(PatchType::merge, precondition, std::move(body));
}

std::string delete_options_body(const Precondition& precondition) {
  return compact_json(
      {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", metadata(precondition)}});
}

}  // namespace isthmus::kube
