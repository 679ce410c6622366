// An HTTP/1.1 server on our tasks: TCP, TLS and unix sockets, whole and streamed answers, limits on
// everything a client controls. Handlers see values, never sockets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/log.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/net/http.h"
#include "isthmus/net/tls.h"
#include "isthmus/net/tls_policy.h"

namespace isthmus::net {

class PosixWorld;

// How the request reached us.
struct Peer {
  std::string address;    // "192.0.2.7:4711", "[2001:db8::1]:4711", or "unix".
  bool is_local = false;  // By unix socket or from a loopback address.

  // The certificates that the client presented, its own first, in DER. It has proven that it holds
  // the key of the first; whom that names, and whether it may be believed, says
  // ClientAuthorities::verify (client_certificates.h).
  std::vector<std::string> certificates = {};
};

// A peer's address without the port, which is another one each time: "[2001:db8::1]".
inline std::string_view host_of(std::string_view address) {
  return address.substr(0, address.rfind(':'));
}

// One answer in the making. Exactly one of respond and begin is awaited, once. Every call fails
// with lost once the client is gone or too slow, and with the scope's reason when that ends.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;

  virtual Task<Result<>> respond(Response response) = 0;

  // Starts a streamed answer, then any number of chunks, then finish. A chunk returns when the
  // kernel has taken it, so a slow client slows its handler and nobody else.
  virtual Task<Result<>> begin(int status, Headers headers) = 0;
  virtual Task<Result<>> chunk(std::string bytes) = 0;
  virtual Task<Result<>> finish() = 0;

  // Answers lost when the client has closed its connection, and cancelled when the server begins to
  // stop: a handler that only waits for events awaits this beside them, else it never notices
  // either. One at a time.
  virtual Task<Result<>> closed() = 0;
};

// A handler that returns without having responded makes the server answer 500.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual Task<Result<>> serve(Request request, Peer peer, ResponseWriter& writer) = 0;
};

struct ServerLimits {
  std::size_t header_bytes_max = 64 * 1024;
  std::size_t body_bytes_max = 8 * 1024 * 1024;
  // One more, and the connection that has been silent longest makes way: one that never sent a byte
  // rather than one without an answer yet, and that rather than one between two requests or that
  // does not read. When an answer is being made on each, the new one is closed. 8 KB for each.
  std::size_t connections_max = 2048;
  // So many may be in the TLS handshake or their first request; beyond, the one silent longest is
  // closed. Another 46 KB for each of them over TLS: 12 MB.
  std::size_t strangers_max = 256;
  Duration handshake_timeout = std::chrono::seconds(10);  // For the first byte and TLS together.
  Duration read_header_timeout = std::chrono::seconds(32);
  Duration read_body_timeout = std::chrono::seconds(60);
  Duration write_timeout = std::chrono::seconds(30);  // Per answer or chunk: slow clients are cut.
  Duration idle_timeout = std::chrono::seconds(90);
  Duration stop_timeout = std::chrono::seconds(2);  // For answers under way when we stop.
};

// Where to listen: "unix:/path" (created with mode 0600; a stale socket nobody answers on is
// replaced, a live one is an error), "http://HOST:PORT" or "https://HOST:PORT"; port 0 lets the
// kernel choose.
struct ListenAddress {
  enum class Kind { unix_socket, http, https };
  Kind kind = Kind::http;
  std::string host_or_path;
  std::uint16_t port = 0;

  // Another server may listen on the same address and port, and the kernel spreads the connections
  // (SO_REUSEPORT), if that server allows it as well.
  bool shares_port = false;
};
// invalid names what is wrong, as in "listen: \"ftp://x\": …".
Result<ListenAddress> parse_listen_address(std::string_view text);

class HttpServer {
 public:
  virtual ~HttpServer() = default;

  // Serves until its scope is cancelled; then it accepts nothing new, lets answers under way end
  // within stop_timeout, closes everything, removes its unix socket, and returns cancelled.
  virtual Task<Result<>> run() = 0;

  // The port in use, where one was bound; 0 for a unix socket.
  virtual std::uint16_t port() const = 0;

  // Serves new connections with another certificate and the same policy; invalid leaves the old one
  // in place.
  virtual Result<> replace_certificate(ServerTls tls) = 0;
};

// Binds and listens at once, so that an address in use is reported before anything starts; serves
// nothing before run(). https needs tls. Everything passed by reference outlives the server.
//
// The log is told, at most once a minute, when connections cannot be accepted (the process is out
// of file descriptors) or are more than the limit; of clients and their requests it hears nothing.
Result<std::unique_ptr<HttpServer>> listen(PosixWorld& world, ListenAddress address,
                                           std::optional<ServerTls> tls, HttpHandler& handler,
                                           Logger& log, ServerLimits limits = {},
                                           TlsPolicy policy = {});

}  // namespace isthmus::net
