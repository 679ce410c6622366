// The lines of a streamed body.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "isthmus/net/transport.h"

namespace isthmus::net {

// A resource.
class LineReader final {
 public:
  LineReader(std::unique_ptr<BodyStream> body, std::size_t line_bytes_max);

  // The next line without its line feed; empty lines are skipped, so an empty string is the
  // complete end of the body. lost: the body broke off, ended within a line, or a line is longer
  // than line_bytes_max. cancelled, deadline: call again to go on.
  Task<Result<std::string>> next();

 private:
  const std::unique_ptr<BodyStream> body_;
  const std::size_t line_bytes_max_;
  std::string buffer_;
  std::size_t begin_ = 0;    // Of the line that is being read.
  std::size_t scanned_ = 0;  // No line feed before this.
};

}  // namespace isthmus::net
