// The far end of a request, for tests of handlers: keeps what was answered.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/base/signal.h"
#include "isthmus/base/text.h"
#include "isthmus/net/http_server.h"

namespace isthmus::infra {

class RecordingWriter final : public net::ResponseWriter {
 public:
  Task<Result<>> respond(net::Response answer) override {
    response = std::move(answer);
    co_return Result<>{};
  }
  Task<Result<>> begin(int status, net::Headers headers) override {
    response = {status, std::move(headers), ""};
    co_return Result<>{};
  }
  Task<Result<>> chunk(std::string bytes) override {
    if (chunk_delay != Duration::zero()) CO_TRY(co_await sleep_for(chunk_delay));
    response.body += bytes;
    ++chunks;
    co_return Result<>{};
  }
  Task<Result<>> finish() override {
    finished = true;
    co_return Result<>{};
  }
  Task<Result<>> closed() override {
    CO_TRY(co_await client_left.wait());
    co_return fail(Outcome::lost, "the client left");
  }

  // Of a stream so far.
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (std::string_view line : split(response.body, '\n')) {
      if (!line.empty()) lines.emplace_back(line);
    }
    return lines;
  }

  net::Response response;
  bool finished = false;
  std::size_t chunks = 0;
  Duration chunk_delay{};  // How slowly the client reads.
  Signal client_left;
};

}  // namespace isthmus::infra
