#include "isthmus/net/connection_impl.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <memory>
#include <utility>

#include "isthmus/net/asio_await_impl.h"

namespace isthmus::net {
namespace {

namespace asio = boost::asio;

// Thousands of connections only wait, so their buffers are small.
constexpr std::size_t kReadBytes = 4 * 1024;

// A client's chain of certificates: its own of 2 KB and a few above it.
constexpr long kPeerChainBytesMax = 16L * 1024;
constexpr int kPeerKeyBitsMax = 8192;

// The most that fits into one TLS record (RFC 8446 section 5.1).
constexpr std::size_t kRecordBytes = 16 * 1024;

// What plain and TLS have in common: a socket.
class SocketConnection : public Connection {
 public:
  explicit SocketConnection(Socket socket) : socket_(std::move(socket)) {}

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

  void close() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

 protected:
  std::shared_ptr<void> self() { return shared_from_this(); }

  void end_sending() {
    boost::system::error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  }

  Socket socket_;
};

class PlainConnection final : public SocketConnection {
 public:
  using SocketConnection::SocketConnection;

  Task<Result<>> handshake() override { co_return Result<>{}; }

  Task<Result<std::size_t>> read() override {
    if (!read_buffer_) read_buffer_ = std::make_unique_for_overwrite<ReadBuffer>();
    Result<std::size_t> bytes =
        co_await socket_.async_read_some(asio::buffer(*read_buffer_), hold(self()));
    if (bytes) input.append(read_buffer_->data(), *bytes);
    co_return bytes;
  }

  Task<Result<>> write(std::string head, std::string body) override {
    head_ = std::move(head);
    body_ = std::move(body);
    const std::array<asio::const_buffer, 2> both = {asio::buffer(head_), asio::buffer(body_)};
    Result<std::size_t> written = co_await asio::async_write(socket_, both, hold(self()));
    CO_TRY(std::move(written));
    head_ = {};
    body_ = {};
    co_return Result<>{};
  }

  Task<Result<>> shut_down() override {
    end_sending();
    co_return Result<>{};
  }

 private:
  using ReadBuffer = std::array<char, kReadBytes>;

  std::unique_ptr<ReadBuffer> read_buffer_;
  std::string head_;
  std::string body_;
};

// OpenSSL on the socket itself. Asio's own TLS stream keeps 68 KB of buffers for each connection as
// long as it lives; this keeps none while nothing is under way (SSL_MODE_RELEASE_BUFFERS).
class TlsConnection final : public SocketConnection {
 public:
  TlsConnection(Socket socket, TlsContext context)
      : SocketConnection(std::move(socket)), context_(std::move(context)) {}

  Task<Result<>> handshake() override {
    boost::system::error_code error;
    socket_.native_non_blocking(true, error);
    if (error) co_return net::fail(error);
    ssl_.reset(SSL_new(context_->native_handle()));
    if (!ssl_ || SSL_set_fd(ssl_.get(), socket_.native_handle()) != 1) co_return broken();
    SSL_set_accept_state(ssl_.get());
    CO_TRY(co_await repeat(SSL_do_handshake));
    co_return Result<>{};
  }

  std::vector<std::string> peer_certificates() const override {
    std::vector<std::string> chain;
    const auto add = [&chain](const X509* certificate) {
      unsigned char* der = nullptr;
      const int bytes = i2d_X509(certificate, &der);
      if (bytes <= 0) return;
      chain.emplace_back(reinterpret_cast<const char*>(der), static_cast<std::size_t>(bytes));
      OPENSSL_free(der);
    };
    const X509* own = ssl_ ? SSL_get0_peer_certificate(ssl_.get()) : nullptr;
    if (own == nullptr) return chain;
    add(own);
    const STACK_OF(X509)* others = SSL_get_peer_cert_chain(ssl_.get());
    for (int i = 0; i < sk_X509_num(others); ++i) add(sk_X509_value(others, i));
    return chain;
  }

  Task<Result<std::size_t>> read() override {
    const auto read_some = [this](SSL* ssl) {
      std::array<char, kReadBytes> buffer;
      const int bytes = SSL_read(ssl, buffer.data(), buffer.size());
      if (bytes > 0) input.append(buffer.data(), static_cast<std::size_t>(bytes));
      return bytes;
    };
    const int bytes = CO_TRY(co_await repeat(read_some));
    co_return static_cast<std::size_t>(bytes);
  }

  // What is small leaves in one record.
  Task<Result<>> write(std::string head, std::string body) override {
    if (head.size() + body.size() <= kRecordBytes) head += std::exchange(body, {});
    CO_TRY(co_await write_all(std::move(head)));
    CO_TRY(co_await write_all(std::move(body)));
    co_return Result<>{};
  }

  // Sends our close_notify and waits for the peer's, which few peers send in time.
  Task<Result<>> shut_down() override {
    const auto send_then_wait = [](SSL* ssl) {
      const int sent = SSL_shutdown(ssl);
      return sent == 0 ? SSL_shutdown(ssl) : sent;
    };
    const Result<int> done = co_await repeat(send_then_wait);
    end_sending();
    if (!done) co_return std::unexpected(done.error());
    co_return Result<>{};
  }

