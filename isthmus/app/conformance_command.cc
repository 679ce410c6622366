#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "isthmus/app/client_files.h"
#include "isthmus/app/commands.h"
#include "isthmus/app/conformance_options.h"
#include "isthmus/app/conformance_report.h"
#include "isthmus/app/lifecycle.h"
#include "isthmus/base/log.h"
#include "isthmus/base/scope.h"
#include "isthmus/net/curl_transport.h"
#include "isthmus/net/lossy_transport.h"
#include "isthmus/providers/infra/provider.h"

namespace isthmus::app {
namespace {

using Transport = std::unique_ptr<net::Transport>;

// A load balancer, another and a set are taken away one after the other; a stranger's as well.
constexpr int kThingsToTakeAway = 5;

void tell(const cloud::ConformanceStep& step) {
  fmt::print("{}", line_of(step));
  std::fflush(stdout);
}

Task<Result<>> cancel_on(Signal& stopping, Scope& steps) {
  CO_TRY(co_await stopping.wait());
  steps.cancel();
  co_return Result<>{};
}

// What was made is taken away even when the steps were cut off.
Task<Result<>> run_steps(Wishes& wishes, cloud::ConformanceDoors doors,
                         cloud::ConformanceOptions options, cloud::ConformanceReport& report) {
  Scope& here = co_await current_scope();
  Scope watch(here);
  Scope steps(here);
  watch.spawn(cancel_on, std::ref(wishes.stopping), std::ref(steps));
  Task<cloud::ConformanceReport> test =
      cloud::run_conformance(doors, std::move(options), Uncancellable(here));
  report = co_await steps.run(std::move(test));
  watch.cancel();
  const Result<> watched = co_await watch.join();  // Cancelled, or it was what ended the steps.
  static_cast<void>(watched);
  co_return Result<>{};
}

int test(net::PosixWorld& world, const ConformanceFlags& flags, cloud::ConformanceOptions options,
         Transport transport, Transport other_transport) {
  auto lossy = std::make_unique<net::LossyTransport>(std::move(transport));
  options.lose_answers = [wire = lossy.get()](bool on) { wire->lose_answers(on); };
  providers::infra::InfraProvider provider(std::move(lossy), world.loop(), world.files(),
                                           {.token_file = flags.token_file, .owner = flags.owner});
  std::optional<providers::infra::InfraProvider> stranger;
  if (!flags.other_token_file.empty()) {
    stranger.emplace(std::move(other_transport), world.loop(), world.files(),
                     providers::infra::Identity{.token_file = flags.other_token_file});
  }
  NullLogger log;
  cloud::ConformanceReport report;
  const cloud::ConformanceDoors doors{.provider = provider,
                                      .stranger = stranger ? &*stranger : nullptr,
                                      .random = world.random(),
                                      .tell = tell};
  const Result<> done =
      run_until_stopped(world, log, kThingsToTakeAway * flags.patience,
                        [&](Wishes& wishes) { return run_steps(wishes, doors, options, report); });
  if (!done) {
    fmt::print(stderr, "isthmus conformance: {}\n", done.error().message);
    return kExitFailed;
  }
  fmt::print("\n{}", summary_of(report));
  return report.passed() ? kExitDone : kExitFailed;
}

}  // namespace

int conformance_command(const std::vector<std::string>& arguments, const Environment&) {
  ConformanceFlags flags;
  const FlagTable table = conformance_flags(flags);
  ParsedFlags parsed = table.parse(arguments);
  if (parsed.help) {
    fmt::print("{}", table.help());
    return kExitDone;
  }
  net::PosixWorld world;
  Mistakes& mistakes = parsed.mistakes;
  const StatusTarget target = conformance_target(world.files(), flags, mistakes);
  cloud::ConformanceOptions options = conformance_options(flags, mistakes);
  read_token(world.files(), "--token-file", flags.token_file, mistakes);
  read_token(world.files(), "--other-token-file", flags.other_token_file, mistakes);
  const std::optional<net::ClientTls> tls = read_ca(world.files(), target.ca_file, mistakes);
  if (mistakes.empty()) {
    const net::Endpoint endpoint{.url = target.url, .tls = tls, .proxy = {}};
    auto transport = net::make_curl_transport(world, endpoint);
    auto other_transport = net::make_curl_transport(world, endpoint);
    if (transport && other_transport) {
      return test(world, flags, std::move(options), *std::move(transport),
                  *std::move(other_transport));
    }
    mistakes.add("--url", transport ? other_transport.error().message : transport.error().message);
  }
  fmt::print(stderr, "isthmus conformance:\n{}\n", mistakes.text());
  return kExitMistaken;
}

}  // namespace isthmus::app
