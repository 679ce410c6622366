#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "isthmus/app/cluster_facts.h"
#include "isthmus/app/cluster_look.h"
#include "isthmus/app/commands.h"
#include "isthmus/app/explain_options.h"
#include "isthmus/app/explain_table.h"
#include "isthmus/app/lifecycle.h"
#include "isthmus/app/look_options.h"
#include "isthmus/app/run_config.h"

namespace isthmus::app {
namespace {

using controllers::Explanation;
using controllers::Link;

// It was looked at, and something is broken; as isthmus status has it.
constexpr int kExitBroken = 3;

Task<Result<>> find_out(ClusterFacts& facts, const ExplainOptions& options,
                        Explanation& explanation) {
  if (options.kind == "service") {
    const controllers::ServiceFacts found = CO_TRY(co_await facts.of_service(options.name));
    explanation = explain(found);
  } else {
    const controllers::NodeFacts found = CO_TRY(co_await facts.of_node(options.name));
    explanation = explain(found);
  }
  co_return Result<>{};
}

int show(net::PosixWorld& world, const ExplainOptions& options, RunSetup& setup) {
  Result<std::unique_ptr<ClusterLook>> look = ClusterLook::open(world, setup, "explain");
  if (!look) {
    fmt::print(stderr, "isthmus explain: {}\n", look.error().message);
    return kExitFailed;
  }
  NullLogger log;
  ClusterFacts facts((*look)->api(), (*look)->cloud(), setup.manager, world.loop());
  Explanation explanation;
  const Result<> done = run_until_stopped(
      world, log, Duration::zero(), [&](Wishes&) { return find_out(facts, options, explanation); });
  if (!done) {
    fmt::print(stderr, "isthmus explain: {}\n", done.error().message);
    return kExitFailed;
  }
  if (options.output == "json") {
    fmt::print("{}\n", encode(explanation));
  } else {
    fmt::print("{}", explain_table(explanation));
  }
  // Where not even the object can be read, nothing was explained.
  if (explanation.links.front().state == Link::State::unknown) return kExitFailed;
  return is_broken(explanation) ? kExitBroken : kExitDone;
}

}  // namespace

int explain_command(const std::vector<std::string>& arguments, const Environment& environment) {
  ExplainOptions options;
  std::vector<std::string> flags = arguments;
  Mistakes mistakes;
  take_explain_words(flags, options, mistakes);
  const FlagTable table = explain_flags(options);
  net::PosixWorld world;
  ParsedFlags parsed = read_run_options(world.files(), table, flags, options.run);
  if (parsed.help) {
    fmt::print("{}", table.help());
    return kExitDone;
  }
  std::optional<RunSetup> setup = prepare_look(world, options.run, environment, parsed.mistakes);
  if (tell_mistakes("explain", mistakes, parsed.mistakes)) return kExitFailed;
  return show(world, options, *setup);
}

}  // namespace isthmus::app
