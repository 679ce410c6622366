#include "isthmus/net/curl_transfer_impl.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include "isthmus/base/text.h"

namespace isthmus::net {
namespace {

constexpr std::size_t kHeaderBytesMax = 1024 * 1024;
constexpr long kBufferBytes = 16 * 1024;  // Curl's reading and uploading buffer, one TLS record.

bool is_token(std::string_view text) {
  const auto fits = [](char c) {
    const bool alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return alphanumeric || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, fits);
}

bool is_field_value(std::string_view text) {
  // A token has a kilobyte, in which the library looks for one character at a stride.
  constexpr std::string_view kForbidden("\r\n\0", 3);
  return std::ranges::none_of(kForbidden, [&](char each) { return text.contains(each); });
}

bool is_origin_form(std::string_view text) {
  return text.starts_with('/') &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f' && c != '#'; });
}

long whole_seconds(Duration duration) {
  return std::max<long>(1, std::chrono::ceil<std::chrono::seconds>(duration).count());
}

long milliseconds(Duration duration) {
  return std::max<long>(1, std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

// What makes the kernel notice a peer that has vanished: unacknowledged data may be this old, and a
// silent connection is probed three times within the same span. Unix sockets refuse, and need none.
void set_dead_peer_timeout(int socket, Duration timeout) {
  const auto set = [socket](int level, int name, int value) {
    ::setsockopt(socket, level, name, &value, sizeof(value));
  };
  const int third = static_cast<int>(whole_seconds(timeout / 3));
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, third);
  set(IPPROTO_TCP, TCP_KEEPINTVL, third);
  set(IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(milliseconds(timeout)));
}

bool may_be_repeated(std::string_view method) { return method == "GET" || method == "HEAD"; }

bool is_about_certificates(CURLcode result) {
  return result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_ISSUER_ERROR ||
         result == CURLE_SSL_INVALIDCERTSTATUS || result == CURLE_SSL_PINNEDPUBKEYNOTMATCH;
}

}  // namespace

Result<> check_request(const Request& request) {
  if (!is_token(request.method)) {
    return fail(Outcome::invalid, "method \"" + request.method + "\": is not a token");
  }
  if (!is_origin_form(request.target)) {
    return fail(Outcome::invalid,
                "target \"" + request.target + "\": must begin with / and be percent-encoded");
  }
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name)) return fail(Outcome::invalid, "header \"" + name + "\": is not a token");
    if (!is_field_value(value)) {
      return fail(Outcome::invalid, "header " + name + ": its value has a line break in it");
    }
  }
  return {};
}

CurlTransfer::CurlTransfer(CurlMulti& multi, const CurlEndpoint& endpoint,
                           const TransportLimits& limits, Kind kind, Request request)
    : multi_(multi),
      endpoint_(endpoint),
      limits_(limits),
      kind_(kind),
      request_(std::move(request)),
      url_(endpoint.url + request_.target),
      handle_(multi.take_handle()) {
  endpoint_.apply(handle_);
  set_request();
  set_callbacks();
  set_limits();
  multi_.add(handle_, *this);
}

CurlTransfer::~CurlTransfer() {
  if (!has_ended_) multi_.remove(handle_);
  multi_.give_back(handle_);
}

void CurlTransfer::set_request() {
  curl_easy_setopt(handle_, CURLOPT_URL, url_.c_str());
  curl_easy_setopt(handle_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set_method();
  // Curl's own idea of a content type and its wait for "100 Continue" are both unwanted.
  append(header_list_, "Expect:");
  if (!request_.headers.find("Content-Type")) append(header_list_, "Content-Type:");
  if (!endpoint_.host_header.empty() && !request_.headers.find("Host")) {
    append(header_list_, "Host: " + endpoint_.host_header);
  }
  for (const auto& [name, value] : request_.headers) {
    append(header_list_, trimmed(value).empty() ? name + ";" : name + ": " + value);
  }
  curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, header_list_.get());
}

