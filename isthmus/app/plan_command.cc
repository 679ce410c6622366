#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "isthmus/app/cluster_look.h"
#include "isthmus/app/cluster_plan.h"
#include "isthmus/app/commands.h"
#include "isthmus/app/lifecycle.h"
#include "isthmus/app/look_options.h"
#include "isthmus/app/plan_options.h"
#include "isthmus/app/plan_table.h"
#include "isthmus/app/run_config.h"

namespace isthmus::app {
namespace {

using controllers::Outlook;

// With --detailed-exitcode: as other tools say that a plan is not empty.
constexpr int kExitToDo = 2;

Task<Result<>> find_out(ClusterPlan& plan, PlanWish wish, std::vector<Outlook>& outlooks) {
  outlooks = CO_TRY(co_await plan.make(std::move(wish)));
  co_return Result<>{};
}

int exit_code(const std::vector<Outlook>& outlooks, bool detailed) {
  const auto is_unknown = [](const Outlook& each) { return each.act == controllers::Act::unknown; };
  if (std::ranges::any_of(outlooks, is_unknown)) return kExitFailed;
  return detailed && std::ranges::any_of(outlooks, controllers::is_to_do) ? kExitToDo : kExitDone;
}

int show(net::PosixWorld& world, const PlanOptions& options, RunSetup& setup) {
  Result<std::unique_ptr<ClusterLook>> look = ClusterLook::open(world, setup, "plan");
  if (!look) {
    fmt::print(stderr, "isthmus plan: {}\n", look.error().message);
    return kExitFailed;
  }
  NullLogger log;
  ClusterPlan plan((*look)->api(), *(*look)->cloud(), setup.manager);
  std::vector<Outlook> outlooks;
  const Result<> done = run_until_stopped(world, log, Duration::zero(), [&](Wishes&) {
    return find_out(plan, {options.kind, options.name}, outlooks);
  });
  if (!done) {
    fmt::print(stderr, "isthmus plan: {}\n", done.error().message);
    return kExitFailed;
  }
  if (options.output == "json") {
    fmt::print("{}\n", encode(outlooks));
  } else {
    fmt::print("{}", plan_table(outlooks));
  }
  return exit_code(outlooks, options.detailed_exit_code);
}

}  // namespace

int plan_command(const std::vector<std::string>& arguments, const Environment& environment) {
  PlanOptions options;
  std::vector<std::string> flags = arguments;
  Mistakes mistakes;
  take_plan_words(flags, options, mistakes);
  const FlagTable table = plan_flags(options);
  net::PosixWorld world;
  ParsedFlags parsed = read_run_options(world.files(), table, flags, options.run);
  if (parsed.help) {
    fmt::print("{}", table.help());
    return kExitDone;
  }
  std::optional<RunSetup> setup = prepare_look(world, options.run, environment, parsed.mistakes);
  if (setup && !setup->cloud.provider) {
    parsed.mistakes.add("--cloud-provider", "is required, as in --cloud-provider=isthmus");
  }
  if (tell_mistakes("plan", mistakes, parsed.mistakes)) return kExitFailed;
  return show(world, options, *setup);
}

}  // namespace isthmus::app
