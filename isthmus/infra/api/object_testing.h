// Objects that use every member, for the tests of codecs.
#pragma once

#include <chrono>
#include <string_view>

#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/pool.h"
#include "isthmus/infra/api/route_table.h"
#include "isthmus/infra/api/target_set.h"

namespace isthmus::infra::api {

inline IpAddress ip(std::string_view text) {
  Result<IpAddress> address = parse_ip(text);
  ISTHMUS_ASSERT(address, "a test names an address");
  return *address;
}

inline IpPrefix prefix(std::string_view text) {
  Result<IpPrefix> prefix = parse_prefix(text);
  ISTHMUS_ASSERT(prefix, "a test names a prefix");
  return *prefix;
}

inline const WallTime kNewYear{std::chrono::seconds(1'767'225'600)};  // 2026

inline Metadata some_metadata(std::string name) {
  return {.owner = "prod",
          .name = std::move(name),
          .uid = "u-1",
          .labels = {{"app", "web"}},
          .deletion_protection = true,
          .generation = 3,
          .revision = 42,
          .deletion_requested_at = kNewYear};
}

inline LoadBalancerSpec a_load_balancer_spec() {
  using namespace std::chrono_literals;
  return {.pool = "public",
          .addresses = {ip("192.0.2.1"), ip("2001:db8::1")},
          .families = {IpFamily::v4, IpFamily::v6},
          .sharing_key = "k",
          .listeners = {{"http", Protocol::tcp, 80, "nodes"}, {"udp-53", Protocol::udp, 53, "dns"}},
          .target_groups = {{.name = "nodes",
                             .target_set = "workers",
                             .port = 30080,
                             .targets = {},
                             .health_check = HealthCheck{.protocol = HealthCheck::Protocol::http,
                                                         .port = 10256,
                                                         .path = "/healthz",
                                                         .interval = 5s,
                                                         .timeout = 500ms,
                                                         .rise = 1,
                                                         .fall = 3}},
                            {.name = "dns",
                             .target_set = "",
                             .port = 0,
                             .targets = {{ip("10.0.0.1"), 53, 1, false},
                                         {ip("2001:db8::53"), 5353, 0, true}},
                             .health_check = HealthCheck{}}},
          .allowed_sources = {prefix("198.51.100.0/24"), prefix("::/0")},
          .affinity = Affinity::client_ip,
          .source_address = SourceAddress::keep};
}

inline LoadBalancer a_load_balancer() {
  return {.metadata = some_metadata("web"),
          .spec = a_load_balancer_spec(),
          .status = {.addresses = {ip("192.0.2.1"), ip("2001:db8::1")},
                     .observed_generation = 3,
                     .applied_generation = 2,
                     .conditions = {{.type = std::string(condition::ready),
                                     .status = ConditionStatus::is_true,
                                     .reason = "Programmed",
                                     .message = "the host serves it",
                                     .last_transition = kNewYear,
                                     .observed_generation = 3}},
                     .targets = 3,
                     .targets_healthy = 2,
                     .targets_serving = 1,
                     .repairs = 7,
                     .last_repair = kNewYear,
                     .last_repair_reason = "a rule was gone",
                     .target_health = {{.group = "nodes",
                                        .name = "node1",
                                        .address = ip("10.0.0.11"),
                                        .port = 30080,
                                        .health = Health::unhealthy,
                                        .reason = "connection refused",
                                        .serving = true}}}};
}

inline TargetSet a_target_set() {
  return {
      .metadata = some_metadata("workers"),
      .targets = {{.name = "node1.example", .addresses = {ip("10.0.0.11"), ip("2001:db8::11")}},
                  {.name = "node2", .addresses = {ip("10.0.0.12")}, .weight = 500, .drain = true}},
      .users = 2};
}

inline RouteTable a_route_table() {
  return {.metadata = some_metadata("pods"),
          .spec = {.cluster_cidrs = {prefix("10.244.0.0/16"), prefix("fd00:10:244::/48")},
                   .routes = {{prefix("10.244.1.0/24"), "vm-1", ip("10.0.0.11")},
                              {prefix("10.244.2.0/24"), "", ip("10.0.0.12")},
                              {prefix("fd00:10:244:1::/64"), "vm-1", std::nullopt}}},
          .status = {.observed_generation = 3,
                     .applied_generation = 2,
                     .conditions = {{.type = std::string(condition::ready),
                                     .status = ConditionStatus::is_false,
                                     .reason = "RouteConflict",
                                     .message = "somebody else has a route",
                                     .last_transition = kNewYear,
                                     .observed_generation = 3}},
                     .routes = {{prefix("10.244.1.0/24"), RouteState::applied, "", ""},
                                {prefix("10.244.2.0/24"), RouteState::conflict, "ForeignRoute",
                                 "static via 10.0.0.9"},
                                {prefix("fd00:10:244:1::/64"), RouteState::pending, "LinkDown",
                                 "eth0 is down"}},
                     .orphans = {{prefix("10.244.8.0/24"), std::nullopt},
                                 {prefix("10.244.9.0/24"), ip("10.0.0.19")}}}};
}

inline Pool a_pool() {
  return {.name = "public",
          .ranges = {prefix("192.0.2.0/28"), prefix("2001:db8::/64")},
          .interface = "eth0",
          .cool_down = std::chrono::seconds(90),
          .auto_assign = false,
          .source_address = SourceAddress::keep,
          .revision = 5,
          .use = {{IpFamily::v4, 16, 1, 2, 13},
                  {IpFamily::v6, std::uint64_t{1} << 53, 0, 0, std::uint64_t{1} << 53}}};
}

inline AllocatedAddress an_address() {
  return {.address = ip("192.0.2.1"),
          .pool = "public",
          .state = AllocatedAddress::State::cooling,
          .owner = "prod",
          .holders = {"web", "api"},
          .sharing_key = "k",
          .host = "lb1",
          .epoch = 4,
          .free_at = kNewYear,
          .revision = 6};
}

}  // namespace isthmus::infra::api
