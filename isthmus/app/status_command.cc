#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "isthmus/app/client_files.h"
#include "isthmus/app/commands.h"
#include "isthmus/app/lifecycle.h"
#include "isthmus/app/status_options.h"
#include "isthmus/app/status_report.h"
#include "isthmus/app/status_table.h"
#include "isthmus/base/log.h"
#include "isthmus/net/curl_transport.h"

namespace isthmus::app {
namespace {

// It was answered, and something is not ready.
constexpr int kExitUnwell = 3;

// People wait for this one: so long for each answer.
constexpr Duration kPatience = std::chrono::seconds(10);

Task<Result<>> read_report(StatusReader& reader, std::string owner, StatusReport& report) {
  StatusReport read = CO_TRY(co_await reader.read(std::move(owner)));
  report = std::move(read);
  co_return Result<>{};
}

int show(net::PosixWorld& world, const StatusOptions& options, const StatusTarget& target,
         net::Transport& transport, Secret token) {
  NullLogger log;
  StatusReader reader(transport, std::move(token));
  StatusReport report;
  Result<> done = run_until_stopped(world, log, Duration::zero(), [&](Wishes&) {
    return read_report(reader, options.owner, report);
  });
  if (!done) {
    fmt::print(stderr, "isthmus status: {}: {}\n", net::without_user_info(target.url),
               done.error().message);
    return kExitFailed;
  }
  if (options.output == "json") {
    fmt::print("{}\n", encode(report));
  } else {
    fmt::print("{}", status_table(report, world.loop().wall_now()));
  }
  return is_well(report) ? kExitDone : kExitUnwell;
}

}  // namespace

int status_command(const std::vector<std::string>& arguments, const Environment&) {
  StatusOptions options;
  const FlagTable table = status_flags(options);
  ParsedFlags parsed = table.parse(arguments);
  if (parsed.help) {
    fmt::print("{}", table.help());
    return kExitDone;
  }
  net::PosixWorld world;
  const StatusTarget target = status_target(world.files(), options, parsed.mistakes);
  Secret token = read_token(world.files(), "--token-file", target.token_file, parsed.mistakes);
  std::optional<net::ClientTls> tls = read_ca(world.files(), target.ca_file, parsed.mistakes);
  if (parsed.mistakes.empty()) {
    net::TransportLimits limits;
    limits.connect_timeout = limits.call_timeout = kPatience;
    auto transport = net::make_curl_transport(
        world, {.url = target.url, .tls = std::move(tls), .proxy = {}}, limits);
    if (transport) return show(world, options, target, **transport, std::move(token));
    parsed.mistakes.add("--url", transport.error().message);
  }
  fmt::print(stderr, "isthmus status:\n{}\n", parsed.mistakes.text());
  return kExitMistaken;
}

}  // namespace isthmus::app
