#include "isthmus/net/connection_impl.h"

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "isthmus/net/asio_await_impl.h"

namespace isthmus::net {
namespace {

namespace asio = boost::asio;

// Thousands of connections only wait, so their buffers are small.
constexpr std::size_t kReadBytes = 4 * 1024;

// A context only where TLS is spoken.
template <bool kIsTls>
class StreamConnection final : public Connection {
 public:
  StreamConnection(Socket socket, TlsContext context)
      : context_(std::move(context)), socket_(std::move(socket)) {}

  Task<Result<>> wait_readable() override {
    for (;;) {
      CO_TRY(co_await socket_.async_wait(asio::socket_base::wait_read, hold(self())));
      char first = 0;
      const ssize_t bytes =
          ::recv(socket_.native_handle(), &first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);
      if (bytes > 0) co_return Result<>{};
      const bool is_false_alarm = bytes < 0 && (errno == EAGAIN || errno == EINTR);
      if (!is_false_alarm) co_return isthmus::fail(Outcome::lost, "left without a word");
    }
  }

  Task<Result<>> handshake() override {
    if constexpr (kIsTls) {
      tls_.emplace(socket_, *context_);
      Result<> done = co_await tls_->async_handshake(asio::ssl::stream_base::server, hold(self()));
      co_return done;
    }
    co_return Result<>{};
  }

  Task<Result<std::size_t>> read() override {
    if (!read_buffer_) read_buffer_ = std::make_unique_for_overwrite<ReadBuffer>();
    Result<std::size_t> bytes =
        co_await stream().async_read_some(asio::buffer(*read_buffer_), hold(self()));
    if (bytes) input.append(read_buffer_->data(), *bytes);
    co_return bytes;
  }

  Task<Result<>> write(std::string head, std::string body) override {
    head_ = std::move(head);
    body_ = std::move(body);
    const std::array<asio::const_buffer, 2> both = {asio::buffer(head_), asio::buffer(body_)};
    Result<std::size_t> written = co_await asio::async_write(stream(), both, hold(self()));
    CO_TRY(std::move(written));
    head_ = {};
    body_ = {};
    co_return Result<>{};
  }

  Task<Result<>> shut_down() override {
    boost::system::error_code ignored;
    if constexpr (kIsTls) {
      // Sends our close_notify and waits for the peer's, which few peers send in time.
      Result<> done = co_await stream().async_shutdown(hold(self()));
      socket_.shutdown(asio::socket_base::shutdown_send, ignored);
      co_return done;
    }
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
    co_return Result<>{};
  }

  void close() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

 private:
  using ReadBuffer = std::array<char, kReadBytes>;

  std::shared_ptr<void> self() { return shared_from_this(); }

  auto& stream() {
    if constexpr (kIsTls) {
      ISTHMUS_ASSERT(tls_.has_value(), "no TLS before the handshake");
      return *tls_;
    } else {
      return socket_;
    }
  }

  TlsContext context_;
  Socket socket_;
  std::optional<asio::ssl::stream<Socket&>> tls_;  // After what it refers to.
  std::unique_ptr<ReadBuffer> read_buffer_;
  std::string head_;
  std::string body_;
};

// A client that offers ALPN without HTTP/1.1 is told so in the handshake.
int choose_http(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes,
                const unsigned char* offered, unsigned int offered_bytes, void*) {
  static constexpr std::array<unsigned char, 9> kHttp = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, chosen_bytes, kHttp.data(), kHttp.size(),
                                           offered, offered_bytes);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

std::shared_ptr<Connection> plain_connection(Connection::Socket socket) {
  return std::make_shared<StreamConnection<false>>(std::move(socket), nullptr);
}

std::shared_ptr<Connection> tls_connection(Connection::Socket socket, TlsContext context) {
  return std::make_shared<StreamConnection<true>>(std::move(socket), std::move(context));
}

Result<TlsContext> make_server_context(const ServerTls& tls) {
  TRY(check(tls));
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  boost::system::error_code error;
  const std::string& key = tls.private_key_pem.reveal();
  context->use_certificate_chain(asio::buffer(tls.certificate_pem), error);
  if (!error) context->use_private_key(asio::buffer(key), asio::ssl::context::pem, error);
  if (error) return fail(Outcome::invalid, "certificate: " + error.message());
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // 34 KB less for each idle connection.
  // Up to 20,480 sessions would be remembered for clients that never return; tickets need no
  // memory.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(native, choose_http, nullptr);
  return context;
}

}  // namespace isthmus::net
