// An Endpoint, checked and taken apart into what every handle of a transport is set to.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "isthmus/base/result.h"
#include "isthmus/net/curl_transport.h"

namespace isthmus::net {

struct FreeCurlList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, FreeCurlList>;

// Appends, keeping the list's owner.
void append(CurlList& list, const std::string& text);

struct CurlEndpoint {
  std::string name;         // For people: "https://10.0.0.1:6443", "unix:///run/x.sock".
  std::string url;          // What a request's target is appended to; no slash at its end.
  std::string host_header;  // Empty: curl's own.
  std::string unix_path;    // Empty: TCP.
  std::string proxy;        // Empty: the environment decides.
  bool is_https = false;
  ClientTls tls;
  CurlList connect_to;  // Where to go when the URL carries the name to be checked instead.

  // Everything that is the same for all requests. The endpoint outlives the handle's use, because
  // certificates are not copied.
  void apply(CURL* handle) const;
};

// invalid names the part that is wrong.
Result<CurlEndpoint> parse_endpoint(Endpoint endpoint);

}  // namespace isthmus::net
