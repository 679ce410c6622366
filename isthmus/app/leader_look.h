// A look at who leads, by one who does not want to: a dry run says beside whom it runs.
#pragma once

#include <optional>
#include <string>

#include "isthmus/base/log.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::app {

// A resource; the doors outlive it.
class LeaderLook final {
 public:
  LeaderLook(kube::ApiDoor& api, kube::ObjectKey lease, Logger& log)
      : api_(api), lease_(std::move(lease)), log_(log) {}

  // Looks every few seconds, and logs who holds the lease whenever that is another than before,
  // until the scope is cancelled.
  Task<Result<>> run();

 private:
  Task<Result<>> look();

  kube::ApiDoor& api_;
  const kube::ObjectKey lease_;
  Logger& log_;
  std::optional<std::string> told_;
  kube::Decoder decoder_;
};

}  // namespace isthmus::app
