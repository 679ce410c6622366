// A transport whose answers can be made to get lost, for whoever tests what becomes of those that
// waited for them.
#pragma once

#include <memory>
#include <utility>

#include "isthmus/net/transport.h"

namespace isthmus::net {

// A resource.
class LossyTransport final : public Transport {
 public:
  explicit LossyTransport(std::unique_ptr<Transport> next) : next_(std::move(next)) {}

  // While it is on, requests that change something are sent and have their effect, and their
  // answers are lost; those that only look are answered.
  void lose_answers(bool on) { loses_ = on; }

  Task<Result<Response>> call(Request request) override {
    const bool looks = request.method == "GET";
    Response response = CO_TRY(co_await next_->call(std::move(request)));
    if (loses_ && !looks) co_return fail(Outcome::lost, "the answer was made to get lost");
    co_return response;
  }
  Task<Result<StreamedResponse>> open(Request request) override {
    return next_->open(std::move(request));
  }

 private:
  const std::unique_ptr<Transport> next_;
  bool loses_ = false;
};

}  // namespace isthmus::net
