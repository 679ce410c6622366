// The annotations of ours that a Service may carry: one table, from which the reference
// (`isthmus reference annotations`) is made and by which a Service's are read.
//
// None is ever ignored. One that does not exist, does not work yet, or has a value that is none of
// its own is a mistake, and all mistakes of a Service are told together; what an absent one means
// stands in the table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/ip.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/cloud/load_balancer.h"
#include "isthmus/kube/api/string_map.h"

namespace isthmus::controllers {

inline constexpr std::string_view kAnnotationPrefix = "isthmus.dev/";

// Upstream's, read where spec.loadBalancerSourceRanges is empty.
inline constexpr std::string_view kSourceRangesAnnotation =
    "service.beta.kubernetes.io/load-balancer-source-ranges";

// By what a Node of a Service with externalTrafficPolicy Cluster is known to be well.
enum class NodeHealth : std::uint8_t {
  automatic,   // "auto": kube-proxy, unless no Node at all answers there.
  kube_proxy,  // "kube-proxy": its health port, 10256.
  kubelet,     // "kubelet": a connection to the kubelet's port.
};
std::string_view to_string(NodeHealth health);
std::optional<NodeHealth> parse_node_health(std::string_view text);

// What a Service's annotations ask for, as far as they are there.
struct ServiceWishes {
  std::string pool = {};
  std::vector<IpAddress> addresses = {};
  std::optional<cloud::LoadBalancerSpec::SourceAddress> source_address = {};
  std::optional<NodeHealth> node_health = {};

  // Of the health check; each replaces the default of the one that is used.
  std::optional<cloud::LoadBalancerSpec::HealthCheck::Protocol> check_protocol = {};
  std::optional<std::uint16_t> check_port = {};
  std::optional<std::string> check_path = {};
  std::optional<Duration> check_interval = {};
  std::optional<Duration> check_timeout = {};
  std::optional<std::uint32_t> check_rise = {};
  std::optional<std::uint32_t> check_fall = {};

  friend bool operator==(const ServiceWishes&, const ServiceWishes&) = default;
};

// One row of the table.
struct ServiceAnnotation {
  std::string_view name;    // Without the prefix.
  std::string_view values;  // What it may be, for people: "masquerade or keep".
  std::string_view absent;  // What it means where it is not there.
  std::string_view meaning;

  // Takes the value over, or answers what it must be. nullptr: reserved, refused by name.
  Result<> (*read)(std::string_view value, ServiceWishes& wishes);
};
std::span<const ServiceAnnotation> service_annotations();

// Reads them all. A mistake is told at the annotation's whole name; the wishes of a Service with
// mistakes mean nothing.
ServiceWishes read_annotations(const kube::StringMap& annotations, Mistakes& mistakes);

// Which annotations a watched Service must keep for this: ours and upstream's source ranges.
bool is_service_annotation(std::string_view key);

// The reference page, Markdown.
std::string annotation_reference();

}  // namespace isthmus::controllers
