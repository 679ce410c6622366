// The program's cast list: reads its surroundings, picks the subcommand and answers with its exit
// code. Each subcommand builds its own world and everything in it (run_command.cc,
// infra_command.cc).
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/app/commands.h"
#include "isthmus/app/lifecycle.h"

namespace isthmus::app {
namespace {

struct Subcommand {
  std::string_view name;
  std::string_view purpose;
  int (*run)(const std::vector<std::string>& arguments, const Environment& environment);
};

constexpr std::array kSubcommands{
    Subcommand{"run", "the cloud controller manager of a Kubernetes cluster", run_command},
    Subcommand{"plan", "what a manager would do now and why, object by object", plan_command},
    Subcommand{"explain", "why a Service has no address that answers, or a Node is not ready",
               explain_command},
    Subcommand{"infra", "the infrastructure backend: machines behind one API", infra_command},
    Subcommand{"status", "what a backend holds, and why something is not ready", status_command},
    Subcommand{"conformance", "whether a cloud keeps the contract the manager relies on",
               conformance_command},
    Subcommand{"reference",
               "a page of the reference: annotations, conformance, events, flags, metrics",
               reference_command},
    Subcommand{"version", "which Isthmus this is", version_command},
};

// Under this name the program is installed in place of another cloud controller manager.
constexpr std::string_view kManagerName = "cloud-controller-manager";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Environment read_environment() {
  std::array<char, HOST_NAME_MAX + 1> host_name{};
  if (gethostname(host_name.data(), host_name.size() - 1) != 0) host_name[0] = '\0';
  return {.host_name = host_name.data(),
          .in_cluster = {.host = variable("KUBERNETES_SERVICE_HOST"),
                         .port = variable("KUBERNETES_SERVICE_PORT")}};
}

std::string usage() {
  std::string text = "Usage:\n  isthmus SUBCOMMAND [flags]\n\nSubcommands:\n";
  for (const Subcommand& subcommand : kSubcommands) {
    text += fmt::format("  {:<13}{}\n", subcommand.name, subcommand.purpose);
  }
  return text + "\nisthmus SUBCOMMAND --help names the flags of one.\n";
}

int dispatch(std::string_view program, std::vector<std::string> arguments) {
  const Environment environment = read_environment();
  const std::string_view base_name = program.substr(program.rfind('/') + 1);
  if (base_name == kManagerName) return run_command(arguments, environment);
  if (arguments.empty()) {
    fmt::print(stderr, "isthmus: a subcommand is missing\n\n{}", usage());
    return kExitMistaken;
  }
  const std::string name = arguments.front();
  arguments.erase(arguments.begin());
  for (const Subcommand& subcommand : kSubcommands) {
    if (name == subcommand.name) return subcommand.run(arguments, environment);
  }
  if (name == "--help" || name == "-h" || name == "help") {
    fmt::print("{}", usage());
    return kExitDone;
  }
  if (name == "--version") return version_command({}, environment);
  fmt::print(stderr, "isthmus: there is no subcommand \"{}\"\n\n{}", name, usage());
  return kExitMistaken;
}

}  // namespace
}  // namespace isthmus::app

int main(int argc, char** argv) {
  return isthmus::app::dispatch(argv[0], std::vector<std::string>(argv + 1, argv + argc));
}
