#include "isthmus/net/posix_prober.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "isthmus/net/asio_await_impl.h"
#include "isthmus/net/probe_answer_impl.h"
#include "isthmus/net/reactor_impl.h"

namespace isthmus::net {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

constexpr std::size_t kProbesAtOnceMax = 2048;
constexpr std::size_t kReadBytes = 16 * 1024;

// A socket, shared only with the reactor, which holds it until it has let go of a wait.
struct ProbeSocket {
  explicit ProbeSocket(boost::asio::io_context& io) : descriptor(io) {}

  Descriptor descriptor;
};

// Closes when the probe ends, however that may be; a wait under way is let go then.
class Closing {
 public:
  explicit Closing(ProbeSocket& socket) : socket_(socket) {}
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  ~Closing() {
    boost::system::error_code ignored;
    socket_.descriptor.close(ignored);
  }

 private:
  ProbeSocket& socket_;
};

Result<> check(const ProbeRequest& request) {
  if (request.endpoint.port == 0) return fail(Outcome::invalid, "port 0 cannot be asked");
  if (request.kind == ProbeRequest::Kind::tcp) return {};
  // A line break in here would be a second header or request.
  const bool is_clean = std::ranges::all_of(
      request.path, [](char character) { return character > ' ' && character < '\x7f'; });
  if (!request.path.starts_with('/') || !is_clean || request.path.contains('#')) {
    return fail(Outcome::invalid, "the path begins with / and is percent-encoded");
  }
  if (request.path.size() > kProbePathMax) return fail(Outcome::invalid, "the path is too long");
  return {};
}

std::string head_of(const ProbeRequest& request) {
  return "GET " + request.path + " HTTP/1.1\r\nHost: " + to_string(request.endpoint) +
         "\r\nUser-Agent: isthmus-health-check\r\nAccept: */*\r\nConnection: close\r\n\r\n";
}

struct SocketAddress {
  explicit SocketAddress(const isthmus::Endpoint& endpoint) {
    const IpAddress& address = endpoint.address;
    if (address.family == IpFamily::v4) {
      auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
      v4.sin_family = AF_INET;
      v4.sin_port = htons(endpoint.port);
      std::memcpy(&v4.sin_addr, address.bytes.data(), address.size());
      bytes = sizeof(v4);
    } else {
      auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
      v6.sin6_family = AF_INET6;
      v6.sin6_port = htons(endpoint.port);
      std::memcpy(&v6.sin6_addr, address.bytes.data(), address.size());
      bytes = sizeof(v6);
    }
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }

  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

// What this host lacks says nothing about the endpoint.
std::unexpected<Error> fail_with(int number) {
  std::string reason = std::strerror(number);
  reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
  const bool is_ours = number == EMFILE || number == ENFILE || number == ENOBUFS ||
                       number == ENOMEM || number == EADDRNOTAVAIL || number == EAGAIN ||
                       number == EAFNOSUPPORT;
  return isthmus::fail(is_ours ? Outcome::busy : Outcome::lost, std::move(reason));
}

// Opens the socket and begins to connect; answers whether that is done already.
Result<bool> begin_to_connect(ProbeSocket& socket, const isthmus::Endpoint& endpoint) {
  const SocketAddress address(endpoint);
  const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  const int number = ::socket(address.storage.ss_family, type, IPPROTO_TCP);
  if (number < 0) return fail_with(errno);
  boost::system::error_code error;
  socket.descriptor.assign(number, error);
  if (error) {
    ::close(number);
    return isthmus::fail(Outcome::busy, error.message());
  }
  const linger reset = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(number, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  if (::connect(number, address.get(), address.bytes) == 0) return true;
  if (errno != EINPROGRESS) return fail_with(errno);
  return false;
}

Result<> how_connecting_ended(ProbeSocket& socket) {
  int error = 0;
  socklen_t bytes = sizeof(error);
  const int number = socket.descriptor.native_handle();
  if (::getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  if (error != 0) return fail_with(error);
  return {};
}

class PosixProber final : public Prober {
 public:
  explicit PosixProber(PosixWorld& world) : reactor_(world.reactor()) {}

  Task<Result<>> probe(ProbeRequest request) override {
    CO_TRY(check(request));
    const auto socket = std::make_shared<ProbeSocket>(reactor_.io);
    const Closing closing(*socket);
    const bool is_connected = CO_TRY(begin_to_connect(*socket, request.endpoint));
    if (!is_connected) {
      CO_TRY(co_await socket->descriptor.async_wait(Descriptor::wait_write, hold(socket)));
      CO_TRY(how_connecting_ended(*socket));
    }
    if (request.kind == ProbeRequest::Kind::tcp) co_return Result<>{};
    CO_TRY(send(*socket, head_of(request)));
    ProbeAnswer answer;
    for (;;) {
      CO_TRY(co_await socket->descriptor.async_wait(Descriptor::wait_read, hold(socket)));
      std::optional<Result<>> verdict = receive(*socket, answer);
      if (verdict) co_return std::move(*verdict);
    }
  }

 private:
  // The send buffer of a new connection has room for all of it.
  static Result<> send(ProbeSocket& socket, const std::string& head) {
    const int number = socket.descriptor.native_handle();
    const ssize_t sent = ::send(number, head.data(), head.size(), MSG_NOSIGNAL);
    if (sent < 0) return fail_with(errno);
    if (static_cast<std::size_t>(sent) < head.size()) return fail_with(ENOBUFS);
    return {};
  }

  // Reads what is there.
  std::optional<Result<>> receive(ProbeSocket& socket, ProbeAnswer& answer) {
    const int number = socket.descriptor.native_handle();
    for (;;) {
      const ssize_t bytes = ::recv(number, buffer_.data(), buffer_.size(), 0);
      if (bytes == 0) return answer.end();
      if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
      if (bytes < 0) return fail_with(errno);
      const std::string_view received(buffer_.data(), static_cast<std::size_t>(bytes));
      std::optional<Result<>> verdict = answer.feed(received);
      if (verdict) return verdict;
    }
  }

  PosixWorld::Reactor& reactor_;
  std::array<char, kReadBytes> buffer_;  // For whoever reads; empty again before anybody waits.
};

// Of files, the store and the kernel's sockets; 25 are open in a backend that holds load balancers.
constexpr std::size_t kOtherDescriptors = 64;

// How many this process may have open, as many as it may have at all from now on.
std::size_t descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace

std::unique_ptr<Prober> make_posix_prober(PosixWorld& world) {
  return std::make_unique<PosixProber>(world);
}

std::size_t probes_at_once() {
  return std::clamp<std::size_t>(descriptors() / 2, 1, kProbesAtOnceMax);
}

std::size_t connections_at_once(std::size_t listeners, std::size_t most) {
  constexpr std::size_t kFewest = 4;  // Whatever the limit: somebody must be able to ask.
  const std::size_t taken = probes_at_once() + kOtherDescriptors;
  const std::size_t left = descriptors() - std::min(descriptors(), taken);
  return std::clamp(left / std::max<std::size_t>(listeners, 1), std::min(kFewest, most), most);
}

}  // namespace isthmus::net
