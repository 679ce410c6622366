#include "isthmus/infra/api/dry_run.h"

#include <fmt/format.h>

#include <string_view>

#include "isthmus/base/text.h"

namespace isthmus::infra::api {
namespace {

std::string_view to_string(DryRun::Effect effect) {
  switch (effect) {
    case DryRun::Effect::created:
      return "created";
    case DryRun::Effect::changed:
      return "changed";
    case DryRun::Effect::deleted:
      return "deleted";
    case DryRun::Effect::unchanged:
      break;
  }
  return "unchanged";
}

std::string encode(const PlannedChange& change) {
  std::string text = "{\"pointer\":" + quoted(change.pointer);
  if (!change.from.empty()) text += ",\"from\":" + change.from;
  if (!change.to.empty()) text += ",\"to\":" + change.to;
  return text + "}";
}

}  // namespace

// The parts are JSON texts already, and are put together as they are.
std::string encode(const DryRun& plan) {
  std::string addresses;
  for (const IpAddress& address : plan.addresses) {
    addresses += (addresses.empty() ? "" : ",") + quoted(isthmus::to_string(address));
  }
  std::string changes;
  for (const PlannedChange& change : plan.changes) {
    changes += (changes.empty() ? "" : ",") + encode(change);
  }
  return fmt::format(
      R"({{"kind":"Plan","effect":"{}","object":{},"addresses":[{}],"changes":[{}]}})",
      to_string(plan.effect), plan.object, addresses, changes);
}

}  // namespace isthmus::infra::api
