#include <fmt/format.h>

#include <cstdio>

#include "isthmus/app/api_way.h"
#include "isthmus/app/commands.h"
#include "isthmus/app/controller_clients.h"
#include "isthmus/app/dry_run_log.h"
#include "isthmus/app/lifecycle.h"
#include "isthmus/app/process_metrics.h"
#include "isthmus/app/run_config.h"
#include "isthmus/app/secure_port.h"
#include "isthmus/app/version.h"
#include "isthmus/base/scope.h"
#include "isthmus/cloud/dry_run_provider.h"

namespace isthmus::app {
namespace {

struct Ways {
  std::unique_ptr<ApiWay> work;
  std::unique_ptr<ApiWay> watch;
  std::unique_ptr<ApiWay> lease;
  std::unique_ptr<ApiWay> events;
  std::unique_ptr<ControllerClients> controllers;  // Null: a dry run, which writes nothing.
};

Result<Ways> open_ways(net::PosixWorld& world, const RunSetup& setup, Metrics& metrics,
                       Logger& log) {
  const kube::ClusterConfig& cluster = setup.cluster;
  const net::TransportLimits few{.connections_max = 4};
  const net::TransportLimits many{.connections_max = 16};
  Ways ways;
  ways.work = TRY(ApiWay::open(world, cluster, "cloud-controller-manager", many, metrics));
  ways.watch = TRY(ApiWay::open(world, cluster, "shared-informers", few, metrics));
  ways.lease = TRY(ApiWay::open(world, cluster, "leader-election", few, metrics));
  ways.events = TRY(ApiWay::open(world, cluster, "events", few, metrics));
  if (setup.manager.dry_run) return ways;
  const auto identity = setup.own_accounts ? ControllerClients::Identity::own_account
                                           : ControllerClients::Identity::shared;
  ways.controllers =
      TRY(ControllerClients::open(world, cluster, identity, ways.work->api(), metrics, log));
  return ways;
}

// The running program: built when everything has been read, in the order of what needs what.
struct Program {
  Program(net::PosixWorld& world_, RunSetup& setup_, Ways ways_, Metrics& metrics_, Logger& log_)
      : world(world_),
        setup(setup_),
        log(log_),
        dry_run_log(log_),
        ways(std::move(ways_)),
        process_metrics(world.loop(), world.files(), metrics_),
        gate(metrics_),
        cloud(std::move(setup.cloud.provider), setup.cloud.limits, gate, world.loop(), metrics_,
              log),
        manager(
            {world.loop(), world.random(), metrics_, manager_log(), ways.work->api(),
             ways.watch->api(), ways.lease->api(), ways.events->api(), cloud, gate, client_apis()},
            setup.manager) {}

  std::map<std::string, std::reference_wrapper<kube::ApiDoor>, std::less<>> client_apis() {
    if (!ways.controllers) return {};
    return ways.controllers->apis();
  }
  Logger& manager_log() { return setup.manager.dry_run ? static_cast<Logger&>(dry_run_log) : log; }

  net::PosixWorld& world;
  RunSetup& setup;
  Logger& log;
  DryRunLog dry_run_log;
  Ways ways;
  ProcessMetrics process_metrics;
  WriteGate gate;
  cloud::Stack cloud;
  Manager manager;
  std::unique_ptr<SecurePort> secure_port;  // Null: there is none.
};

Result<> open_secure_port(Program& program, Metrics& metrics) {
  if (!program.setup.serving) return {};
  EndpointSources sources{
      .checks = program.manager.checks(),
      .config = [&program] { return program.setup.component_config; },
      .process_start = [&program] { return program.process_metrics.start_time(); }};
  program.secure_port = TRY(SecurePort::open(program.world, *program.setup.serving,
                                             std::move(sources), metrics, program.log));
  return {};
}

Task<Result<>> run_program(Program& program, Wishes& wishes) {
  Scope& here = co_await current_scope();
  Scope serving(here);
  if (program.secure_port) serving.spawn(&SecurePort::run, program.secure_port.get());
  Result<> ended = co_await program.manager.run(wishes.stopping);
  serving.cancel();
  Result<> serving_ended = co_await serving.join();
  co_return ended;
}

// Nothing is written from here on: whoever tries is answered as if it had been.
void hold_back_writes(Ways& ways, RunSetup& setup, Logger& log) {
  log.info("dry run: nothing is written, neither to Kubernetes nor to the cloud");
  for (ApiWay* way : {ways.work.get(), ways.watch.get(), ways.lease.get(), ways.events.get()}) {
    way->write_nothing(log);
  }
  setup.cloud.provider =
      std::make_unique<cloud::DryRunProvider>(std::move(setup.cloud.provider), log);
}

int start(net::PosixWorld& world, RunSetup& setup, Logger& log) {
  Metrics metrics;
  export_build_info(metrics);
  Result<Ways> ways = open_ways(world, setup, metrics, log);
  if (!ways) {
    log.error("no way to the API server", {{"error", ways.error()}});
    return kExitFailed;
  }
  if (setup.manager.dry_run) hold_back_writes(*ways, setup, log);
  Program program(world, setup, std::move(*ways), metrics, log);
  Result<> serving = open_secure_port(program, metrics);
  if (!serving) {
    log.error("cannot serve", {{"error", serving.error()}});
    return kExitFailed;
  }
  log.info("starting", {{"version", version()},
                        {"server", setup.cluster.server},
                        {"identity", setup.manager.election.identity}});
  Result<> ended = run_until_stopped(
      world, log, kStopGrace, [&program](Wishes& wishes) { return run_program(program, wishes); });
  if (ended) {
    log.info("stopped");
    return kExitDone;
  }
  log.error("ended", {{"error", ended.error()}});
  return kExitFailed;
}

// Once, so that nobody waits for what a flag does elsewhere.
void tell_without_effect(const std::string& flags, const RunOptions& options, Logger& log) {
  if (!flags.empty()) log.info("flags that have no effect here", {{"flags", flags}});
  const std::string unused = without_effect_in_dry_run(options);
  if (!unused.empty()) log.info("flags that have no effect in a dry run", {{"flags", unused}});
  const std::string names = options.generic.feature_gates.without_effect();
  if (!names.empty()) log.info("feature gates that have no effect here", {{"gates", names}});
}

}  // namespace

int run_command(const std::vector<std::string>& arguments, const Environment& environment) {
  RunOptions options;
  const FlagTable table = run_flags(options);
  net::PosixWorld world;
  ParsedFlags parsed = read_run_options(world.files(), table, arguments, options);
  if (parsed.help) {
    fmt::print("{}", table.help());
    return kExitDone;
  }
  if (parsed.mistakes.empty() && options.logs.version != "false") {
    fmt::print("{}", version_text(options.logs.version == "raw"));
    return kExitDone;
  }
  find_contradictions(options, parsed.mistakes);
  std::optional<RunSetup> setup = prepare_run(world, options, environment, parsed.mistakes);
  if (!setup) {
    fmt::print(stderr, "isthmus run: nothing was started:\n{}\n", parsed.mistakes.text());
    return kExitFailed;
  }
  StderrLogger log(world.loop(), log_format(options.logs.format),
                   log_threshold(options.logs.verbosity));
  tell_without_effect(table.without_effect(parsed), options, log);
  return start(world, *setup, log);
}

}  // namespace isthmus::app
