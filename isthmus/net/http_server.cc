#include "isthmus/net/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "isthmus/base/scope.h"
#include "isthmus/net/asio_await_impl.h"
#include "isthmus/net/connection_impl.h"
#include "isthmus/net/listen_socket_impl.h"
#include "isthmus/net/reactor_impl.h"
#include "isthmus/net/session_impl.h"

namespace isthmus::net {
namespace {

namespace asio = boost::asio;

// When the process is out of file descriptors, accepting again at once would only spin.
constexpr Duration kAcceptPauseMin = std::chrono::milliseconds(5);
constexpr Duration kAcceptPauseMax = std::chrono::seconds(1);

// Clients decide how often something is wrong with their connections, so not how much is logged.
constexpr Duration kWarningsApart = std::chrono::minutes(1);

constexpr int kKeepAliveSeconds = 15;  // A client that has vanished is noticed within a minute.

std::unexpected<Error> bad_address(std::string_view text, std::string_view why) {
  return fail(Outcome::invalid, "listen: \"" + std::string(text) + "\": " + std::string(why));
}

bool is_ip_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

Result<ListenAddress> parse_unix(std::string_view text, std::string_view path) {
  constexpr std::size_t kPathMax = 107;  // sockaddr_un::sun_path with its final zero.
  while (path.starts_with("//")) path.remove_prefix(1);
  if (!path.starts_with('/')) return bad_address(text, "the path must be absolute");
  if (path.size() > kPathMax)
    return bad_address(text, "a unix socket's path has at most 107 bytes");
  return ListenAddress{ListenAddress::Kind::unix_socket, std::string(path), 0};
}

Result<ListenAddress> parse_tcp(std::string_view text, std::string_view authority,
                                ListenAddress::Kind kind) {
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && !authority.ends_with(']');
  if (!has_port) return bad_address(text, "has no port");
  std::string_view host = authority.substr(0, colon);
  const std::string_view digits = authority.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) {
    return bad_address(text, "\"" + std::string(digits) + "\" is not a port");
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad_address(text, "an IPv6 address stands in brackets");
  }
  const std::string name = host == "localhost" ? "127.0.0.1" : std::string(host);
  if (!is_ip_address(name)) {
    return bad_address(text,
                       "\"" + std::string(host) + "\" is neither an IP address nor localhost");
  }
  return ListenAddress{kind, name, port};
}

// nullopt: it has gone already, and what it has left behind comes from nobody.
std::optional<Peer> describe(const Connection::Socket& socket) {
  boost::system::error_code error;
  auto endpoint = socket.remote_endpoint(error);
  if (error) return std::nullopt;
  const int family = endpoint.protocol().family();
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family == AF_INET) {
    const auto& v4 = *reinterpret_cast<const sockaddr_in*>(endpoint.data());
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    const bool is_local = ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    return Peer{text.data() + (":" + std::to_string(ntohs(v4.sin_port))), is_local};
  }
  if (family == AF_INET6) {
    const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(endpoint.data());
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    const std::string_view address = text.data();
    const bool is_local = address == "::1" || address.starts_with("::ffff:127.");
    const std::string port = std::to_string(ntohs(v6.sin6_port));
    return Peer{"[" + std::string(address) + "]:" + port, is_local};
  }
  return Peer{"unix", true};
}

