// What a plan has to tell people, as data.
#pragma once

#include <string>

namespace isthmus::controllers {

// One thing to tell people about an object.
struct Notice {
  bool warning = true;
  std::string reason = {};  // Stable: people filter by it.
  std::string message = {};

  // What makes it another notice than before; empty: the message. For messages that carry words of
  // others, which may differ each time.
  std::string sameness = {};

  friend bool operator==(const Notice&, const Notice&) = default;
};

}  // namespace isthmus::controllers
