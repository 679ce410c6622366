#include <fmt/format.h>

#include <cstdio>

#include "isthmus/app/certificate_keeper.h"
#include "isthmus/app/commands.h"
#include "isthmus/app/infra_options.h"
#include "isthmus/app/lifecycle.h"
#include "isthmus/app/process_metrics.h"
#include "isthmus/app/version.h"
#include "isthmus/base/scope.h"
#include "isthmus/infra/server.h"
#include "isthmus/net/posix_prober.h"

namespace isthmus::app {
namespace {

struct Backend {
  net::PosixWorld& world;
  const infra::Config& config;
  Logger& log;
  Metrics& metrics;
  std::unique_ptr<infra::Server> server;
  std::vector<std::unique_ptr<net::HttpServer>> listeners;
  std::unique_ptr<CertificateKeeper> certificate;  // Of all https addresses; null: there is none.
};

// The certificate of all https addresses is read once.
Result<std::unique_ptr<CertificateKeeper>> open_certificate(net::PosixWorld& world,
                                                            const infra::TlsFiles& tls,
                                                            Metrics& metrics, Logger& log) {
  ServingCertificate first;
  first.files = {tls.certificate, tls.private_key};
  first.pair = TRY(load_pair(world.files(), first.files));
  return std::make_unique<CertificateKeeper>(world.files(), world.loop(), metrics, log,
                                             std::move(first));
}

// Binds every address, so that one in use is reported before anything is served.
Result<> listen_everywhere(Backend& backend) {
  net::ServerLimits limits;
  limits.connections_max =
      net::connections_at_once(backend.config.listen.size(), limits.connections_max);
  if (backend.config.tls) {
    backend.certificate =
        TRY(open_certificate(backend.world, *backend.config.tls, backend.metrics, backend.log));
  }
  for (const net::ListenAddress& address : backend.config.listen) {
    const bool is_https = address.kind == net::ListenAddress::Kind::https;
    std::optional<net::ServerTls> tls;
    if (is_https) tls = backend.certificate->tls();
    backend.listeners.push_back(TRY(net::listen(backend.world, address, std::move(tls),
                                                backend.server->handler(), backend.log, limits)));
    if (is_https) backend.certificate->add(*backend.listeners.back());
    backend.log.info(
        "serving", {{"address", address.host_or_path}, {"port", backend.listeners.back()->port()}});
  }
  if (backend.certificate) TRY(backend.certificate->start());
  return {};
}

Task<Result<>> end_when_stopping(Signal& stopping, Scope& serving) {
  CO_TRY(co_await stopping.wait());
  serving.cancel();
  co_return Result<>{};
}

Task<Result<>> serve(Backend& backend, Wishes& wishes) {
  CO_TRY(co_await backend.server->start());
  CO_TRY(listen_everywhere(backend));
  wishes.reload = [&backend] { backend.server->reload(); };
  Scope& here = co_await current_scope();
  Scope serving(here);
  serving.spawn(end_when_stopping, std::ref(wishes.stopping), std::ref(serving));
  serving.spawn(&infra::Server::run, backend.server.get());
  for (const auto& listener : backend.listeners) {
    serving.spawn(&net::HttpServer::run, listener.get());
  }
  if (backend.certificate) serving.spawn(&CertificateKeeper::run, backend.certificate.get());
  Result<> ended = co_await serving.join();
  if (wishes.stopping.is_set()) co_return Result<>{};
  co_return ended;
}

int start(net::PosixWorld& world, const std::string& path, const infra::Config& config, Logger& log,
          Mistakes& mistakes) {
  Metrics metrics;
  ProcessMetrics process_metrics(world.loop(), world.files(), metrics);
  std::unique_ptr<net::Prober> prober = net::make_posix_prober(world);
  const infra::HostDoors host{*prober, net::probes_at_once(),
                              [&world] { return infra::open_host(world.loop(), world.files()); }};
  Result<std::unique_ptr<infra::Server>> server = infra::open_server(
      config, path, {world.loop(), world.random(), world.files(), metrics, log, &host}, version());
  if (!server && server.outcome() == Outcome::invalid) {
    mistakes.add("", server.error().message);
    return kExitMistaken;
  }
  if (!server) {
    log.error("cannot start", {{"error", server.error()}});
    return kExitFailed;
  }
  Backend backend{.world = world,
                  .config = config,
                  .log = log,
                  .metrics = metrics,
                  .server = std::move(*server),
                  .listeners = {},
                  .certificate = nullptr};
  log.info("starting", {{"version", version()}});
  Result<> ended = run_until_stopped(world, log, kStopGrace,
                                     [&backend](Wishes& wishes) { return serve(backend, wishes); });
  if (ended) {
    log.info("stopped");
    return kExitDone;
  }
  log.error("ended", {{"error", ended.error()}});
  return ended.outcome() == Outcome::invalid ? kExitMistaken : kExitFailed;
}

}  // namespace

int infra_command(const std::vector<std::string>& arguments, const Environment&) {
  InfraOptions options;
  const FlagTable table = infra_flags(options);
  ParsedFlags parsed = table.parse(arguments);
  if (parsed.help) {
    fmt::print("{}", table.help());
    return kExitDone;
  }
  net::PosixWorld world;
  const infra::Config config = load_infra_config(world.files(), options, parsed.mistakes);
  int code = kExitMistaken;
  if (parsed.mistakes.empty()) {
    StderrLogger log(world.loop(), log_format(options.logging_format),
                     log_threshold(options.verbosity));
    code = start(world, options.config, config, log, parsed.mistakes);
  }
  if (!parsed.mistakes.empty()) {
    fmt::print(stderr, "isthmus infra: nothing was started:\n{}\n", parsed.mistakes.text());
  }
  return code;
}

}  // namespace isthmus::app