void CurlTransfer::set_method() {
  const std::string& method = request_.method;
  if (method == "HEAD") {
    curl_easy_setopt(handle_, CURLOPT_NOBODY, 1L);
    return;
  }
  const bool always_has_length = method == "POST" || method == "PUT" || method == "PATCH";
  if (!request_.body.empty() || always_has_length) {
    const auto bytes = static_cast<curl_off_t>(request_.body.size());
    curl_easy_setopt(handle_, CURLOPT_POST, 1L);
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE, bytes);
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, request_.body.c_str());
  }
  curl_easy_setopt(handle_, CURLOPT_CUSTOMREQUEST, method.c_str());
}

void CurlTransfer::set_callbacks() {
  curl_easy_setopt(handle_, CURLOPT_ERRORBUFFER, complaint_.data());
  curl_easy_setopt(handle_, CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
  curl_easy_setopt(handle_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &CurlTransfer::on_body);
  curl_easy_setopt(handle_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(handle_, CURLOPT_PREREQFUNCTION, &CurlTransfer::on_request);
  curl_easy_setopt(handle_, CURLOPT_PREREQDATA, this);
  curl_easy_setopt(handle_, CURLOPT_SOCKOPTFUNCTION, &CurlTransfer::on_new_socket);
  curl_easy_setopt(handle_, CURLOPT_SOCKOPTDATA, this);
}

void CurlTransfer::set_limits() {
  curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
  // Else ending a transfer that still resolves a name would wait for the resolver's thread.
  curl_easy_setopt(handle_, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(handle_, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(handle_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(handle_, CURLOPT_BUFFERSIZE, kBufferBytes);
  curl_easy_setopt(handle_, CURLOPT_UPLOAD_BUFFERSIZE, kBufferBytes);
  curl_easy_setopt(handle_, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(limits_.connect_timeout));
}

int CurlTransfer::on_new_socket(void* self, curl_socket_t number, curlsocktype) {
  ::fcntl(number, F_SETFD, FD_CLOEXEC);
  set_dead_peer_timeout(number, static_cast<CurlTransfer*>(self)->limits_.dead_peer_timeout);
  return CURL_SOCKOPT_OK;
}

// Called whenever curl is about to send the request. A second time means that the connection it had
// reused died before the first byte of an answer, and that the peer may well have acted already.
//
// A process that was frozen comes back in the middle of its work, sockets first: what it was about
// to write may have been allowed for a time that is long over.
int CurlTransfer::on_request(void* self, char*, char*, int, int) {
  CurlTransfer& transfer = *static_cast<CurlTransfer*>(self);
  if (may_be_repeated(transfer.request_.method)) {
    ++transfer.times_sent_;
    return CURL_PREREQFUNC_OK;
  }
  if (transfer.multi_.has_overslept()) {
    transfer.refusal_ = "the process had stood still before it could send";
    return CURL_PREREQFUNC_ABORT;
  }
  if (++transfer.times_sent_ == 1) return CURL_PREREQFUNC_OK;
  transfer.refusal_ = "the connection was closed before an answer; not sent a second time";
  return CURL_PREREQFUNC_ABORT;
}

std::size_t CurlTransfer::on_header(char* data, std::size_t, std::size_t bytes, void* self) {
  return static_cast<CurlTransfer*>(self)->take_header_line({data, bytes}) ? bytes : 0;
}

bool CurlTransfer::take_header_line(std::string_view line) {
  if (has_headers_) return true;  // A trailer, which nobody has asked for.
  header_bytes_ += line.size();
  if (header_bytes_ > kHeaderBytesMax) {
    refusal_ = "the headers of the answer are longer than 1 MiB";
    return false;
  }
  if (line.starts_with("HTTP/")) {
    const std::size_t space = std::min(line.find(' '), line.size() - 1);
    headers_ = {};
    status_ = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), status_);
    return true;
  }
  const std::string_view text = trimmed(line);
  if (text.empty()) {
    has_headers_ = status_ >= 200;  // Else it was only "100 Continue" and the like.
    if (has_headers_ && kind_ == Kind::stream) progress_.set();
    return true;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return true;
  headers_.add(std::string(text.substr(0, colon)), std::string(trimmed(text.substr(colon + 1))));
  return true;
}

std::size_t CurlTransfer::on_body(char* data, std::size_t, std::size_t bytes, void* self) {
  return static_cast<CurlTransfer*>(self)->take_piece({data, bytes});
}

std::size_t CurlTransfer::take_piece(std::string_view piece) {
  if (kind_ == Kind::stream) {
    if (body_.size() >= limits_.stream_buffer_bytes) {
      is_paused_ = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    progress_.set();
  } else if (body_.size() + piece.size() > limits_.body_bytes_max) {
    refusal_ = "the answer is longer than this transport allows";
    return CURL_WRITEFUNC_ERROR;
  } else if (body_.empty()) {
    curl_off_t announced = 0;
    curl_easy_getinfo(handle_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    const auto bytes = static_cast<std::size_t>(std::max<curl_off_t>(announced, 0));
    body_.reserve(std::min(bytes, limits_.body_bytes_max));
  }
  body_.append(piece);
  return piece.size();
}

void CurlTransfer::done(CURLcode result) {
  has_ended_ = true;
  result_ = result;
  progress_.set();
}

Task<Result<>> CurlTransfer::headers_received() {
  while (!has_headers_ && !has_ended_) {
    progress_.clear();
    CO_TRY(co_await progress_.wait());
  }
  if (has_headers_) co_return Result<>{};
  co_return verdict();
}

Task<Result<>> CurlTransfer::finished() {
  while (!has_ended_) {
    progress_.clear();
    CO_TRY(co_await progress_.wait());
  }
  co_return verdict();
}

Task<Result<std::string>> CurlTransfer::next() {
  while (body_.empty() && !has_ended_) {
    progress_.clear();
    CO_TRY(co_await progress_.wait());
  }
  if (body_.empty()) {
    CO_TRY(verdict());
    co_return std::string();
  }
  std::string piece = std::exchange(body_, {});
  if (is_paused_ && !has_ended_) {
    is_paused_ = false;
    multi_.resume(handle_);  // May call on_body before it returns.
  }
  co_return piece;
}

Result<> CurlTransfer::verdict() const {
  if (result_ == CURLE_OK && has_headers_) return {};
  if (result_ == CURLE_OK) return std::unexpected(describe(Outcome::lost, "no answer came"));
  if (!refusal_.empty()) return std::unexpected(describe(Outcome::lost, refusal_));
  if (result_ == CURLE_COULDNT_CONNECT) return std::unexpected(no_connection());
  const std::string_view detail = complaint_.data();
  const std::string_view why = detail.empty() ? curl_easy_strerror(result_) : detail;
  if (is_about_certificates(result_)) {
    return std::unexpected(
        describe(Outcome::denied, "the server's certificate is refused: " + std::string(why)));
  }
  if (result_ == CURLE_UNSUPPORTED_PROTOCOL || result_ == CURLE_WEIRD_SERVER_REPLY) {
    return std::unexpected(describe(Outcome::lost, "the answer is not HTTP: " + std::string(why)));
  }
  return std::unexpected(describe(Outcome::lost, why));
}

// Curl names a host and a port even where there is a unix socket, and keeps the system's reason to
// itself.
Error CurlTransfer::no_connection() const {
  std::string why =
      endpoint_.unix_path.empty() ? complaint_.data() : "nobody answers on the unix socket";
  long system_error = 0;
  curl_easy_getinfo(handle_, CURLINFO_OS_ERRNO, &system_error);
  if (system_error != 0) why += std::string(": ") + std::strerror(static_cast<int>(system_error));
  return describe(Outcome::lost, why);
}

Error CurlTransfer::describe(Outcome outcome, std::string_view why) const {
  const std::string what = request_.method + " " + endpoint_.name + request_.target;
  const std::string_view sent = times_sent_ == 0 ? ": not sent: " : ": ";
  return Error{.outcome = outcome, .message = what + std::string(sent) + std::string(why)};
}

}  // namespace isthmus::net
