// What is kept of each type of object, as tables of field names.
#include "isthmus/kube/api/decode_impl.h"

#include "isthmus/base/text.h"
#include "isthmus/kube/api/base64.h"

namespace isthmus::kube::decoding {
namespace {

using Key = std::string_view;
using Value = ondemand::value;

// The taint as it was sent, if that is JSON through and through (what was skipped has not been
// looked at) and so may be sent back.
void keep_raw(Reader& reader, ondemand::object& object, Taint& taint) {
  std::string_view raw;
  if (!reader.sound(object.raw_json().get(raw))) return;
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  taint.raw = trimmed(raw);
  if (!reader.sound(parser.parse(taint.raw).get(element))) taint.raw.clear();
}

void read_taint(Reader& reader, Value value, Taint& taint) {
  ondemand::object object;
  bool known_fields_only = true;
  if (const auto error = value.get_object().get(object)) {
    if (error == simdjson::INCORRECT_TYPE) return reader.mark_unreadable("not an object");
    reader.sound(error);
    return;
  }
  reader.fields(object, [&](Key key, Value each) {
    if (key == "key") return reader.text(each, taint.key);
    if (key == "value") return reader.text(each, taint.value);
    if (key == "effect") return reader.text(each, taint.effect);
    if (key == "timeAdded") return reader.text(each, taint.time_added);
    known_fields_only = false;
  });
  if (!known_fields_only && !reader.broken()) keep_raw(reader, object, taint);
}

void read_node_spec(Reader& reader, Value value, Node& node) {
  reader.fields(value, [&](Key key, Value each) {
    if (key == "providerID") {
      reader.text(each, node.provider_id);
    }
    if (key == "taints") {
      node.taints.clear();
      reader.elements(
          each, [&](Value element) { read_taint(reader, element, node.taints.emplace_back()); });
      node.taints.shrink_to_fit();
    }
    if (key == "podCIDRs") {
      reader.texts(each, node.pod_cidrs);
    }
    if (key == "unschedulable") {
      reader.boolean(each, node.unschedulable);
    }
  });
}

void read_node_status(Reader& reader, Value value, Node& node) {
  reader.fields(value, [&](Key key, Value each) {
    if (key == "addresses") {
      reader.structs(each, node.addresses, [&](Key name, Value field, NodeAddress& address) {
        if (name == "type") return reader.text(field, address.type);
        if (name == "address") return reader.text(field, address.address);
      });
    }
    if (key == "conditions") {
      reader.structs(each, node.conditions, [&](Key name, Value field, NodeCondition& condition) {
        if (name == "type") return reader.text(field, condition.type);
        if (name == "status") return reader.text(field, condition.status);
        if (name == "reason") return reader.text(field, condition.reason);
      });
    }
    if (key == "nodeInfo") {
      reader.fields(each, [&](Key name, Value field) {
        if (name == "systemUUID") return reader.text(field, node.system_uuid);
      });
    }
    if (key == "daemonEndpoints") {
      reader.fields(each, [&](Key name, Value endpoint) {
        if (name != "kubeletEndpoint") return;
        reader.fields(endpoint, [&](Key field_name, Value field) {
          if (field_name == "Port") return reader.number(field, node.kubelet_port);
        });
      });
    }
  });
}

// targetPort is an IntOrString.
void read_target_port(Reader& reader, Value value, std::string& out) {
  ondemand::json_type type{};
  if (!reader.sound(value.type().get(type))) return;
  if (type != ondemand::json_type::number) return reader.text(value, out);
  std::int32_t number = 0;
  reader.number(value, number);
  out = std::to_string(number);
}

void read_service_ports(Reader& reader, Value value, Service& service) {
  reader.structs(value, service.ports, [&](Key key, Value each, ServicePort& port) {
    if (key == "name") return reader.text(each, port.name);
    if (key == "protocol") return reader.text(each, port.protocol);
    if (key == "port") return reader.number(each, port.port);
    if (key == "nodePort") return reader.number(each, port.node_port);
    if (key == "targetPort") return read_target_port(reader, each, port.target_port);
    if (key == "appProtocol") return reader.text(each, port.app_protocol);
  });
}

template <class T, class Read>
void read_optional(Reader& reader, Value value, std::optional<T>& out, Read read) {
  bool null = false;
  out.reset();
  if (!value.is_null().get(null) && null) return;
  (reader.*read)(value, out.emplace());
}

void read_session_affinity(Reader& reader, Value value, std::int32_t& seconds) {
  reader.fields(value, [&](Key key, Value client_ip) {
    if (key != "clientIP") return;
    reader.fields(client_ip, [&](Key name, Value each) {
      if (name == "timeoutSeconds") return reader.number(each, seconds);
    });
  });
}

void read_service_spec(Reader& reader, Value value, Service& service) {
  reader.fields(value, [&](Key key, Value each) {
    if (key == "type") return reader.text(each, service.type);
    if (key == "loadBalancerClass") {
      return read_optional(reader, each, service.load_balancer_class, &Reader::text);
    }
    if (key == "loadBalancerIP") return reader.text(each, service.load_balancer_ip);
    if (key == "loadBalancerSourceRanges") {
      return reader.texts(each, service.load_balancer_source_ranges);
    }
    if (key == "ports") return read_service_ports(reader, each, service);
    if (key == "clusterIPs") return reader.texts(each, service.cluster_ips);
    if (key == "externalIPs") return reader.texts(each, service.external_ips);
    if (key == "ipFamilies") return reader.texts(each, service.ip_families);
    if (key == "ipFamilyPolicy") return reader.text(each, service.ip_family_policy);
    if (key == "externalTrafficPolicy") return reader.text(each, service.external_traffic_policy);
    if (key == "internalTrafficPolicy") return reader.text(each, service.internal_traffic_policy);
    if (key == "healthCheckNodePort") return reader.number(each, service.health_check_node_port);
    if (key == "sessionAffinity") return reader.text(each, service.session_affinity);
    if (key == "sessionAffinityConfig") {
      return read_session_affinity(reader, each, service.session_affinity_seconds);
    }
    if (key == "allocateLoadBalancerNodePorts") {
      return read_optional(reader, each, service.allocate_node_ports, &Reader::boolean);
    }
    if (key == "publishNotReadyAddresses") {
      return reader.boolean(each, service.publish_not_ready_addresses);
    }
  });
}

void read_ingress_ports(Reader& reader, Value value, LoadBalancerIngress& ingress) {
  reader.structs(value, ingress.ports, [&](Key key, Value each, IngressPort& port) {
    if (key == "port") return reader.number(each, port.port);
    if (key == "protocol") return reader.text(each, port.protocol);
    if (key == "error") return reader.text(each, port.error);
  });
}

void read_service_status(Reader& reader, Value value, Service& service) {
  reader.fields(value, [&](Key key, Value load_balancer) {
    if (key != "loadBalancer") return;
    reader.fields(load_balancer, [&](Key name, Value list) {
      if (name != "ingress") return;
      reader.structs(list, service.ingress,
                     [&](Key part, Value each, LoadBalancerIngress& ingress) {
                       if (part == "ip") return reader.text(each, ingress.ip);
                       if (part == "hostname") return reader.text(each, ingress.hostname);
                       if (part == "ipMode") return reader.text(each, ingress.ip_mode);
                       if (part == "ports") return read_ingress_ports(reader, each, ingress);
                     });
    });
  });
}

void read_reference(Reader& reader, Value value, ObjectReference& reference) {
  reader.fields(value, [&](Key key, Value each) {
    if (key == "apiVersion") return reader.text(each, reference.api_version);
    if (key == "kind") return reader.text(each, reference.kind);
    if (key == "namespace") return reader.text(each, reference.key.name_space);
    if (key == "name") return reader.text(each, reference.key.name);
    if (key == "uid") return reader.text(each, reference.uid);
    if (key == "resourceVersion") return reader.text(each, reference.resource_version);
  });
}

void read_status_details(Reader& reader, Value value, Status& status) {
  reader.fields(value, [&](Key key, Value each) {
    if (key == "name") return reader.text(each, status.name);
    if (key == "group") return reader.text(each, status.group);
    if (key == "kind") return reader.text(each, status.kind);
    if (key == "uid") return reader.text(each, status.uid);
    if (key == "retryAfterSeconds") {
      std::int32_t seconds = 0;
      reader.number(each, seconds);
      if (seconds > 0) status.retry_after = std::chrono::seconds(seconds);
    }
    if (key == "causes") {
      reader.structs(each, status.causes, [&](Key name, Value field, StatusCause& cause) {
        if (name == "reason") return reader.text(field, cause.reason);
        if (name == "message") return reader.text(field, cause.message);
        if (name == "field") return reader.text(field, cause.field);
      });
    }
  });
}

void read_binary_values(Reader& reader, Value value, StringMap& values) {
  reader.fields(value, [&](Key key, Value each) {
    std::string text;
    reader.text(each, text);
    Result<std::string> bytes = decode_base64(text);
    if (!bytes) return reader.mark_unreadable(bytes.error().message);
    values.set(key, *std::move(bytes));
  });
  values.shrink_to_fit();
}

}  // namespace

void read_meta(Reader& reader, Value value, ObjectMeta& meta) {
  reader.fields(value, [&](Key key, Value each) {
    if (key == "name") return reader.text(each, meta.key.name);
    if (key == "namespace") return reader.text(each, meta.key.name_space);
    if (key == "uid") return reader.text(each, meta.uid);
    if (key == "resourceVersion") return reader.text(each, meta.resource_version);
    if (key == "generation") return reader.number(each, meta.generation);
    if (key == "creationTimestamp") {
      std::optional<WallTime> time;
      reader.time(each, time);
      meta.creation_time = time.value_or(WallTime{});
    }
    if (key == "deletionTimestamp") return reader.time(each, meta.deletion_time);
    if (key == "finalizers") return reader.texts(each, meta.finalizers);
    if (key == "labels") return reader.map(each, meta.labels, [](Key) { return true; });
    if (key == "annotations") {
      reader.map(each, meta.annotations, [&](Key name) { return reader.keeps_annotation(name); });
    }
  });
}

void read_field(Reader& reader, Key key, Value value, Node& node) {
  if (key == "metadata") return read_meta(reader, value, node.meta);
  if (key == "spec") return read_node_spec(reader, value, node);
  if (key == "status") return read_node_status(reader, value, node);
}

void read_field(Reader& reader, Key key, Value value, NodeMetadata& node) {
  if (key == "metadata") read_meta(reader, value, node.meta);
}

void read_field(Reader& reader, Key key, Value value, Service& service) {
  if (key == "metadata") return read_meta(reader, value, service.meta);
  if (key == "spec") return read_service_spec(reader, value, service);
  if (key == "status") return read_service_status(reader, value, service);
}

void read_field(Reader& reader, Key key, Value value, Lease& lease) {
  if (key == "metadata") return read_meta(reader, value, lease.meta);
  if (key != "spec") return;
  reader.fields(value, [&](Key name, Value each) {
    if (name == "holderIdentity") return reader.text(each, lease.spec.holder);
    if (name == "leaseDurationSeconds") return reader.number(each, lease.spec.duration_seconds);
    if (name == "acquireTime") return reader.text(each, lease.spec.acquire_time);
    if (name == "renewTime") return reader.text(each, lease.spec.renew_time);
    if (name == "leaseTransitions") return reader.number(each, lease.spec.transitions);
  });
}

void read_field(Reader& reader, Key key, Value value, Event& event) {
  if (key == "metadata") return read_meta(reader, value, event.meta);
  if (key == "involvedObject") return read_reference(reader, value, event.involved);
  if (key == "type") return reader.text(value, event.type);
  if (key == "reason") return reader.text(value, event.reason);
  if (key == "message") return reader.text(value, event.message);
  if (key == "firstTimestamp") return reader.text(value, event.first_time);
  if (key == "lastTimestamp") return reader.text(value, event.last_time);
  if (key == "count") return reader.number(value, event.count);
  if (key == "source") {
    reader.fields(value, [&](Key name, Value each) {
      if (name == "component") return reader.text(each, event.component);
    });
  }
}

void read_field(Reader& reader, Key key, Value value, Namespace& name_space) {
  if (key == "metadata") return read_meta(reader, value, name_space.meta);
}

// The two fields have one set of keys, and either comes first.
void read_field(Reader& reader, Key key, Value value, ConfigMap& config) {
  if (key == "metadata") return read_meta(reader, value, config.meta);
  if (key == "data") return reader.add_to_map(value, config.data, [](Key) { return true; });
  if (key == "binaryData") return read_binary_values(reader, value, config.data);
}

void read_field(Reader& reader, Key key, Value value, Status& status) {
  if (key == "status") return reader.text(value, status.status);
  if (key == "reason") return reader.text(value, status.reason);
  if (key == "message") return reader.text(value, status.message);
  if (key == "code") return reader.number(value, status.code);
  if (key == "details") return read_status_details(reader, value, status);
}

}  // namespace isthmus::kube::decoding
