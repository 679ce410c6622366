#include "isthmus/app/secure_port.h"

#include <optional>
#include <utility>

#include "isthmus/app/api_way.h"
#include "isthmus/app/authentication.h"
#include "isthmus/app/authorization.h"
#include "isthmus/app/client_trust.h"
#include "isthmus/app/guarded_handler.h"
#include "isthmus/app/loop_lag.h"
#include "isthmus/base/rate_limit.h"
#include "isthmus/base/scope.h"
#include "isthmus/kube/layers.h"

namespace isthmus::app {
namespace {

// Nothing that is asked here has a body, and anybody may connect: TLS takes 6 MB of memory at most,
// and who does not read is soon gone.
constexpr net::ServerLimits kServerLimits{
    .body_bytes_max = 0, .connections_max = 128, .write_timeout = std::chrono::seconds(5)};

// Reviews are small; the ConfigMap of the authorities is as large as an object may be.
constexpr net::TransportLimits kReviewLimits{.body_bytes_max = 4 * 1024 * 1024,
                                             .connections_max = 8};

// As much as upstream asks an API server about callers.
constexpr double kReviewQps = 200;
constexpr unsigned kReviewBurst = 400;

// The way to the API server that is asked about callers.
struct Delegate {
  Delegate(std::unique_ptr<ApiWay> way_, const kube::ClusterConfig& cluster, Loop& loop,
           Metrics& metrics)
      : way(std::move(way_)),
        budget(loop, kReviewQps, kReviewBurst),
        api(way->api(), budget, loop, metrics, kube::host_of(cluster)) {}

  std::unique_ptr<ApiWay> way;
  TokenBucket budget;
  kube::PacedApi api;
};

// Null where there is no such cluster.
Result<std::unique_ptr<Delegate>> open_delegate(net::PosixWorld& world,
                                                const std::optional<kube::ClusterConfig>& cluster,
                                                const std::string& purpose, Metrics& metrics) {
  if (!cluster) return std::unique_ptr<Delegate>();
  auto way = TRY(ApiWay::open(world, *cluster, purpose, kReviewLimits, metrics));
  return std::make_unique<Delegate>(std::move(way), *cluster, world.loop(), metrics);
}

struct Delegates {
  std::unique_ptr<Delegate> authentication;  // Null: tokens are not accepted.
  std::unique_ptr<Delegate> authorization;   // Null: nobody is asked.
};

kube::ApiDoor* door(const std::unique_ptr<Delegate>& delegate) {
  return delegate ? &delegate->api : nullptr;
}

}  // namespace

// All parts, each built from those above it.
struct SecurePort::Parts {
  Parts(net::PosixWorld& world_, const ServingSetup& setup_, Delegates delegates_,
        EndpointSources sources, Metrics& metrics, Logger& log_)
      : world(world_),
        setup(setup_),
        log(log_),
        delegates(std::move(delegates_)),
        authenticator(setup.policy.asks_for_certificate ? &trust : nullptr,
                      door(delegates.authentication), setup.token_ttl, world.loop()),
        authorizer(door(delegates.authorization), setup.rules, world.loop()),
        lag(world.loop(), metrics),
        endpoints(with_own_checks(std::move(sources), metrics), metrics, log),
        guard(endpoints, authenticator, authorizer,
              setup.looks_callers_up() ? GuardedHandler::Strangers::looked_up
                                       : GuardedHandler::Strangers::local_only,
              world.loop(), metrics, log),
        certificate(world.files(), world.loop(), metrics, log, setup.certificate) {
    trust.set(setup.client_ca);
  }

  EndpointSources with_own_checks(EndpointSources sources, Metrics& metrics) {
    sources.checks.push_back({"event-loop", Probe::liveness, [this] { return lag.check(); }});
    if (!setup.looks_up_client_ca) return sources;
    published.emplace(delegates.authentication->api, trust, world.loop(), world.random(), metrics,
                      log);
    if (setup.needs_client_ca) {
      sources.checks.push_back(
          {"client-ca", Probe::readiness, [this] { return published->check(); }});
    }
    return sources;
  }

  net::PosixWorld& world;
  const ServingSetup& setup;
  Logger& log;
  Delegates delegates;
  ClientTrust trust;
  std::optional<PublishedClientCa> published;
  Authenticator authenticator;
  Authorizer authorizer;
  LoopLag lag;
  OperatorEndpoints endpoints;
  GuardedHandler guard;
  CertificateKeeper certificate;
  std::unique_ptr<net::HttpServer> server;
};

SecurePort::SecurePort(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

SecurePort::~SecurePort() = default;

Result<std::unique_ptr<SecurePort>> SecurePort::open(net::PosixWorld& world,
                                                     const ServingSetup& setup,
                                                     EndpointSources sources, Metrics& metrics,
                                                     Logger& log) {
  Delegates delegates;
  delegates.authentication =
      TRY(open_delegate(world, setup.authentication, "authentication", metrics));
  delegates.authorization =
      TRY(open_delegate(world, setup.authorization, "authorization", metrics));
  auto parts =
      std::make_unique<Parts>(world, setup, std::move(delegates), std::move(sources), metrics, log);
  parts->server = TRY(net::listen(world, setup.address, setup.certificate.pair.tls, parts->guard,
                                  log, kServerLimits, setup.policy));
  parts->certificate.add(*parts->server);
  Result<> settled = parts->certificate.start();
  if (!settled) return fail("--cert-dir", settled.error());
  log.info("serving", {{"port", parts->server->port()},
                       {"callers", setup.looks_callers_up() ? "looked up" : "of this machine"}});
  return std::unique_ptr<SecurePort>(new SecurePort(std::move(parts)));
}

std::uint16_t SecurePort::port() const { return parts_->server->port(); }

Task<Result<>> SecurePort::run() {
  Parts& parts = *parts_;
  const ServingSetup& setup = parts.setup;
  Scope& here = co_await current_scope();
  Scope all(here);
  all.spawn(&net::HttpServer::run, parts.server.get());
  all.spawn(&LoopLag::run, &parts.lag);
  all.spawn(&CertificateKeeper::run, &parts.certificate);
  if (parts.published) all.spawn(&PublishedClientCa::run, &*parts.published);
  if (!setup.client_ca_file.empty()) {
    all.spawn(keep_client_ca_fresh, std::ref(parts.world.files()), setup.client_ca_file,
              setup.client_ca_stamp, std::ref(parts.trust), std::ref(parts.log));
  }
  Result<> ended = co_await all.join();
  co_return ended;
}

}  // namespace isthmus::app
