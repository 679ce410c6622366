#include "isthmus/net/request_reader_impl.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace isthmus::net {
namespace {

namespace http = boost::beast::http;

Refusal refusal(const boost::system::error_code& error) {
  if (error == http::error::header_limit) return {431, "the headers are too long"};
  if (error == http::error::body_limit) return {413, "the body is too long"};
  if (error == http::error::bad_version) return {505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  return {400, "the request is malformed: " + error.message()};
}

}  // namespace

struct RequestReader::Parser {
  http::request_parser<http::string_body> beast;
};

RequestReader::RequestReader(const ServerLimits& limits)
    : limits_(limits), parser_(std::make_unique<Parser>()) {
  constexpr std::size_t kBeastMax = std::numeric_limits<std::uint32_t>::max();
  const std::size_t header_max = std::min(limits.header_bytes_max, kBeastMax);
  parser_->beast.header_limit(static_cast<std::uint32_t>(header_max));
  parser_->beast.body_limit(limits.body_bytes_max);
  parser_->beast.eager(true);
}

RequestReader::~RequestReader() = default;

std::optional<Refusal> RequestReader::feed(std::string& input) {
  auto& parser = parser_->beast;
  // Empty lines before a request are skipped (RFC 9112 section 2.2).
  while (!parser.got_some() && input.starts_with("\r\n")) input.erase(0, 2);
  while (!parser.is_done() && !input.empty()) {
    boost::system::error_code error;
    const std::size_t used = parser.put(boost::asio::buffer(input), error);
    input.erase(0, used);
    if (has_head() && !is_head_checked_) {
      is_head_checked_ = true;
      if (std::optional<Refusal> refused = check_head()) return refused;
    }
    if (error == http::error::need_more) break;
    if (error) return refusal(error);
    if (used == 0) break;
  }
  // What the parser leaves for later is an unfinished line: of the head, or between chunks.
  const bool too_long = !parser.is_done() && input.size() > limits_.header_bytes_max;
  if (too_long) return Refusal{431, "a line is too long"};
  return std::nullopt;
}

bool RequestReader::has_head() const { return parser_->beast.is_header_done(); }
bool RequestReader::is_complete() const { return parser_->beast.is_done(); }
bool RequestReader::keeps_alive() const { return parser_->beast.get().keep_alive(); }
bool RequestReader::is_http_1_0() const { return parser_->beast.get().version() == 10; }

bool RequestReader::expects_continue() const {
  const auto& head = parser_->beast.get();
  return !is_http_1_0() && boost::beast::iequals(head[http::field::expect], "100-continue");
}

std::optional<Refusal> RequestReader::check_head() const {
  const auto& head = parser_->beast.get();
  const std::size_t hosts = head.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && !is_http_1_0())) {
    return Refusal{400, "exactly one Host header is needed"};
  }
  // RFC 9110 section 10.1.1 knows one expectation, and whoever has another is told.
  const auto [first, last] = head.equal_range(http::field::expect);
  const bool is_known = std::all_of(first, last, [](const auto& field) {
    return boost::beast::iequals(field.value(), "100-continue");
  });
  if (!is_known && !is_http_1_0()) return Refusal{417, "only Expect: 100-continue is known here"};
  // Anything but plain "chunked" would leave the length of the body to guesswork.
  const bool has_coding = head.count(http::field::transfer_encoding) > 0;
  if (has_coding && !boost::beast::iequals(head[http::field::transfer_encoding], "chunked")) {
    return Refusal{501, "only the transfer coding chunked is known here"};
  }
  return std::nullopt;
}

Request RequestReader::take() {
  auto message = parser_->beast.release();
  Request request;
  request.method = std::string_view(message.method_string());
  request.target = std::string_view(message.target());
  for (const auto& field : message) {
    request.headers.add(std::string(std::string_view(field.name_string())),
                        std::string(std::string_view(field.value())));
  }
  request.body = std::move(message.body());
  return request;
}

}  // namespace isthmus::net
