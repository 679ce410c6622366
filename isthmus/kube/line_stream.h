// The lines of a watch out of the pieces of a body.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "isthmus/kube/api_door.h"
#include "isthmus/net/lines.h"

namespace isthmus::kube {

// Longest line of a watch. An object is at most 1.5 MiB in etcd and grows when written as JSON.
inline constexpr std::size_t kWatchLineBytesMax = 8 * 1024 * 1024;

class LineStream final : public WatchStream {
 public:
  explicit LineStream(std::unique_ptr<net::BodyStream> body)
      : lines_(std::move(body), kWatchLineBytesMax) {}

  // Without the line feed; empty lines are skipped. lost: the body broke off, ended within a line,
  // or a line is longer than kWatchLineBytesMax.
  Task<Result<std::string>> next() override { return lines_.next(); }

 private:
  net::LineReader lines_;
};

}  // namespace isthmus::kube
