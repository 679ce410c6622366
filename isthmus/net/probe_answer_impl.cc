#include "isthmus/net/probe_answer_impl.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstdint>

#include "isthmus/net/posix_prober.h"

namespace isthmus::net {
namespace {

namespace http = boost::beast::http;

// A head this long is a mistake, and a line must be kept until it is complete.
constexpr std::uint32_t kHeadMax = 16 * 1024;

}  // namespace

// Notes the status and forgets all else.
class ProbeAnswer::Parser final : public http::basic_parser<false> {
 public:
  Parser() {
    header_limit(kHeadMax);
    body_limit(boost::none);
    eager(true);
  }

  int status = 0;

 private:
  using View = boost::beast::string_view;
  using Code = boost::beast::error_code;

  void on_response_impl(int code, View, int, Code&) override { status = code; }
  void on_request_impl(http::verb, View, View, int, Code&) override {}
  void on_field_impl(http::field, View, View, Code&) override {}
  void on_header_impl(Code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Code&) override {}
  std::size_t on_body_impl(View body, Code&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, View, Code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, View body, Code&) override { return body.size(); }
  void on_finish_impl(Code&) override {}
};

ProbeAnswer::ProbeAnswer() : parser_(std::make_unique<Parser>()) {}
ProbeAnswer::~ProbeAnswer() = default;

std::optional<Result<>> ProbeAnswer::feed(std::string_view bytes) {
  bytes_ += bytes.size();
  rest_ += bytes;
  while (!rest_.empty()) {
    boost::system::error_code error;
    const std::size_t used = parser_->put(boost::asio::buffer(rest_), error);
    rest_.erase(0, used);
    if (error && error != http::error::need_more) {
      const bool is_too_long = error == http::error::header_limit;
      return fail(Outcome::lost, is_too_long ? "its answer's head is too long" : "not HTTP");
    }
    if (parser_->is_header_done()) {
      const int status = parser_->status;
      const bool is_interim = status / 100 == 1 && status != 101;
      if (!is_interim && (status < 200 || status > 399)) {
        return fail(Outcome::lost, "answered " + std::to_string(status));
      }
      if (!is_interim && parser_->is_done()) return Result<>{};
      // Interim answers come before the one that counts (RFC 9110 section 15.2).
      if (is_interim) parser_ = std::make_unique<Parser>();
    }
    if (error || used == 0) break;
  }
  // What the parser leaves for later is a line that is not complete.
  if (rest_.size() > kHeadMax) return fail(Outcome::lost, "not HTTP");
  if (bytes_ < kProbeAnswerMax) return std::nullopt;
  if (parser_->is_header_done()) return Result<>{};
  return fail(Outcome::lost, "its answer's head is too long");
}

Result<> ProbeAnswer::end() {
  if (bytes_ == 0) return fail(Outcome::lost, "closed without an answer");
  boost::system::error_code error;
  if (parser_->got_some() && rest_.empty()) {
    parser_->put_eof(error);
    if (!error && parser_->is_done()) return {};
  }
  return fail(Outcome::lost, "closed before its answer was complete");
}

}  // namespace isthmus::net
