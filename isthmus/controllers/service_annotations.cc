#include "isthmus/controllers/service_annotations.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/duration.h"
#include "isthmus/base/text.h"
#include "isthmus/controllers/service_complaints.h"
#include "isthmus/controllers/usable_address.h"

namespace isthmus::controllers {
namespace {

using HealthCheck = cloud::LoadBalancerSpec::HealthCheck;
using SourceAddress = cloud::LoadBalancerSpec::SourceAddress;

// The bounds are the backend's, so that who is refused is refused here, where the Service is read.
constexpr std::size_t kPoolBytesMax = 63;
constexpr std::size_t kAddressesMax = 8;
constexpr std::size_t kPathBytesMax = 1024;
constexpr Duration kIntervalMin = std::chrono::milliseconds(100);
constexpr Duration kTimeoutMin = std::chrono::milliseconds(10);
constexpr Duration kIntervalMax = std::chrono::hours(1);
constexpr std::uint32_t kInARowMax = 100;

std::unexpected<Error> expected(std::string_view what, std::string_view value) {
  return fail(Outcome::invalid, fmt::format("expected {}, found {}", what, shown(value)));
}

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// nullopt: it is no whole number from `low` to `high`, written in digits only.
std::optional<std::uint32_t> number(std::string_view value, std::uint32_t low, std::uint32_t high) {
  std::uint32_t result = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, result);
  if (error != std::errc() || stop != end || result < low || result > high) return std::nullopt;
  return result;
}

std::optional<Duration> duration(std::string_view value, Duration low, Duration high) {
  const Result<Duration> result = parse_duration(value);
  if (!result || *result < low || *result > high) return std::nullopt;
  return *result;
}

Result<> read_pool(std::string_view value, ServiceWishes& wishes) {
  const bool is_name =
      !value.empty() && value.size() <= kPoolBytesMax && value.front() != '-' &&
      value.back() != '-' &&
      std::ranges::all_of(value, [](char c) { return c == '-' || is_lower_or_digit(c); });
  if (!is_name) {
    return expected("the name of a pool: at most 63 lower-case letters, digits and '-'", value);
  }
  wishes.pool = value;
  return {};
}

Result<> read_addresses(std::string_view value, ServiceWishes& wishes) {
  const std::vector<std::string_view> parts = split(value, ',');
  if (parts.size() > kAddressesMax) {
    return fail(Outcome::invalid, fmt::format("at most {} addresses are possible, found {}",
                                              kAddressesMax, parts.size()));
  }
  for (const std::string_view part : parts) {
    const Result<IpAddress> address = parse_ip(trimmed(part));
    if (!address) return expected("IP addresses with commas between", value);
    if (const auto kind = why_unusable(*address)) {
      return fail(Outcome::invalid,
                  fmt::format("{} is {}, which nobody can reach", to_string(*address), *kind));
    }
    if (std::ranges::find(wishes.addresses, *address) != wishes.addresses.end()) {
      return fail(Outcome::invalid, fmt::format("{} is given twice", to_string(*address)));
    }
    wishes.addresses.push_back(*address);
  }
  return {};
}

Result<> read_source_address(std::string_view value, ServiceWishes& wishes) {
  if (value == "masquerade") {
    wishes.source_address = SourceAddress::masquerade;
  } else if (value == "keep") {
    wishes.source_address = SourceAddress::keep;
  } else {
    return expected("masquerade or keep", value);
  }
  return {};
}

Result<> read_check_node(std::string_view value, ServiceWishes& wishes) {
  wishes.node_health = parse_node_health(value);
  if (!wishes.node_health) return expected("auto, kube-proxy or kubelet", value);
  return {};
}

Result<> read_check_protocol(std::string_view value, ServiceWishes& wishes) {
  if (value == "http") {
    wishes.check_protocol = HealthCheck::Protocol::http;
  } else if (value == "tcp") {
    wishes.check_protocol = HealthCheck::Protocol::tcp;
  } else {
    return expected("http or tcp", value);
  }
  return {};
}

Result<> read_check_port(std::string_view value, ServiceWishes& wishes) {
  const std::optional<std::uint32_t> port = number(value, 1, UINT16_MAX);
  if (!port) return expected("a port from 1 to 65535", value);
  wishes.check_port = static_cast<std::uint16_t>(*port);
  return {};
}

Result<> read_check_path(std::string_view value, ServiceWishes& wishes) {
  const bool is_path = value.starts_with('/') && value.size() <= kPathBytesMax &&
                       std::ranges::all_of(value, [](char c) { return c > ' ' && c <= '~'; });
  if (!is_path) {
    return expected("a path that begins with '/', of at most 1024 printable characters", value);
  }
  wishes.check_path = value;
  return {};
}

Result<> read_check_interval(std::string_view value, ServiceWishes& wishes) {
  wishes.check_interval = duration(value, kIntervalMin, kIntervalMax);
  if (!wishes.check_interval) return expected("a duration from 100ms to 1h, like 5s", value);
  return {};
}

Result<> read_check_timeout(std::string_view value, ServiceWishes& wishes) {
  wishes.check_timeout = duration(value, kTimeoutMin, kIntervalMax);
  if (!wishes.check_timeout) return expected("a duration from 10ms to 1h, like 2s", value);
  return {};
}

Result<> read_check_rise(std::string_view value, ServiceWishes& wishes) {
  wishes.check_rise = number(value, 1, kInARowMax);
  if (!wishes.check_rise) return expected("a whole number from 1 to 100", value);
  return {};
}

Result<> read_check_fall(std::string_view value, ServiceWishes& wishes) {
  wishes.check_fall = number(value, 1, kInARowMax);
  if (!wishes.check_fall) return expected("a whole number from 1 to 100", value);
  return {};
}

constexpr ServiceAnnotation kTable[] = {
    {"pool", "the name of a pool", "the pool that the cloud gives to who names none",
     "Where the addresses come from.", read_pool},
    {"addresses", "IP addresses with commas between, at most 8",
     "`spec.loadBalancerIP`; without that too, the addresses in the Service's status where they "
     "are still free, else any",
     "The addresses the load balancer must have: honoured or refused. Families that are not among "
     "them get none.",
     read_addresses},
    {"source-address", "`masquerade` or `keep`", "as the pool says",
     "What a Node sees as the source of a packet: an address of the balancing host, or the "
     "client's own. `keep` needs the balancing host to be the Nodes' way back to the client.",
     read_source_address},
    {"health-check-node", "`auto`, `kube-proxy` or `kubelet`",
     "`--lb-node-health`, which is `auto` by default",
     "By what a Node is known to be well under `externalTrafficPolicy: Cluster`: by an answer of "
     "kube-proxy's health port (HTTP, 10256, `/healthz`), or by a connection to the kubelet's "
     "port. `auto` asks kube-proxy, and the kubelet where no Node at all answers there. Refused "
     "under `Local`.",
     read_check_node},
    {"health-check-protocol", "`http` or `tcp`", "that of the check which is made otherwise",
     "`http`: a complete answer of 200 to 399 is healthy. `tcp`: a connection is.",
     read_check_protocol},
    {"health-check-port", "1 to 65535",
     "that of the check which is made otherwise; under `externalTrafficPolicy: Local` the "
     "Service's `healthCheckNodePort`",
     "The port on the Nodes that is asked.", read_check_port},
    {"health-check-path", "a path that begins with `/`", "`/healthz`",
     "What is asked for; HTTP checks only.", read_check_path},
    {"health-check-interval", "100ms to 1h, like `5s`", "`5s`", "How often every Node is asked.",
     read_check_interval},
    {"health-check-timeout", "10ms to 1h, not longer than the interval",
     "`2s`, or the interval where that is shorter", "How long the whole answer may take.",
     read_check_timeout},
    {"health-check-rise", "1 to 100", "`2`", "So many good answers in a row make a Node healthy.",
     read_check_rise},
    {"health-check-fall", "1 to 100", "`2`", "So many bad answers in a row make it unhealthy.",
     read_check_fall},
    {"protocol", "", "", "The application protocol of the ports (`http`, `https`).", nullptr},
    {"certificate", "", "", "The certificate that TLS is ended with.", nullptr},
    {"algorithm", "", "", "How a Node is chosen for a new flow.", nullptr},
    {"proxy-protocol", "", "", "Telling the client's address in front of the bytes.", nullptr},
    {"idle-timeout", "", "", "How long a silent connection is kept.", nullptr},
    {"preserve", "", "", "Keeping the load balancer when the Service is deleted.", nullptr},
};

// How many letters have to be added, dropped or replaced to make one of the other (Levenshtein).
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, replaced}));
    }
  }
  return row.back();
}

