// What the changes in the store look like to somebody who watches, as a door: each kind of watch
// has its own.
#pragma once

#include <string_view>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/api/watch_event.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

class EventSource {
 public:
  virtual ~EventSource() = default;

  // The keys whose changes it is asked about.
  virtual std::string_view prefix() const = 0;

  // What to tell of these changes, which came after `before`, in whole commits: all events but the
  // last of a commit carry the revision before it. lost: a damaged record; else an error of the
  // store.
  virtual Task<Result<std::vector<api::WatchEvent>>> events_of(Changes changes,
                                                               Revision before) = 0;
};

}  // namespace isthmus::infra
