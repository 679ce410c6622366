// The subcommands. Each takes the arguments behind its name, runs to its end and answers with an
// exit code of lifecycle.h.
#pragma once

#include <string>
#include <vector>

#include "isthmus/app/run_setup.h"

namespace isthmus::app {

// The cloud controller manager.
int run_command(const std::vector<std::string>& arguments, const Environment& environment);

// What such a manager would do now, and why.
int plan_command(const std::vector<std::string>& arguments, const Environment& environment);

// Why a Service has no address that answers, or a Node is not what it should be.
int explain_command(const std::vector<std::string>& arguments, const Environment& environment);

// The infrastructure backend.
int infra_command(const std::vector<std::string>& arguments, const Environment& environment);

// What a backend says of its load balancers, addresses, pools and orphans.
int status_command(const std::vector<std::string>& arguments, const Environment& environment);

// Whether a cloud that serves the infrastructure API keeps the contract.
int conformance_command(const std::vector<std::string>& arguments, const Environment& environment);

// Prints a page of the reference that is made of the program's own tables.
int reference_command(const std::vector<std::string>& arguments, const Environment& environment);

// Prints the version.
int version_command(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace isthmus::app
