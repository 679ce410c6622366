// The door of a manager that only says what it would do (`isthmus run --dry-run`): reads pass, and
// no write does. What each write would have changed is logged, once for as long as the same is
// wanted again and again.
//
// Whoever writes is answered as if it had happened, and reads back what it wrote by get() for as
// long as the real object stays at the version that it was decided on. So a controller goes on to
// its next step and rests, instead of doing the first one for ever; and the moment the object
// really changes, everything is decided anew. The versions that are answered meanwhile are no
// server's. Lists and watches show what is real.
//
//   patch, remove   preconditions are held against the live object (conflict, absent), as a server
//                   does; needs the verb get, and no right to write
//   create          conflict where there is such an object
//   an Event        is told in the log, and nothing is asked
#pragma once

#include <memory>
#include <string>

#include "isthmus/base/log.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::kube {

// A resource; the next door and the log outlive it. Remembers some kilobytes per object that would
// be written, of at most ten thousand objects: one that is forgotten is told of again.
class DryRunApi final : public ApiDoor {
 public:
  DryRunApi(ApiDoor& next, Logger& log);
  ~DryRunApi() override;

  Task<Result<std::string>> get(ObjectName object) override;
  Task<Result<std::string>> list(ListRequest request) override;
  Task<Result<std::unique_ptr<WatchStream>>> watch(WatchRequest request) override;
  Task<Result<std::string>> create(CreateRequest request) override;
  Task<Result<std::string>> patch(PatchRequest request) override;
  Task<Result<>> remove(DeleteRequest request) override;

 private:
  struct Memory;

  ApiDoor& next_;
  const std::unique_ptr<Memory> memory_;
};

}  // namespace isthmus::kube
