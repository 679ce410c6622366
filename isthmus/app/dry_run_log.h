// The log of a dry run: what controllers say they have done is marked as not done, "node
// initialized (dry run)", as kubectl marks it.
//
// In a dry run the same thing is found undone, and decided, again and again. A line is therefore
// written once for as long as the same is said in the same words of the same thing, which is what
// its first field names. Warnings and errors are about what is real, and always written.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "isthmus/base/log.h"

namespace isthmus::app {

// A resource; `next` outlives it. Remembers the last words about ten thousand things at most.
class DryRunLog final : public Logger {
 public:
  explicit DryRunLog(Logger& next) : next_(next) {}

  void write(const LogRecord& record) override;

 private:
  bool is_news(const LogRecord& record);

  Logger& next_;
  std::map<std::pair<std::string, std::string>, std::string> said_;  // By message and first field.
};

}  // namespace isthmus::app
