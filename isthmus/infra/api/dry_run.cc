#include "isthmus/infra/api/dry_run.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "isthmus/base/json.h"
#include "isthmus/base/text.h"
#include "isthmus/infra/api/object_json.h"
#include "isthmus/infra/api/words.h"

namespace isthmus::infra::api {
namespace {

using Effect = DryRun::Effect;

constexpr Words<Effect, 4> kEffects = {{
    {Effect::created, "created"},
    {Effect::changed, "changed"},
    {Effect::unchanged, "unchanged"},
    {Effect::deleted, "deleted"},
}};

std::string encode(const PlannedChange& change) {
  std::string text = "{\"pointer\":" + quoted(change.pointer);
  if (!change.from.empty()) text += ",\"from\":" + change.from;
  if (!change.to.empty()) text += ",\"to\":" + change.to;
  return text + "}";
}

Effect read_effect(JsonReader value) {
  const std::string word = value.text(kAnswerTextMax);
  const std::optional<Effect> effect = value_of(kEffects, word);
  if (!effect && !word.empty()) value.refuse_expected("an effect of this version");
  return effect.value_or(Effect::unchanged);
}

// Empty where it is missing; null is a value as good as any other.
std::string json_or_empty(const JsonReader& object, std::string_view key) {
  auto* members = object.value().if_object();
  auto* member = members != nullptr ? members->if_contains(key) : nullptr;
  return member != nullptr ? compact_json(*member) : "";
}

PlannedChange read_change(JsonReader object) {
  return {.pointer = object.required("pointer").text(kAnswerTextMax, JsonReader::Empty::allowed),
          .from = json_or_empty(object, "from"),
          .to = json_or_empty(object, "to")};
}

DryRun read_dry_run(JsonReader document) {
  document.required("kind").choice({"Plan"});
  DryRun plan;
  plan.effect = read_effect(document.required("effect"));
  plan.object = compact_json(document.required("object").value());
  plan.addresses = read_ips(document, "addresses");
  if (auto changes = document.optional("changes")) {
    for (JsonReader& change : changes->elements(kAnswerItemsMax)) {
      plan.changes.push_back(read_change(change));
    }
  }
  return plan;
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
      word_of(kEffects, plan.effect), plan.object, addresses, changes);
}

Result<DryRun> decode_dry_run(std::string_view text) {
  return decode_answer("Plan", text, read_dry_run);
}

}  // namespace isthmus::infra::api
