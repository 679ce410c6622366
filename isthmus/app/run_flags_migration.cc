
#include "isthmus/app/run_flags_impl.h"

namespace isthmus::app {

void add_migration_flags(FlagTable& table, MigrationFlags& flags) {
  const std::string group = "Leader migration flags";
  table.boolean("enable-leader-migration", flags.enable_leader_migration, group,
                "Share some controllers with another manager by a second lease.");
  table.text("leader-migration-config", flags.leader_migration_config, group,
             "Path of a LeaderMigrationConfiguration; empty: the one that upstream has built in.");
}

void check_migration_flags(const MigrationFlags& flags, const ElectionFlags& election,
                           Mistakes& mistakes) {
  if (flags.enable_leader_migration && !election.leader_elect) {
    mistakes.add("--enable-leader-migration", "needs --leader-elect");
  }
  if (!flags.enable_leader_migration && !flags.leader_migration_config.empty()) {
    mistakes.add("--leader-migration-config", "is not read without --enable-leader-migration");
  }
}

}  // namespace isthmus::app
