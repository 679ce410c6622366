// One backend for one host: two that hold load balancers in the same network namespace would each
// take the other's for damage, and repair it.
//
// The claim is a unix socket with an abstract name, which the kernel keeps once per network
// namespace and frees when its process ends, however it ends.
#pragma once

#include "isthmus/base/result.h"

namespace isthmus::infra::drivers {

// A resource; whoever has it holds the host. Movable, because it is nothing but the owner of a
// descriptor.
class HostClaim {
 public:
  // For the network namespace of the caller. conflict: another process has it; the message names
  // its pid, where this process can see it.
  static Result<HostClaim> take();

  HostClaim(HostClaim&& other) noexcept;
  HostClaim& operator=(HostClaim&&) = delete;
  ~HostClaim();

 private:
  explicit HostClaim(int socket) : socket_(socket) {}

  int socket_;
};

}  // namespace isthmus::infra::drivers
