#include "isthmus/net/curl_transport.h"

#include <optional>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/net/curl_endpoint_impl.h"
#include "isthmus/net/curl_multi_impl.h"
#include "isthmus/net/curl_transfer_impl.h"
#include "isthmus/net/slots_impl.h"
#include "isthmus/net/world_posix.h"

namespace isthmus::net {
namespace {

class CurlStream final : public BodyStream {
 public:
  CurlStream(Slots::Slot slot, std::unique_ptr<CurlTransfer> transfer)
      : slot_(std::move(slot)), transfer_(std::move(transfer)) {}

  Task<Result<std::string>> next() override { return transfer_->next(); }

 private:
  Slots::Slot slot_;  // Given back when the connection is closed or free again.
  std::unique_ptr<CurlTransfer> transfer_;
};

class CurlTransport final : public Transport {
 public:
  CurlTransport(PosixWorld& world, CurlEndpoint endpoint, TransportLimits limits)
      : endpoint_(std::move(endpoint)),
        limits_(limits),
        slots_(limits.connections_max),
        multi_(world.reactor(), limits.connections_max) {}

  Task<Result<Response>> call(Request request) override {
    std::string name = request.method + " " + endpoint_.name + request.target;
    Result<Response> response =
        co_await with_timeout(limits_.call_timeout, exchange(std::move(request)));
    if (is_our_own(response.outcome())) co_return fail(name, response.error());
    co_return response;
  }

  Task<Result<StreamedResponse>> open(Request request) override {
    std::string name = request.method + " " + endpoint_.name + request.target;
    Result<StreamedResponse> response =
        co_await with_timeout(limits_.call_timeout, begin(std::move(request)));
    if (is_our_own(response.outcome())) co_return fail(name, response.error());
    co_return response;
  }

 private:
  Task<Result<Response>> exchange(Request request) {
    CO_TRY(check_request(request));
    const Slots::Slot slot = CO_TRY(co_await slots_.take());
    CurlTransfer transfer(multi_, endpoint_, limits_, CurlTransfer::Kind::whole,
                          std::move(request));
    CO_TRY(co_await transfer.finished());
    co_return Response{.status = transfer.status(),
                       .headers = transfer.take_headers(),
                       .body = transfer.take_body()};
  }

  Task<Result<StreamedResponse>> begin(Request request) {
    CO_TRY(check_request(request));
    Slots::Slot slot = CO_TRY(co_await slots_.take());
    auto transfer = std::make_unique<CurlTransfer>(multi_, endpoint_, limits_,
                                                   CurlTransfer::Kind::stream, std::move(request));
    CO_TRY(co_await transfer->headers_received());
    StreamedResponse response;
    response.status = transfer->status();
    response.headers = transfer->take_headers();
    response.body = std::make_unique<CurlStream>(std::move(slot), std::move(transfer));
    co_return response;
  }

  const CurlEndpoint endpoint_;
  const TransportLimits limits_;
  Slots slots_;
  CurlMulti multi_;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_curl_transport(PosixWorld& world, Endpoint endpoint,
                                                       TransportLimits limits) {
  ISTHMUS_ASSERT(limits.connections_max > 0, "a transport without connections");
  CurlEndpoint parsed = TRY(parse_endpoint(std::move(endpoint)));
  return std::make_unique<CurlTransport>(world, std::move(parsed), limits);
}

}  // namespace isthmus::net
