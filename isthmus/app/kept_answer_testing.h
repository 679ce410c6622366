// Keeps the one answer that a handler gives, for tests of handlers.
#pragma once

#include <string>
#include <utility>

#include "isthmus/net/http_server.h"

namespace isthmus::app {

class KeptAnswer final : public net::ResponseWriter {
 public:
  Task<Result<>> respond(net::Response answer) override {
    response = std::move(answer);
    co_return Result<>{};
  }
  Task<Result<>> begin(int, net::Headers) override { co_return fail(Outcome::lost, "unused"); }
  Task<Result<>> chunk(std::string) override { co_return fail(Outcome::lost, "unused"); }
  Task<Result<>> finish() override { co_return fail(Outcome::lost, "unused"); }
  Task<Result<>> closed() override { co_return fail(Outcome::lost, "unused"); }

  net::Response response;
};

}  // namespace isthmus::app
