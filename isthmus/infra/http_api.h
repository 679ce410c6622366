// The infrastructure API over HTTP: every request of openapi.yaml, from values to values.
//
// A request gets an id (its own X-Request-Id where that is sane), which its answer, its problem and
// the log of what it changed carry. Who may do what is decided here, before anything is read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/access.h"
#include "isthmus/infra/exchange.h"
#include "isthmus/infra/instance_api.h"
#include "isthmus/infra/instances.h"
#include "isthmus/infra/inventory_file.h"
#include "isthmus/infra/object_api.h"
#include "isthmus/infra/refusal_log.h"
#include "isthmus/infra/watch_stream.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

class HttpApi final : public net::HttpHandler {
 public:
  // What it refers to outlives the handler.
  struct Parts {
    Store& store;
    Instances& instances;
    const Access& access;
    const InventoryFile* inventory;  // nullptr where there is none.
    Random& random;
    Metrics& metrics;
    Logger& log;
    std::string version;  // Of the program, for people.

    // Where this server has a host for load balancers; without a ledger they are not offered. The
    // driver is called by its name, and whoever knows the health of targets may be missing.
    Ledger* ledger = nullptr;
    const BalancerView* view = nullptr;
    std::string driver = {};
    // Needed with a ledger. Without a clock nobody is told who is turned away (refusal_log.h).
    const Clock* clock = nullptr;
    std::function<bool()> host_is_ready = {};  // Whether all of it has been tried once.
    // Chains of others that may drop what is sent on; may be missing.
    std::function<std::vector<std::string>()> dropping_chains = {};

    // Why the configuration file was not loaded when it last changed; nothing while it is.
    std::function<std::optional<std::string>()> config_trouble = {};

    // What of the file waits for a restart, in words; nothing where all of it is in force.
    std::function<std::optional<std::string>()> restart_needed = {};
  };
  explicit HttpApi(Parts parts);

  Task<Result<>> serve(net::Request request, net::Peer peer, net::ResponseWriter& writer) override;

 private:
  // What becomes of a request before its operation: the exchange, or the answer that ends it.
  std::expected<Exchange, net::Response> admit(net::Request request, const net::Peer& peer,
                                               std::string id);
  Task<net::Response> answer(const Exchange& exchange, net::ResponseWriter& writer);
  Task<net::Response> readyz(const Exchange& exchange);
  Task<std::string> owners_line();
  Task<std::string> host_line(bool is_local);
  Task<Result<>> watch_instances(Exchange exchange, net::ResponseWriter& writer);
  Task<Result<>> watch_owner(Exchange exchange, net::ResponseWriter& writer);
  Task<Result<>> watch(Exchange exchange, EventSource& source, net::ResponseWriter& writer);
  Task<Result<>> send(net::Response response, std::string id, net::ResponseWriter& writer);

  net::Response server_info(const Caller& caller) const;
  std::string request_id(const net::Request& request);
  void count(std::string_view operation, int status);
  void refresh_gauges();

  Parts parts_;
  InstanceApi instance_api_;
  std::optional<ObjectApi> object_api_;
  WatchStream watch_stream_;
  std::optional<RefusalLog> refusals_;
  Metrics::OnCollect on_collect_;
};

}  // namespace isthmus::infra
