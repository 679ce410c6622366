// A body that comes in these pieces, each in a turn of its own, for tests.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/net/transport.h"

namespace isthmus::net::testing {

// Ends after the last piece; one that is an error is answered like any other.
class Pieces final : public net::BodyStream {
 public:
  explicit Pieces(std::deque<Result<std::string>> pieces) : pieces_(std::move(pieces)) {}
  Task<Result<std::string>> next() override {
    CO_TRY(co_await yield());
    if (pieces_.empty()) co_return std::string();
    Result<std::string> piece = std::move(pieces_.front());
    pieces_.pop_front();
    co_return piece;
  }

 private:
  std::deque<Result<std::string>> pieces_;
};

}  // namespace isthmus::net::testing