std::string unknown(std::string_view name) {
  const auto far = [&](const ServiceAnnotation& row) { return distance(name, row.name); };
  const ServiceAnnotation& nearest = *std::ranges::min_element(kTable, {}, far);
  // A third of the letters wrong is a misspelling; more is another word.
  if (far(nearest) > std::max<std::size_t>(1, nearest.name.size() / 3)) {
    return "there is no such annotation; remove it";
  }
  return fmt::format("there is no such annotation; did you mean {}{}?", kAnnotationPrefix,
                     nearest.name);
}

// The lines of the page are as long as those of this file.
constexpr std::string_view kIntroduction =
    R"(# Annotations of Services

<!-- Made by `isthmus reference annotations` from isthmus/controllers/service_annotations.cc. -->

All begin with `isthmus.dev/` and mean the same on every provider. None is ever ignored: one that
does not exist, does not work yet, or has a value that is none of its own leaves the Service as it
is, and a Warning event `InvalidAnnotation` names every mistake at once. What else of a Service
counts: [what a Service asks for](/docs/reference/services.md).

)";

constexpr std::string_view kReserved = R"(
## Reserved

These names will work in a later version, and are refused until then:

)";

constexpr std::string_view kOthers = R"(
## Which go together

- Each `health-check-` annotation replaces one value of the check that is made otherwise; the others
  stay. Who replaces protocol, port or path has a check of their own, and `auto` leaves it alone.
