#include <fmt/format.h>

#include <cstdio>

#include "isthmus/app/commands.h"
#include "isthmus/app/health.h"
#include "isthmus/app/lifecycle.h"
#include "isthmus/app/process_metrics.h"
#include "isthmus/app/version.h"
#include "isthmus/base/scope.h"
#include "isthmus/kube/client.h"
#include "isthmus/kube/tokens.h"
#include "isthmus/net/curl_transport.h"

namespace isthmus::app {
namespace {

// The whole of a stop: draining, last events, release of the lease. Promised are three seconds.
constexpr Duration kStopGrace = std::chrono::milliseconds(2700);

// One way to the API server, with connections and a user agent of its own.
class Way {
 public:
  static Result<std::unique_ptr<Way>> open(net::PosixWorld& world,
                                           const kube::ClusterConfig& cluster,
                                           const std::string& purpose, net::TransportLimits limits,
                                           Metrics& metrics) {
    net::Endpoint endpoint{.url = cluster.server, .tls = cluster.tls, .proxy = cluster.proxy};
    auto transport = TRY(net::make_curl_transport(world, std::move(endpoint), limits));
    return std::make_unique<Way>(world, cluster, purpose, std::move(transport), metrics);
  }

  Way(net::PosixWorld& world, const kube::ClusterConfig& cluster, const std::string& purpose,
      std::unique_ptr<net::Transport> transport, Metrics& metrics)
      : transport_(std::move(transport)),
        tokens_(cluster, world.files(), world.loop()),
        api_(*transport_, tokens_,
             {.user_agent = user_agent(purpose), .host = kube::host_of(cluster)}, world.loop(),
             metrics) {}

  kube::ApiDoor& api() { return api_; }

 private:
  std::unique_ptr<net::Transport> transport_;
  kube::ConfiguredTokens tokens_;
  kube::HttpApi api_;
};

struct Ways {
  std::unique_ptr<Way> work;
  std::unique_ptr<Way> watch;
  std::unique_ptr<Way> lease;
  std::unique_ptr<Way> events;
};

Result<Ways> open_ways(net::PosixWorld& world, const kube::ClusterConfig& cluster,
                       Metrics& metrics) {
  const net::TransportLimits few{.connections_max = 4};
  const net::TransportLimits many{.connections_max = 16};
  Ways ways;
  ways.work = TRY(Way::open(world, cluster, "cloud-controller-manager", many, metrics));
  ways.watch = TRY(Way::open(world, cluster, "shared-informers", few, metrics));
  ways.lease = TRY(Way::open(world, cluster, "leader-election", few, metrics));
  ways.events = TRY(Way::open(world, cluster, "events", few, metrics));
  return ways;
}

// The running program: built when everything has been read, in the order of what needs what.
struct Program {
  Program(net::PosixWorld& world_, RunSetup& setup_, Ways ways_, Metrics& metrics_, Logger& log_)
      : world(world_),
        setup(setup_),
        log(log_),
        ways(std::move(ways_)),
        process_metrics(world.loop(), world.files(), metrics_),
        cloud(std::move(setup.cloud.provider), setup.cloud.limits, world.loop(), metrics_, log),
        manager({world.loop(), world.random(), metrics_, log, ways.work->api(), ways.watch->api(),
                 ways.lease->api(), ways.events->api(), cloud},
                setup.manager),
        endpoints(metrics_, log, manager.checks()) {}

  net::PosixWorld& world;
  RunSetup& setup;
  Logger& log;
  Ways ways;
  ProcessMetrics process_metrics;
  cloud::Stack cloud;
  Manager manager;
  OperatorEndpoints endpoints;
  std::unique_ptr<net::HttpServer> server;
};

Result<> start_serving(Program& program) {
  if (!program.setup.serving) return {};
  const RunSetup::Serving& serving = *program.setup.serving;
  // Nothing that is asked here has a body, and anybody may ask: TLS takes 6 MB of memory at most.
  const net::ServerLimits limits{.body_bytes_max = 0, .connections_max = 128};
  program.server = TRY(net::listen(program.world, serving.address, serving.tls, program.endpoints,
                                   program.log, limits));
  program.log.info("serving", {{"port", program.server->port()}});
  return {};
}

Task<Result<>> run_program(Program& program, Wishes& wishes) {
  Scope& here = co_await current_scope();
  Scope serving(here);
  if (program.server) {
    serving.spawn(&net::HttpServer::run, program.server.get());
    serving.spawn(keep_certificate_fresh, std::ref(program.world.files()),
                  std::ref(program.world.loop()), program.setup.serving->files,
                  program.setup.serving->names, std::ref(*program.server), std::ref(program.log));
  }
  Result<> ended = co_await program.manager.run(wishes.stopping);
  serving.cancel();
  Result<> serving_ended = co_await serving.join();
  co_return ended;
}

int start(net::PosixWorld& world, RunSetup& setup, Logger& log) {
  Metrics metrics;
  Result<Ways> ways = open_ways(world, setup.cluster, metrics);
  if (!ways) {
    log.error("no way to the API server", {{"error", ways.error()}});
    return kExitMistaken;
  }
  Program program(world, setup, std::move(*ways), metrics, log);
  Result<> serving = start_serving(program);
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

}  // namespace

int run_command(const std::vector<std::string>& arguments, const Environment& environment) {
  RunOptions options;
  const FlagTable table = run_flags(options);
  ParsedFlags parsed = table.parse(arguments);
  if (parsed.help) {
    fmt::print("{}", table.help());
    return kExitDone;
  }
  if (parsed.mistakes.empty() && options.version != "false") {
    fmt::print("{}", version_text(options.version == "raw"));
    return kExitDone;
  }
  find_contradictions(options, parsed.mistakes);
  net::PosixWorld world;
  std::optional<RunSetup> setup = prepare_run(world, options, environment, parsed.mistakes);
  if (!setup) {
    fmt::print(stderr, "isthmus run: nothing was started:\n{}\n", parsed.mistakes.text());
    return kExitMistaken;
  }
  StderrLogger log(world.loop(), log_format(options.logging_format),
                   log_threshold(options.verbosity));
  return start(world, *setup, log);
}

}  // namespace isthmus::app
