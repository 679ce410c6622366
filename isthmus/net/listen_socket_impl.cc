#include "isthmus/net/listen_socket_impl.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace isthmus::net {
namespace {

constexpr int kBacklog = 1024;  // Connections the kernel keeps for us while we are busy.

std::unexpected<Error> fail_with_errno(const std::string& address) {
  const int error = errno;
  Outcome outcome = Outcome::invalid;
  if (error == EADDRINUSE) outcome = Outcome::conflict;
  if (error == EACCES || error == EPERM) outcome = Outcome::denied;
  return fail(outcome, "listen: " + address + ": " + std::strerror(error));
}

// An address as the kernel takes it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress unix_address(const std::string& path) {
  SocketAddress address;
  auto& local = reinterpret_cast<sockaddr_un&>(address.storage);
  local.sun_family = AF_UNIX;
  path.copy(local.sun_path, sizeof(local.sun_path) - 1);
  address.bytes = sizeof(sockaddr_un);
  return address;
}

SocketAddress tcp_address(const std::string& host, std::uint16_t port) {
  SocketAddress address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.bytes = sizeof(v4);
  } else if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address.bytes = sizeof(v6);
  }
  return address;
}

// Whether anybody answers on that socket. A full backlog is an answer, too.
bool is_alive(const std::string& path) {
  const int number = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  SocketAddress address = unix_address(path);
  const bool refused = ::connect(number, address.get(), address.bytes) != 0 &&
                       (errno == ECONNREFUSED || errno == ENOENT);
  ::close(number);
  return !refused;
}

// Makes way for our socket where one of a process that has died is left.
Result<> remove_stale(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) {
    return fail(Outcome::invalid, "listen: " + path + ": exists and is not a socket");
  }
  if (is_alive(path)) {
    return fail(Outcome::conflict, "listen: " + path + ": a live server is listening there");
  }
  if (::unlink(path.c_str()) != 0) return fail_with_errno(path);
  return {};
}

void set(int number, int level, int option) {
  const int on = 1;
  ::setsockopt(number, level, option, &on, sizeof(on));
}

}  // namespace

ListenSocket::ListenSocket(ListenSocket&& other) noexcept
    : number_(std::exchange(other.number_, -1)),
      family_(other.family_),
      path_(std::exchange(other.path_, {})),
      device_(other.device_),
      inode_(other.inode_) {}

ListenSocket::~ListenSocket() {
  remove_path();
  if (number_ >= 0) ::close(number_);
}

std::uint16_t ListenSocket::port() const {
  SocketAddress address;
  address.bytes = sizeof(address.storage);
  if (::getsockname(number_, address.get(), &address.bytes) != 0) return 0;
  if (family_ == AF_INET) {
    return ntohs(reinterpret_cast<sockaddr_in&>(address.storage).sin_port);
  }
  if (family_ == AF_INET6) {
    return ntohs(reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port);
  }
  return 0;
}

int ListenSocket::release_number() { return std::exchange(number_, -1); }

// A successor may have replaced our socket by its own, which is none of our business.
void ListenSocket::remove_path() {
  if (path_.empty()) return;
  struct stat status{};
  const bool is_ours =
      ::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  if (is_ours) ::unlink(path_.c_str());
  path_.clear();
}

Result<ListenSocket> bind(const ListenAddress& address) {
  const bool is_unix = address.kind == ListenAddress::Kind::unix_socket;
  const std::string& place = address.host_or_path;
  if (is_unix) TRY(remove_stale(place));
  SocketAddress where = is_unix ? unix_address(place) : tcp_address(place, address.port);
  const std::string name = is_unix ? place : place + " port " + std::to_string(address.port);
  if (where.bytes == 0) return fail(Outcome::invalid, "listen: " + name + ": not an IP address");

  ListenSocket socket;
  socket.family_ = where.storage.ss_family;
  socket.number_ = ::socket(socket.family_, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket.number_ < 0) return fail_with_errno(name);
  // The mode a unix socket gets in the file system, without a moment in which it has another.
  if (is_unix) ::fchmod(socket.number_, 0600);
  if (!is_unix) set(socket.number_, SOL_SOCKET, SO_REUSEADDR);
  if (!is_unix && address.shares_port) set(socket.number_, SOL_SOCKET, SO_REUSEPORT);
  if (::bind(socket.number_, where.get(), where.bytes) != 0) return fail_with_errno(name);
  if (is_unix) {
    struct stat status{};
    if (::lstat(place.c_str(), &status) != 0) return fail_with_errno(name);
    socket.path_ = place;
    socket.device_ = status.st_dev;
    socket.inode_ = status.st_ino;
  }
  if (::listen(socket.number_, kBacklog) != 0) return fail_with_errno(name);
  return socket;
}

}  // namespace isthmus::net
