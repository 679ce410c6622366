#include "isthmus/infra/drivers/host_claim.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "isthmus/infra/drivers/netlink_socket.h"

namespace isthmus::infra::drivers {
namespace {

constexpr std::string_view kName = "isthmus/infra/host";

int open_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

struct Name {
  Name() {
    address.sun_family = AF_UNIX;
    // The zero before it makes it abstract: no file, and gone with its socket.
    kName.copy(&address.sun_path[1], kName.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  static constexpr socklen_t kSize = offsetof(sockaddr_un, sun_path) + 1 + kName.size();

  sockaddr_un address{};
};

// " (pid 42)", or nothing: it may have ended meanwhile, or live where we cannot see it.
std::string holder() {
  const int socket = open_socket();
  ucred credentials{};
  socklen_t size = sizeof credentials;
  const bool known = socket >= 0 && ::connect(socket, Name().get(), Name::kSize) == 0 &&
                     ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 &&
                     credentials.pid > 0;
  if (socket >= 0) ::close(socket);
  return known ? fmt::format(" (pid {})", credentials.pid) : "";
}

}  // namespace

Result<HostClaim> HostClaim::take() {
  HostClaim claim(open_socket());
  if (claim.socket_ < 0) return fail(outcome_of(errno), "opening a unix socket");
  // Listening, so that the next one learns whose it is.
  if (::bind(claim.socket_, Name().get(), Name::kSize) == 0 && ::listen(claim.socket_, 1) == 0) {
    return claim;
  }
  const int error_number = errno;
  if (error_number != EADDRINUSE) {
    return fail(outcome_of(error_number),
                fmt::format("claiming this host: {}", std::strerror(error_number)));
  }
  return fail(Outcome::conflict,
              fmt::format("another isthmus infra{} holds the load balancers of this host; stop it "
                          "first, or run this one in a network namespace of its own",
                          holder()));
}

HostClaim::HostClaim(HostClaim&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

HostClaim::~HostClaim() {
  if (socket_ >= 0) ::close(socket_);
}

}  // namespace isthmus::infra::drivers
