// The Kubernetes API over HTTP: requests become targets and bodies, answers become outcomes.
//
// An answer is believed only as far as it can be understood. A 404 means absent only if its body is
// a Status with reason NotFound that names the very object asked for; a 404 of a proxy, of a server
// that does not know the resource, or about another object is lost. The same holds for HTML, a cut
// body, and a body of another kind: whatever is not understood is lost.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "isthmus/base/clock.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/base/secret.h"
#include "isthmus/base/task.h"
#include "isthmus/kube/api/decode.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/line_stream.h"
#include "isthmus/kube/rest_metrics.h"
#include "isthmus/net/transport.h"

namespace isthmus::kube {

// Where the bearer token comes from (config.h).
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // The token to send now; an empty one: send none (we identify ourselves by certificate).
  virtual Result<Secret> token() = 0;

  // The server did not accept this one: read it again before the next request. Nothing, if it is
  // not the one of now: answers may come late.
  virtual void rejected(const Secret& token) = 0;
};

struct HttpApiOptions {
  std::string user_agent;                            // "isthmus/1.0 (linux/amd64) leader-election"
  std::string host;                                  // The `host` of metrics: "10.0.0.1:6443".
  Duration call_timeout = std::chrono::seconds(30);  // Of everything but lists and watches.
  Duration list_timeout = std::chrono::seconds(60);  // And until a watch is accepted.
};

// A resource. The transport speaks to one API server.
class HttpApi final : public ApiDoor {
 public:
  HttpApi(net::Transport& transport, TokenSource& tokens, HttpApiOptions options,
          const Clock& clock, Metrics& metrics);

  Task<Result<std::string>> get(ObjectName object) override;
  Task<Result<std::string>> list(ListRequest request) override;
  Task<Result<std::unique_ptr<WatchStream>>> watch(WatchRequest request) override;
  Task<Result<std::string>> create(CreateRequest request) override;
  Task<Result<std::string>> patch(PatchRequest request) override;
  Task<Result<>> remove(DeleteRequest request) override;

 private:
  Task<Result<std::string>> call(net::Request request, ObjectName about, Duration timeout);
  Result<Secret> authorize(net::Request& request);
  Error refusal(const net::Response& response, const ObjectName& about, const Secret& token);

  net::Transport& transport_;
  TokenSource& tokens_;
  const HttpApiOptions options_;
  const Clock& clock_;
  RestMetrics metrics_;
  Decoder decoder_;
};

// The request of each call, without user agent and token. Plain functions, so that every target and
// body can be read in a test.
net::Request http_get(const ObjectName& object);
net::Request http_list(const ListRequest& request);
net::Request http_watch(const WatchRequest& request);
net::Request http_create(const CreateRequest& request);
net::Request http_patch(const PatchRequest& request);
net::Request http_delete(const DeleteRequest& request);

// The error that an answer outside 200..299 means for a call about that object (an empty name:
// about all of them). `now` is for a Retry-After that is a date.
Error error_of(const net::Response& response, const ObjectName& about, Decoder& decoder,
               WallTime now);

}  // namespace isthmus::kube
