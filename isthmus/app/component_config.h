// What /configz answers: the configuration that is in force, in upstream's words.
#pragma once

#include <optional>
#include <string>

#include "isthmus/app/leader_migration.h"
#include "isthmus/app/run_options.h"

namespace isthmus::app {

// A JSON object keyed by upstream's API group, cloudcontrollermanager.config.k8s.io, with the
// members of its CloudControllerManagerConfiguration (v1alpha1) under their Go names. It holds no
// secret: of files the names.
std::string component_config(const RunOptions& options,
                             const std::optional<LeaderMigration>& migration);

}  // namespace isthmus::app
