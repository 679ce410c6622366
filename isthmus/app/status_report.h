// Everything `isthmus status` shows, read from a backend, and its form for programs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/orphan.h"
#include "isthmus/infra/api/pool.h"
#include "isthmus/infra/api/route_table.h"
#include "isthmus/net/transport.h"

namespace isthmus::app {

struct StatusReport {
  std::vector<infra::api::LoadBalancer> balancers;      // Ordered by owner and name.
  std::vector<infra::api::AllocatedAddress> addresses;  // By owner, then address.
  std::vector<infra::api::Pool> pools;
  std::vector<infra::api::RouteTable> route_tables;        // By owner and name.
  std::optional<std::vector<infra::api::Orphan>> orphans;  // Nothing: only shown to an admin.
  std::size_t not_understood = 0;                          // Items that had to be left out.
};

// Whether the host holds the present generation and the server calls it ready.
bool is_ready(const infra::api::LoadBalancer& balancer);
bool is_ready(const infra::api::RouteTable& table);

// Everything is ready, and there is no orphan.
bool is_well(const StatusReport& report);

// One JSON document: {"kind":"Status", "loadBalancers": […], "addresses": […], "pools": […],
// "routeTables": […], "orphans": […] or null}, with the objects as the API has them.
std::string encode(const StatusReport& report);

// The transport outlives it.
class StatusReader {
 public:
  // An empty token is not sent.
  StatusReader(net::Transport& transport, Secret token);

  // Of one owner, or of everybody the token lets see. Errors, each a sentence for people: lost (no
  // answer, or none of ours), denied (the token), unsupported (a server without load balancers),
  // absent or invalid (what the server says about it).
  Task<Result<StatusReport>> read(std::string owner);

 private:
  Task<Result<net::Response>> get(std::string target);
  Task<Result<std::vector<std::string>>> owners();
  Task<Result<>> read_balancers(std::string owner, StatusReport& report);
  Task<Result<>> read_addresses(std::string owner, StatusReport& report);
  Task<Result<>> read_route_tables(std::string owner, StatusReport& report);
  Task<Result<>> read_orphans(std::string owner, StatusReport& report);

  net::Transport& transport_;
  Secret token_;
};

}  // namespace isthmus::app
