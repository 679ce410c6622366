#include "isthmus/net/connection_impl.h"

#include <openssl/ssl.h>

#include <array>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <string_view>
#include <utility>

#include "isthmus/net/asio_await_impl.h"

namespace isthmus::net {
namespace {

namespace asio = boost::asio;

// Thousands of connections only wait, so their buffers are small.
constexpr std::size_t kReadBytes = 4 * 1024;

using Tls = asio::ssl::stream<Connection::Socket>;

// The TLS context is named before the stream, because it must outlive it.
template <class Stream>
class StreamConnection final : public Connection {
 public:
  explicit StreamConnection(Socket socket) : stream_(std::move(socket)) {}
  StreamConnection(Socket socket, TlsContext context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}

  Task<Result<>> handshake() override {
    if constexpr (std::is_same_v<Stream, Tls>) {
      Result<> done =
          co_await stream_.async_handshake(asio::ssl::stream_base::server, hold(self()));
      co_return done;
    }
    co_return Result<>{};
  }

  Task<Result<std::size_t>> read() override {
    Result<std::size_t> bytes =
        co_await stream_.async_read_some(asio::buffer(read_buffer_), hold(self()));
    if (bytes) input.append(read_buffer_.data(), *bytes);
    co_return bytes;
  }

  Task<Result<>> write(std::string head, std::string body) override {
    head_ = std::move(head);
    body_ = std::move(body);
    const std::array<asio::const_buffer, 2> both = {asio::buffer(head_), asio::buffer(body_)};
    Result<std::size_t> written = co_await asio::async_write(stream_, both, hold(self()));
    CO_TRY(std::move(written));
    head_ = {};
    body_ = {};
    co_return Result<>{};
  }

  Task<Result<>> shut_down() override {
    boost::system::error_code ignored;
    if constexpr (std::is_same_v<Stream, Tls>) {
      // Sends our close_notify and waits for the peer's, which few peers send in time.
      Result<> done = co_await stream_.async_shutdown(hold(self()));
      stream_.lowest_layer().shutdown(asio::socket_base::shutdown_send, ignored);
      co_return done;
    }
    stream_.lowest_layer().shutdown(asio::socket_base::shutdown_send, ignored);
    co_return Result<>{};
  }

  void close() override {
    boost::system::error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  std::shared_ptr<void> self() { return shared_from_this(); }

  TlsContext context_;
  Stream stream_;
  std::array<char, kReadBytes> read_buffer_;
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
  return std::make_shared<StreamConnection<Connection::Socket>>(std::move(socket));
}

std::shared_ptr<Connection> tls_connection(Connection::Socket socket, TlsContext context) {
  return std::make_shared<StreamConnection<Tls>>(std::move(socket), std::move(context));
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
  SSL_CTX_set_alpn_select_cb(native, choose_http, nullptr);
  return context;
}

}  // namespace isthmus::net
