#include "isthmus/providers/infra/authorized_transport.h"

#include <string_view>
#include <utility>

#include "isthmus/base/text.h"

namespace isthmus::providers::infra {

AuthorizedTransport::AuthorizedTransport(std::unique_ptr<net::Transport> next, Files& files,
                                         std::string token_file)
    : next_(std::move(next)), files_(files), token_file_(std::move(token_file)) {}

Task<Result<net::Response>> AuthorizedTransport::call(net::Request request) {
  CO_TRY(authorize(request));
  net::Response response = CO_TRY(co_await next_->call(std::move(request)));
  co_return response;
}

Task<Result<net::StreamedResponse>> AuthorizedTransport::open(net::Request request) {
  CO_TRY(authorize(request));
  net::StreamedResponse response = CO_TRY(co_await next_->open(std::move(request)));
  co_return response;
}

Result<> AuthorizedTransport::authorize(net::Request& request) {
  if (token_file_.empty()) return {};
  // Without its token file we are nobody, which is what the server would say as well.
  const Result<FileStamp> stamp = files_.stamp(token_file_);
  if (!stamp) return fail(Outcome::denied, "not sent: " + stamp.error().message);
  if (stamp != token_stamp_) {
    const Result<std::string> text = files_.read(token_file_, kTokenBytesMax);
    if (!text) return fail(Outcome::denied, "not sent: " + text.error().message);
    // It may hold several while clients change over; any of them is good.
    token_ = Secret(std::string(first_line(*text)));
    token_stamp_ = *stamp;
  }
  if (token_.empty()) return fail(Outcome::denied, "not sent: " + token_file_ + " holds no token");
  request.headers.set("Authorization", "Bearer " + token_.reveal());
  return {};
}

}  // namespace isthmus::providers::infra
