// One byte stream to one peer, plain or TLS, TCP or unix: the only place where the server touches a
// socket.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/net/tls.h"
#include "isthmus/net/tls_policy.h"

namespace isthmus::net {

// A resource, shared only with the reactor: buffers of an operation under way live in here, so that
// whoever waits for it may be destroyed. One read and one write may be under way at a time.
// Every wait answers ok, lost (closed or broken, by either side), or its scope's reason; after a
// write that was cut short the connection is of no more use.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  virtual ~Connection() = default;

  // Waits until the peer has sent something, and takes no buffer for it: strangers that connect
  // and say nothing cost us little but their socket.
  virtual Task<Result<>> wait_readable() = 0;

  // The server's side of the TLS handshake, before anything is read or written; nothing to do for a
  // plain connection. The TLS engine exists from here on, with 46 KB of buffers until it is done.
  virtual Task<Result<>> handshake() = 0;

  // What the peer presented in the handshake, its own certificate first, in DER; not verified.
  virtual std::vector<std::string> peer_certificates() const { return {}; }

  // Waits for bytes and appends them to `input`; answers how many came.
  virtual Task<Result<std::size_t>> read() = 0;

  // Returns when the kernel has taken both.
  virtual Task<Result<>> write(std::string head, std::string body) = 0;

  // Tells the peer that nothing more will come (close_notify, FIN); reading stays possible.
  virtual Task<Result<>> shut_down() = 0;

  // Closes at once; what was waiting answers lost.
  virtual void close() = 0;

  std::string input;  // Read and not used yet.
};

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

std::shared_ptr<Connection> plain_connection(Connection::Socket socket);
std::shared_ptr<Connection> tls_connection(Connection::Socket socket, TlsContext context);

// HTTP/1.1 by ALPN. invalid as check(ServerTls) answers, or the policy names what OpenSSL has not.
Result<TlsContext> make_server_context(const ServerTls& tls, const TlsPolicy& policy = {});

}  // namespace isthmus::net
