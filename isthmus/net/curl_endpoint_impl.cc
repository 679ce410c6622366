#include "isthmus/net/curl_endpoint_impl.h"

#include <string_view>
#include <tuple>
#include <utility>

#include "isthmus/net/http.h"

namespace isthmus::net {
namespace {

using Url = std::unique_ptr<CURLU, decltype([](CURLU* url) { curl_url_cleanup(url); })>;

std::unexpected<Error> bad_url(const std::string& url, std::string_view why) {
  return fail(Outcome::invalid, "url \"" + without_user_info(url) + "\": " + std::string(why));
}

// Empty where there is none.
std::string part(const Url& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return {};
  std::string copy = text;
  curl_free(text);
  return copy;
}

Result<> parse_unix(const std::string& url, CurlEndpoint& parsed) {
  constexpr std::size_t kPathMax = 107;  // sockaddr_un::sun_path with its final zero.
  parsed.unix_path = url.substr(std::string_view("unix://").size());
  if (!parsed.unix_path.starts_with('/')) return bad_url(url, "the path must be absolute");
  if (parsed.unix_path.size() > kPathMax) {
    return bad_url(url, "the path of a unix socket has at most 107 bytes");
  }
  parsed.name = url;
  parsed.url = "http://localhost";
  return {};
}

// With a server name of its own, the URL carries that name, so that SNI and the certificate's check
// follow it; the connection and the Host header go to where the endpoint really is.
void redirect_to_host(const std::string& host, const std::string& port, const std::string& path,
                      CurlEndpoint& parsed) {
  const std::string& name = parsed.tls.server_name;
  const bool is_v6 = name.find(':') != std::string::npos;
  const std::string shown = is_v6 ? "[" + name + "]" : name;
  parsed.host_header = port == "443" ? host : host + ":" + port;
  parsed.url = "https://" + shown + ":" + port + path;
  append(parsed.connect_to, shown + ":" + port + ":" + host + ":" + port);
}

Result<> parse_http(const std::string& url, CurlEndpoint& parsed) {
  const Url parts(curl_url());
  const CURLUcode result = curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0);
  if (result != CURLUE_OK) return bad_url(url, curl_url_strerror(result));
  const std::string scheme = part(parts, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") {
    return bad_url(url, "the scheme must be https, http or unix");
  }
  if (!part(parts, CURLUPART_USER).empty() || !part(parts, CURLUPART_PASSWORD).empty()) {
    return bad_url(url, "must not carry a user or password");
  }
  if (url.find_first_of("?#") != std::string::npos) {
    return bad_url(url, "must not have a query or fragment");
  }
  const std::string host = part(parts, CURLUPART_HOST);
  const std::string port = part(parts, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  std::string path = part(parts, CURLUPART_PATH);
  while (path.ends_with('/')) path.pop_back();
  parsed.is_https = scheme == "https";
  parsed.name = scheme + "://" + host + ":" + port + path;
  parsed.url = parsed.name;
  if (parsed.is_https && !parsed.tls.server_name.empty()) {
    redirect_to_host(host, port, path, parsed);
  }
  return {};
}

curl_blob blob(const std::string& text) {
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
}

void apply_tls(const ClientTls& tls, CURL* handle) {
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  // With Debian's default CAPATH curl would read the whole bundle anew for every connection
  // (821 KB and 20 ms each, measured); without it its cache works.
  curl_easy_setopt(handle, CURLOPT_CAPATH, nullptr);
  if (!tls.ca_pem.empty()) {
    curl_blob authorities = blob(tls.ca_pem);
    curl_easy_setopt(handle, CURLOPT_CAINFO_BLOB, &authorities);
  }
  if (!tls.certificate_pem.empty()) {
    curl_blob certificate = blob(tls.certificate_pem);
    curl_blob key = blob(tls.private_key_pem.reveal());
    curl_easy_setopt(handle, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(handle, CURLOPT_SSLKEY_BLOB, &key);
  }
}

}  // namespace

void append(CurlList& list, const std::string& text) {
  curl_slist* longer = curl_slist_append(list.get(), text.c_str());
  ISTHMUS_ASSERT(longer != nullptr, "out of memory");
  std::ignore = list.release();
  list.reset(longer);
}

void CurlEndpoint::apply(CURL* handle) const {
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  if (!unix_path.empty()) {
    curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, unix_path.c_str());
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    return;
  }
  if (!proxy.empty()) {
    curl_easy_setopt(handle, CURLOPT_PROXY, proxy.c_str());
    curl_easy_setopt(handle, CURLOPT_NOPROXY, "");
  }
  if (connect_to) curl_easy_setopt(handle, CURLOPT_CONNECT_TO, connect_to.get());
  if (is_https) apply_tls(tls, handle);
}

Result<CurlEndpoint> parse_endpoint(Endpoint endpoint) {
  CurlEndpoint parsed;
  if (endpoint.tls) parsed.tls = std::move(*endpoint.tls);
  if (endpoint.url.starts_with("unix://")) {
    TRY(parse_unix(endpoint.url, parsed));
    return parsed;
  }
  TRY(parse_http(endpoint.url, parsed));
  if (parsed.is_https) {
    const Result<> checked = check(parsed.tls);
    if (!checked) return fail("tls", checked.error());
  }
  if (!endpoint.proxy.empty()) {
    const Url proxy(curl_url());
    const unsigned flags = CURLU_DEFAULT_SCHEME | CURLU_NON_SUPPORT_SCHEME;
    if (curl_url_set(proxy.get(), CURLUPART_URL, endpoint.proxy.c_str(), flags) != CURLUE_OK) {
      // The text may hold a password.
      return fail(Outcome::invalid, "proxy: is not a URL");
    }
    parsed.proxy = std::move(endpoint.proxy);
  }
  return parsed;
}

}  // namespace isthmus::net
