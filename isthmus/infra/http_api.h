// The infrastructure API over HTTP: every request of openapi.yaml, from values to values.
//
// A request gets an id (its own X-Request-Id where that is sane), which its answer, its problem and
// the log of what it changed carry. Who may do what is decided here, before anything is read.
#pragma once

#include <string>

#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/access.h"
#include "isthmus/infra/exchange.h"
#include "isthmus/infra/instance_api.h"
#include "isthmus/infra/instances.h"
#include "isthmus/infra/inventory_file.h"
#include "isthmus/infra/watch_stream.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

class HttpApi final : public net::HttpHandler {
 public:
  // All of it outlives the handler.
  struct Parts {
    Store& store;
    Instances& instances;
    const Access& access;
    const InventoryFile* inventory;  // nullptr where there is none.
    Random& random;
    Metrics& metrics;
    Logger& log;
    std::string version;  // Of the program, for people.
  };
  explicit HttpApi(Parts parts);

  Task<Result<>> serve(net::Request request, net::Peer peer, net::ResponseWriter& writer) override;

 private:
  // What becomes of a request before its operation: the exchange, or the answer that ends it.
  std::expected<Exchange, net::Response> admit(net::Request request, const net::Peer& peer,
                                               std::string id) const;
  Task<net::Response> answer(const Exchange& exchange);
  Task<net::Response> readyz(const Exchange& exchange);
  Task<Result<>> watch(Exchange exchange, net::ResponseWriter& writer);
  Task<Result<>> send(net::Response response, std::string id, net::ResponseWriter& writer);

  net::Response server_info() const;
  std::string request_id(const net::Request& request);
  void count(std::string_view operation, int status);
  void refresh_gauges();

  Parts parts_;
  InstanceApi instance_api_;
  WatchStream watch_stream_;
  Metrics::OnCollect on_collect_;
};

}  // namespace isthmus::infra
