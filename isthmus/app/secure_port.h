// The secure port: an HTTPS server, what it answers (operator_endpoints.h), who may ask
// (guarded_handler.h), and what is followed while it runs: its certificate, the authorities of
// client certificates, the lag of the event loop.
//
// It does not depend on leading, nor on the controllers: a standby and a manager in trouble answer
// as well.
#pragma once

#include <cstdint>
#include <memory>

#include "isthmus/app/operator_endpoints.h"
#include "isthmus/app/serving_setup.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/net/world_posix.h"

namespace isthmus::app {

// A resource; runs once. Everything passed by reference outlives it.
class SecurePort final {
 public:
  // Binds at once; serves nothing before run(). Checks of its own are added to the sources'.
  // Errors: those of net::listen; absent when --cert-dir is no directory.
  static Result<std::unique_ptr<SecurePort>> open(net::PosixWorld& world, const ServingSetup& setup,
                                                  EndpointSources sources, Metrics& metrics,
                                                  Logger& log);
  ~SecurePort();

  std::uint16_t port() const;

  // Serves until its scope is cancelled.
  Task<Result<>> run();

 private:
  struct Parts;
  explicit SecurePort(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace isthmus::app
