#include "isthmus/app/leader_migration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "isthmus/app/controller_names.h"
#include "isthmus/app/manager.h"
#include "isthmus/infra/yaml_reader.h"
#include "isthmus/kube/api/names.h"

namespace isthmus::app {
namespace {

using infra::YamlReader;

constexpr std::string_view kAnyComponent = "*";
constexpr std::string_view kVersion1 = "controllermanager.config.k8s.io/v1";

// All controllers that managers have are a few dozen.
constexpr std::size_t kLeadersMax = 100;

// Controllers that other managers move and that are not ours to run.
constexpr std::array<std::string_view, 2> kForeign{"node-ipam-controller", "nodeipam"};

void read_lock(YamlReader& file, const std::string& version) {
  if (version == kVersion1) return;  // Always a Lease; the key is an unknown one.
  std::optional<YamlReader> lock = file.optional("resourceLock");
  if (!lock && !version.empty()) file.required("resourceLock");
  const std::string kind = lock ? lock->text() : "";
  if (!kind.empty() && kind != "leases") lock->refuse("expected leases; no other lock exists");
}

bool is_here(std::string_view component) {
  return component == kAnyComponent || component == kManagerComponent;
}

void read_leader(YamlReader& leader, LeaderMigration& migration) {
  YamlReader name = leader.required("name");
  YamlReader component = leader.required("component");
  leader.no_other_keys();
  const std::string text = name.text();
  const std::string where = component.text();
  if (text.empty() || where.empty()) return;
  const ControllerName* controller = find_controller(text);
  if (controller == nullptr) {
    const bool is_foreign = std::ranges::find(kForeign, text) != kForeign.end();
    if (!is_foreign) name.refuse("expected a controller's name, its alias or its old name");
    if (is_foreign && where == kManagerComponent) {
      name.refuse("is to run in this manager, which has no such controller");
    }
    return;
  }
  const std::string canonical(controller->name);
  if (std::ranges::find(migration.leaders, canonical, &LeaderMigration::Leader::controller) !=
      migration.leaders.end()) {
    name.refuse(fmt::format("means {}, which is named already", canonical));
  }
  migration.leaders.push_back({canonical, where});
}

std::set<std::string, std::less<>> those(const LeaderMigration& migration, bool here) {
  std::set<std::string, std::less<>> names;
  for (const LeaderMigration::Leader& leader : migration.leaders) {
    if (is_here(leader.component) == here) names.insert(leader.controller);
  }
  return names;
}

}  // namespace

LeaderMigration default_leader_migration() {
  return {.lease = "cloud-provider-extraction-migration",
          .leaders = {{"node-route-controller", "*"},
                      {"service-lb-controller", "*"},
                      {"cloud-node-lifecycle-controller", "*"}}};
}

std::set<std::string, std::less<>> LeaderMigration::ours() const { return those(*this, true); }

std::set<std::string, std::less<>> LeaderMigration::others() const { return those(*this, false); }

Result<LeaderMigration> parse_leader_migration(std::string_view text, std::string_view file_name) {
  infra::YamlMistakes mistakes;
  LeaderMigration migration;
  if (const std::optional<infra::YamlNode> document = infra::parse_yaml(text, mistakes)) {
    YamlReader file(*document, mistakes);
    const std::string version =
        file.required("apiVersion")
            .choice({"controllermanager.config.k8s.io/v1alpha1",
                     "controllermanager.config.k8s.io/v1beta1", kVersion1.data()});
    file.required("kind").choice({"LeaderMigrationConfiguration"});
    YamlReader lease = file.required("leaderName");
    migration.lease = lease.text();
    if (!migration.lease.empty()) {
      Result<> good = kube::check_dns_subdomain(migration.lease);
      if (!good) lease.refuse(good.error().message);
    }
    read_lock(file, version);
    if (std::optional<YamlReader> leaders = file.optional("controllerLeaders")) {
      for (YamlReader& each : leaders->elements(kLeadersMax)) read_leader(each, migration);
    }
    file.no_other_keys();
  }
  if (mistakes.empty()) return migration;
  return fail(Outcome::invalid, mistakes.sorted(file_name).text());
}

}  // namespace isthmus::app
