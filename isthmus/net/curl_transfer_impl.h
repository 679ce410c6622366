// One exchange by libcurl: a request on its way, and as much of its answer as has come.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"
#include "isthmus/net/curl_endpoint_impl.h"
#include "isthmus/net/curl_multi_impl.h"
#include "isthmus/net/curl_transport.h"
#include "isthmus/net/http.h"

namespace isthmus::net {

// invalid when the request cannot be written as HTTP (a line break in a header, a space in the
// target, …): a value that comes from elsewhere must not become a second header or request.
Result<> check_request(const Request& request);

// A resource. Destroying it before its end closes the connection. Answers of the waits: lost,
// denied (certificates), and cancelled or deadline of the scope, after which they may be awaited
// again.
class CurlTransfer final : private CurlMulti::Job {
 public:
  enum class Kind {
    whole,   // The body is collected up to body_bytes_max.
    stream,  // The body is taken piece by piece; the sender is held back meanwhile.
  };

  // The request must have passed check_request. Everything referred to outlives the transfer.
  CurlTransfer(CurlMulti& multi, const CurlEndpoint& endpoint, const TransportLimits& limits,
               Kind kind, Request request);
  ~CurlTransfer();
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  // Until the status and headers of the final answer are there.
  Task<Result<>> headers_received();

  // Until the whole answer is there.
  Task<Result<>> finished();

  // stream only: the next piece; empty at the complete end.
  Task<Result<std::string>> next();

  int status() const { return status_; }
  Headers take_headers() { return std::move(headers_); }
  std::string take_body() { return std::move(body_); }

 private:
  static std::size_t on_header(char* data, std::size_t, std::size_t bytes, void* self);
  static std::size_t on_body(char* data, std::size_t, std::size_t bytes, void* self);
  static int on_request(void* self, char*, char*, int, int);
  static int on_new_socket(void* self, curl_socket_t number, curlsocktype);

  void set_request();
  void set_method();
  void set_callbacks();
  void set_limits();
  bool take_header_line(std::string_view line);
  std::size_t take_piece(std::string_view piece);
  void done(CURLcode result) override;
  Result<> verdict() const;
  Error no_connection() const;
  Error describe(Outcome outcome, std::string_view why) const;

  CurlMulti& multi_;
  const CurlEndpoint& endpoint_;
  const TransportLimits& limits_;
  const Kind kind_;
  const Request request_;
  const std::string url_;
  CURL* const handle_;
  CurlList header_list_;
  std::array<char, CURL_ERROR_SIZE> complaint_{};

  Signal progress_;  // Set when a wait should look again.
  int times_sent_ = 0;
  std::string_view refusal_;  // Why we ourselves have ended it, if we have.
  bool has_ended_ = false;
  CURLcode result_ = CURLE_OK;

  int status_ = 0;
  bool has_headers_ = false;
  std::size_t header_bytes_ = 0;
  Headers headers_;
  std::string body_;
  bool is_paused_ = false;
};

}  // namespace isthmus::net