// Small answers leave at once, and peers that vanish are noticed. Unix sockets refuse, and need
// neither.
void tune(Connection::Socket& socket) {
  const int number = socket.native_handle();
  const auto set = [number](int level, int name, int value) {
    ::setsockopt(number, level, name, &value, sizeof(value));
  };
  ::fcntl(number, F_SETFD, FD_CLOEXEC);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

class AsioHttpServer final : public HttpServer {
 public:
  using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

  AsioHttpServer(PosixWorld& world, ListenSocket socket, TlsContext tls, TlsPolicy policy,
                 HttpHandler& handler, Logger& log, const ServerLimits& limits)
      : loop_(world.loop()),
        log_(log),
        port_(socket.port()),
        policy_(std::move(policy)),
        tls_(std::move(tls)),
        acceptor_(std::make_shared<Acceptor>(world.reactor().io)),
        listening_(std::move(socket)),
        host_{.loop = world.loop(), .handler = handler, .limits = limits},
        sessions_(world.loop()) {
    const asio::generic::stream_protocol protocol(listening_.family(), 0);
    acceptor_->assign(protocol, listening_.release_number());
  }

  Task<Result<>> run() override {
    const Result<> ended = co_await accept_all();
    boost::system::error_code ignored;
    acceptor_->close(ignored);
    listening_.remove_path();
    stop_waiting(host_);
    sessions_.set_deadline(loop_.now() + host_.limits.stop_timeout);
    const Result<> always_ok = co_await sessions_.join();
    co_return ended;
  }

  std::uint16_t port() const override { return port_; }

  Result<> replace_certificate(ServerTls tls) override {
    if (!tls_) return fail(Outcome::invalid, "this address is not served over TLS");
    tls_ = TRY(make_server_context(tls, policy_));
    return {};
  }

 private:
  Task<Result<>> accept_all() {
    Duration pause = kAcceptPauseMin;
    for (;;) {
      Result<Connection::Socket> socket = co_await acceptor_->async_accept(hold(acceptor_));
      if (socket) {
        pause = kAcceptPauseMin;
        serve(std::move(*socket));
        continue;
      }
      if (is_our_own(socket.outcome())) co_return std::unexpected(socket.error());
      warn("connections cannot be accepted", {"error", socket.error()});
      CO_TRY(co_await Sleep(pause));
      pause = std::min(pause * 2, kAcceptPauseMax);
    }
  }

  void serve(Connection::Socket socket) {
    if (host_.crowd.size() >= host_.limits.connections_max && !make_room()) return;
    tune(socket);
    std::optional<Peer> peer = describe(socket);
    if (!peer) return;
    std::shared_ptr<Connection> connection =
        tls_ ? tls_connection(std::move(socket), tls_) : plain_connection(std::move(socket));
    auto place = std::make_unique<Crowd::Place>(host_.crowd, std::move(connection));
    sessions_.spawn(serve_connection, std::ref(host_), std::move(place), std::move(*peer));
  }

  // False: nobody makes way, and the newcomer is closed.
  bool make_room() {
    const bool has_room = host_.crowd.make_room();
    warn(has_room ? "too many connections; the one silent longest is closed"
                  : "too many connections; a new one is closed",
         {"limit", host_.limits.connections_max});
    return has_room;
  }

  void warn(std::string_view what, const Field& detail) {
    if (warned_at_ && loop_.now() - *warned_at_ < kWarningsApart) return;
    warned_at_ = loop_.now();
    log_.warning(what, {{"port", port_}, detail});
  }

  Loop& loop_;
  Logger& log_;
  std::optional<Moment> warned_at_;
  const std::uint16_t port_;
  const TlsPolicy policy_;
  TlsContext tls_;  // Null: plain.
  std::shared_ptr<Acceptor> acceptor_;
  ListenSocket listening_;
  SessionHost host_;
  Scope sessions_;  // A root of its own, so that answers under way outlive the scope of run().
};

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  if (text.starts_with("unix:")) return parse_unix(text, text.substr(5));
  if (text.starts_with("http://")) {
    return parse_tcp(text, text.substr(7), ListenAddress::Kind::http);
  }
  if (text.starts_with("https://")) {
    return parse_tcp(text, text.substr(8), ListenAddress::Kind::https);
  }
  return bad_address(text, "must begin with unix:/, http:// or https://");
}

Result<std::unique_ptr<HttpServer>> listen(PosixWorld& world, ListenAddress address,
                                           std::optional<ServerTls> tls, HttpHandler& handler,
                                           Logger& log, ServerLimits limits, TlsPolicy policy) {
  TlsContext context;
  if (address.kind == ListenAddress::Kind::https) {
    if (!tls) return fail(Outcome::invalid, "listen: https needs a certificate");
    context = TRY(make_server_context(*tls, policy));
  }
  ListenSocket socket = TRY(bind(address));
  return std::make_unique<AsioHttpServer>(world, std::move(socket), std::move(context),
                                          std::move(policy), handler, log, limits);
}

}  // namespace isthmus::net
