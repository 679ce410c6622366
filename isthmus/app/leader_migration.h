// Leader migration: how controllers move from one manager to another without ever running in both.
//
// Two managers that both know of the migration take a second lease for the controllers that move;
// everything else stays under each one's own lease. Which controllers move, and in which manager
// they are to run, stands in a file that both read (upstream's LeaderMigrationConfiguration of
// controllermanager.config.k8s.io, v1alpha1, v1beta1 or v1):
//
//   apiVersion: controllermanager.config.k8s.io/v1
//   kind: LeaderMigrationConfiguration
//   leaderName: cloud-provider-extraction-migration
//   controllerLeaders:
//   - {name: service-lb-controller, component: "*"}
//
// A name may be the controller's, its alias, or the one it had in kube-controller-manager
// (controller_names.h): upstream compares with the first alone, so its own default file leaves two
// of three controllers under the main lease, and they run twice.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/result.h"

namespace isthmus::app {

// A value.
struct LeaderMigration {
  // A controller of ours, by its canonical name, and the component in which it is to run: this one,
  // another, or "*" for whichever holds the migration's lease.
  struct Leader {
    std::string controller;
    std::string component;

    friend bool operator==(const Leader&, const Leader&) = default;
  };

  std::string lease;  // Its name; the namespace is the main lease's.
  std::vector<Leader> leaders;

  std::set<std::string, std::less<>> ours() const;    // Run here, under the migration's lease.
  std::set<std::string, std::less<>> others() const;  // Not run here.

  friend bool operator==(const LeaderMigration&, const LeaderMigration&) = default;
};

// What upstream has built in: routes, load balancers and the life cycle of Nodes may run in either.
LeaderMigration default_leader_migration();

// Reads a file. invalid, with every mistake by line and key: unknown keys, missing values, another
// version or kind, a lock that is no Lease, a controller that nobody knows, one named twice, one
// that is to run here and is not part of this manager.
Result<LeaderMigration> parse_leader_migration(std::string_view text, std::string_view file);

}  // namespace isthmus::app