- A path needs an HTTP check. The kubelet's port speaks no plain HTTP, so `http` there needs a port
  of its own.
- Under `externalTrafficPolicy: Local` only the answer at `healthCheckNodePort` tells which Nodes
  have pods: `tcp` needs a port of its own there.
- `addresses` and `spec.loadBalancerIP` may both be given if the one is among the others.

## Of others

`service.beta.kubernetes.io/load-balancer-source-ranges` is read where
`spec.loadBalancerSourceRanges` is empty: ranges like `192.0.2.0/24` with commas between. All other
annotations are somebody else's and are not looked at.
)";

}  // namespace

std::string_view to_string(NodeHealth health) {
  switch (health) {
    case NodeHealth::automatic:
      return "auto";
    case NodeHealth::kube_proxy:
      return "kube-proxy";
    case NodeHealth::kubelet:
      return "kubelet";
  }
  return "auto";
}

std::optional<NodeHealth> parse_node_health(std::string_view text) {
  for (const NodeHealth health :
       {NodeHealth::automatic, NodeHealth::kube_proxy, NodeHealth::kubelet}) {
    if (text == to_string(health)) return health;
  }
  return std::nullopt;
}

std::span<const ServiceAnnotation> service_annotations() { return kTable; }

ServiceWishes read_annotations(const kube::StringMap& annotations, Mistakes& mistakes) {
  ServiceWishes wishes;
  for (const auto& [key, value] : annotations) {
    if (!key.starts_with(kAnnotationPrefix)) continue;
    const std::string_view name = std::string_view(key).substr(kAnnotationPrefix.size());
    const auto* row = std::ranges::find(kTable, name, &ServiceAnnotation::name);
    if (row == std::end(kTable)) {
      mistakes.add(key, unknown(name));
    } else if (row->read == nullptr) {
      mistakes.add(key, "does not work yet in this version; remove it");
    } else if (const Result<> taken = row->read(value, wishes); !taken) {
      mistakes.add(key, taken.error().message);
    }
  }
  return wishes;
}

bool is_service_annotation(std::string_view key) {
  return key.starts_with(kAnnotationPrefix) || key == kSourceRangesAnnotation;
}

std::string annotation_reference() {
  std::string page(kIntroduction);
  page += "| Annotation | Value | Without it |\n|---|---|---|\n";
  for (const ServiceAnnotation& row : service_annotations()) {
    if (row.read == nullptr) continue;
    page +=
        fmt::format("| `{}{}` | {} | {} |\n", kAnnotationPrefix, row.name, row.values, row.absent);
  }
  page += "\n## What they do\n\n";
  for (const ServiceAnnotation& row : service_annotations()) {
    if (row.read != nullptr) page += fmt::format("- **`{}`**: {}\n", row.name, row.meaning);
  }
  page += kReserved;
  for (const ServiceAnnotation& row : service_annotations()) {
    if (row.read == nullptr) page += fmt::format("- **`{}`**: {}\n", row.name, row.meaning);
  }
  page += kOthers;
  return page;
}

}  // namespace isthmus::controllers
