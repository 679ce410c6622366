// Reads the answer to a GET and judges it as a health check does, keeping nothing of it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/base/result.h"

namespace isthmus::net {

class ProbeAnswer {
 public:
  ProbeAnswer();
  ~ProbeAnswer();

  // Takes what has come. Nothing: more is needed. Else what it is, as Prober::probe() says; then
  // nothing more is to be fed.
  std::optional<Result<>> feed(std::string_view bytes);

  // The peer has closed: the answer was delimited by that, or was never complete.
  Result<> end();

 private:
  class Parser;

  std::unique_ptr<Parser> parser_;  // Of the current answer; a server may send interim ones first.
  std::string rest_;                // A line that is not complete.
  std::size_t bytes_ = 0;
};

}  // namespace isthmus::net
