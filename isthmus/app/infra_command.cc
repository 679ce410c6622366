#include <fmt/format.h>

#include <cstdio>

#include "isthmus/app/commands.h"
#include "isthmus/app/infra_options.h"
#include "isthmus/app/lifecycle.h"
#include "isthmus/app/process_metrics.h"
#include "isthmus/app/serving.h"
#include "isthmus/app/version.h"
#include "isthmus/base/scope.h"
#include "isthmus/infra/server.h"
#include "isthmus/net/posix_prober.h"

namespace isthmus::app {
namespace {

// Answers under way get two seconds of it (net::ServerLimits::stop_timeout).
constexpr Duration kStopGrace = std::chrono::milliseconds(2700);

struct Backend {
  net::PosixWorld& world;
  const infra::Config& config;
  Logger& log;
  CertificateFiles certificate;
  CertificateStamps stamps;  // Of these files, before they were loaded.
  std::unique_ptr<infra::Server> server;
  std::vector<std::unique_ptr<net::HttpServer>> listeners;
};

// Binds every address, so that one in use is reported before anything is served.
Result<> listen_everywhere(Backend& backend) {
  net::ServerLimits limits;
  limits.connections_max =
      net::connections_at_once(backend.config.listen.size(), limits.connections_max);
  for (const net::ListenAddress& address : backend.config.listen) {
    std::optional<net::ServerTls> tls;
    if (address.kind == net::ListenAddress::Kind::https) {
      tls = TRY(load_certificate(backend.world.files(), backend.certificate, {},
                                 backend.world.loop().wall_now()));
    }
    backend.listeners.push_back(TRY(net::listen(backend.world, address, std::move(tls),
                                                backend.server->handler(), backend.log, limits)));
    backend.log.info(
        "serving", {{"address", address.host_or_path}, {"port", backend.listeners.back()->port()}});
  }
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
  for (std::size_t i = 0; i < backend.listeners.size(); ++i) {
    net::HttpServer& listener = *backend.listeners[i];
    serving.spawn(&net::HttpServer::run, &listener);
    if (backend.config.listen[i].kind != net::ListenAddress::Kind::https) continue;
    serving.spawn(keep_certificate_fresh, std::ref(backend.world.files()),
                  std::ref(backend.world.loop()), backend.certificate, backend.stamps,
                  std::vector<std::string>{}, std::ref(listener), std::ref(backend.log));
  }
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
  CertificateFiles certificate;
  if (config.tls) certificate = {config.tls->certificate, config.tls->private_key};
  Backend backend{
      world, config, log, certificate, stamps_of(world.files(), certificate), std::move(*server),
      {}};
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
