#include "isthmus/net/lines.h"

#include <utility>

namespace isthmus::net {

LineReader::LineReader(std::unique_ptr<BodyStream> body, std::size_t line_bytes_max)
    : body_(std::move(body)), line_bytes_max_(line_bytes_max) {}

Task<Result<std::string>> LineReader::next() {
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(begin_, end - begin_);
      begin_ = scanned_ = end + 1;
      if (line.empty()) continue;
      co_return line;
    }
    buffer_.erase(0, begin_);  // Once per piece, not per line, so that bytes are moved only once.
    begin_ = 0;
    scanned_ = buffer_.size();
    if (buffer_.size() > line_bytes_max_) {
      co_return fail(Outcome::lost, "a line of the watch is too long");
    }
    std::string piece = CO_TRY(co_await body_->next());
    if (piece.empty()) {
      if (buffer_.empty()) co_return std::string();
      co_return fail(Outcome::lost, "the watch ended within a line");
    }
    if (buffer_.empty()) {
      buffer_ = std::move(piece);  // And gives back what an earlier burst had needed.
    } else {
      buffer_ += piece;
    }
  }
}

}  // namespace isthmus::net