 private:
  Task<Result<>> write_all(std::string bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const std::size_t piece = std::min(bytes.size() - sent, kRecordBytes);
      const auto write_some = [from = bytes.data() + sent, piece](SSL* ssl) {
        return SSL_write(ssl, from, static_cast<int>(piece));
      };
      const int taken = CO_TRY(co_await repeat(write_some));
      sent += static_cast<std::size_t>(taken);
    }
    co_return Result<>{};
  }

  // Calls OpenSSL again whenever the socket is ready for what it needs next; answers its positive
  // result. Everybody else has a turn first, for a fast peer never makes us wait. Without an open
  // socket OpenSSL is not called: the number might be another connection's by now.
  template <class Call>
  Task<Result<int>> repeat(Call call) {
    CO_TRY(co_await yield());
    while (socket_.is_open()) {
      ISTHMUS_ASSERT(ssl_ != nullptr, "no TLS before the handshake");
      ERR_clear_error();
      const int result = call(ssl_.get());
      if (result > 0) co_return result;
      const int needs = SSL_get_error(ssl_.get(), result);
      if (needs != SSL_ERROR_WANT_READ && needs != SSL_ERROR_WANT_WRITE) co_return broken();
      const auto ready = needs == SSL_ERROR_WANT_READ ? asio::socket_base::wait_read
                                                      : asio::socket_base::wait_write;
      CO_TRY(co_await socket_.async_wait(ready, hold(self())));
    }
    co_return isthmus::fail(Outcome::lost, "the connection is closed");
  }

  // OpenSSL's queue of errors is left empty, so that none is taken for that of a later call.
  static std::unexpected<Error> broken() {
    const char* reason = ERR_reason_error_string(ERR_get_error());
    ERR_clear_error();
    return isthmus::fail(Outcome::lost, reason == nullptr ? "the peer has gone" : reason);
  }

  TlsContext context_;
  std::unique_ptr<SSL, decltype([](SSL* ssl) { SSL_free(ssl); })> ssl_;
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

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ":") + name;
  return text;
}

Result<> apply(const TlsPolicy& policy, SSL_CTX* context) {
  const bool only_1_3 = policy.version_min == TlsVersion::v1_3;
  SSL_CTX_set_min_proto_version(context, only_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  const std::string suites = joined(policy.cipher_suites);
  if (!suites.empty() && SSL_CTX_set_cipher_list(context, suites.c_str()) != 1) {
    ERR_clear_error();
    return fail(Outcome::invalid, "cipher suites: OpenSSL rejects " + suites);
  }
  const std::string groups = joined(policy.groups);
  if (!groups.empty() && SSL_CTX_set1_groups_list(context, groups.c_str()) != 1) {
    ERR_clear_error();
    return fail(Outcome::invalid, "curves: OpenSSL rejects " + groups);
  }
  return {};
}

// Whether a client's own key is one that it takes a moment to check a signature with: strangers
// choose it.
int has_fair_key(X509_STORE_CTX* shown, void*) {
  const EVP_PKEY* key = X509_get0_pubkey(X509_STORE_CTX_get0_cert(shown));
  if (key != nullptr && EVP_PKEY_get_bits(key) <= kPeerKeyBitsMax) return 1;
  X509_STORE_CTX_set_error(shown, X509_V_ERR_CERT_REJECTED);
  return 0;
}

// Clients may show a certificate. It is only kept here, so that one that nobody vouches for is
// answered by the handler, in words, and not by a broken handshake. There are no tickets: they
// would keep the first certificate of a chain and forget the others.
void ask_for_certificate(SSL_CTX* context) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, has_fair_key, nullptr);
  SSL_CTX_set_max_cert_list(context, kPeerChainBytesMax);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
}

}  // namespace

std::shared_ptr<Connection> plain_connection(Connection::Socket socket) {
  return std::make_shared<PlainConnection>(std::move(socket));
}

std::shared_ptr<Connection> tls_connection(Connection::Socket socket, TlsContext context) {
  return std::make_shared<TlsConnection>(std::move(socket), std::move(context));
}

Result<TlsContext> make_server_context(const ServerTls& tls, const TlsPolicy& policy) {
  TRY(check(tls));
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  boost::system::error_code error;
  const std::string& key = tls.private_key_pem.reveal();
  context->use_certificate_chain(asio::buffer(tls.certificate_pem), error);
  if (!error) context->use_private_key(asio::buffer(key), asio::ssl::context::pem, error);
  if (error) return fail(Outcome::invalid, "certificate: " + error.message());
  SSL_CTX* native = context->native_handle();
  TRY(apply(policy, native));
  if (policy.asks_for_certificate) ask_for_certificate(native);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Partial writes also make a write that waits for the socket repeatable from another place.
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                               SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Up to 20,480 sessions would be remembered for clients that never return; tickets need no
  // memory.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(native, choose_http, nullptr);
  return context;
}

}  // namespace isthmus::net
