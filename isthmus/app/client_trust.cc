#include "isthmus/app/client_trust.h"

#include <utility>

#include "isthmus/base/file_stamp.h"
#include "isthmus/base/scope.h"

namespace isthmus::app {
namespace {

// A hundred authorities of 2 KB, several times over.
constexpr std::size_t kPemBytesMax = 1024 * 1024;

}  // namespace

Result<net::ClientAuthorities> load_client_ca(Files& files, const std::string& path) {
  const std::string pem = TRY(files.read(path, kPemBytesMax));
  Result<net::ClientAuthorities> authorities = net::ClientAuthorities::parse(pem);
  if (!authorities) return fail(path, authorities.error());
  return authorities;
}

Task<Result<>> keep_client_ca_fresh(Files& files, std::string path, std::optional<FileStamp> seen,
                                    ClientTrust& trust, Logger& log) {
  for (;;) {
    CO_TRY(co_await sleep_for(kClientCaCheckPeriod));
    const std::optional<FileStamp> current = stamp_of(files, path);
    if (current == seen) continue;
    seen = current;
    Result<net::ClientAuthorities> authorities = load_client_ca(files, path);
    if (!authorities) {
      log.error("the old authorities of client certificates stay",
                {{"error", authorities.error()}});
      continue;
    }
    trust.set(std::move(*authorities));
    log.info("authorities of client certificates replaced", {{"file", path}});
  }
}

PublishedClientCa::PublishedClientCa(kube::ApiDoor& api, ClientTrust& trust, const Clock& clock,
                                     Random& random, Metrics& metrics, Logger& log)
    : trust_(trust),
      log_(log),
      sink_(store_),
      watcher_(api, kube::ConfigMap::resource, sink_, clock, random, metrics, log,
               {.only = {std::string(kNamespace), std::string(kName)}}) {
  store_.subscribe([this](const kube::Difference<kube::ConfigMap>& difference) {
    take(difference.after.get());
  });
}

Task<Result<>> PublishedClientCa::run() { return watcher_.run(); }

Result<> PublishedClientCa::check() const {
  if (store_.has_synced()) return {};
  const std::string what = "ConfigMap " + std::string(kNamespace) + "/" + std::string(kName);
  if (watcher_.refusal()) return fail(what, *watcher_.refusal());
  return fail(Outcome::lost, what + ": no answer yet");
}

void PublishedClientCa::take(const kube::ConfigMap* published) {
  const auto pem = published == nullptr ? std::nullopt : published->data.find(kKey);
  if (!pem) {
    trust_.set(std::nullopt);
    log_.warning("nobody is known by a client certificate: no authority is published",
                 {{"configmap", kName}, {"key", kKey}});
    return;
  }
  Result<net::ClientAuthorities> authorities = net::ClientAuthorities::parse(std::string(*pem));
  if (!authorities) {
    log_.error("the old authorities of client certificates stay",
               {{"configmap", kName}, {"key", kKey}, {"error", authorities.error()}});
    return;
  }
  trust_.set(std::move(*authorities));
  log_.info("authorities of client certificates read", {{"configmap", kName}});
}

}  // namespace isthmus::app
