#include "isthmus/controllers/safety_config_map.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/scope.h"
#include "isthmus/base/text.h"

namespace isthmus::controllers {
namespace {

constexpr std::string_view kStopKey = "stop-all-mutations";
constexpr std::string_view kAcknowledgeKey = "acknowledge";

// Nobody types more in an hour, and every one of them is kept.
constexpr std::size_t kAcknowledgedMax = 100;

// How often it is looked at the start whether anything is known; a refusal comes without a signal.
constexpr Duration kKnownCheck = std::chrono::milliseconds(20);

constexpr std::size_t kQuotedBytesMax = 100;  // Of what somebody typed.

bool is_breaker_id(std::string_view text) {
  return !text.empty() && text.find_first_of(" \t\r\n@") == text.npos;
}

void read_acknowledged(std::string_view text, SafetySettings& settings) {
  std::size_t number = 0;
  for (const std::string_view each : split(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(each);
    if (line.empty()) continue;
    const auto mistake = [&](std::string_view what) {
      settings.mistakes.push_back(fmt::format("{}, line {}: {} {}", kAcknowledgeKey, number,
                                              quoted(shortened(line, kQuotedBytesMax)), what));
    };
    const std::size_t at = line.rfind('@');
    if (at == line.npos || !is_breaker_id(line.substr(0, at))) {
      mistake("is not ID@TIME");
      continue;
    }
    const std::optional<WallTime> time = kube::parse_rfc3339(line.substr(at + 1));
    if (!time) {
      mistake("has no time like 2026-11-29T20:47:43Z behind the @");
      continue;
    }
    if (settings.acknowledged.size() >= kAcknowledgedMax) {
      mistake(fmt::format("and what follows is too much: there may be {}", kAcknowledgedMax));
      return;
    }
    WallTime& latest = settings.acknowledged[std::string(line.substr(0, at))];
    latest = std::max(latest, *time);
  }
}

}  // namespace

SafetySettings read_safety_settings(const kube::StringMap& data) {
  SafetySettings settings;
  for (const auto& [key, value] : data) {
    if (key == kStopKey) {
      const std::string_view word = trimmed(value);
      settings.stop_all_mutations = word != "false";
      if (word != "true" && word != "false") {
        settings.mistakes.push_back(
            fmt::format("{}: {} is neither \"true\" nor \"false\"; it is taken for \"true\"", key,
                        quoted(shortened(value, kQuotedBytesMax))));
      }
    } else if (key == kAcknowledgeKey) {
      read_acknowledged(value, settings);
    } else {
      settings.mistakes.push_back(fmt::format("{}: is no setting; there are {} and {}",
                                              shortened(key, kQuotedBytesMax), kStopKey,
                                              kAcknowledgeKey));
    }
  }
  return settings;
}

ConfigMapSafetySwitch::ConfigMapSafetySwitch(kube::ObjectKey name, Doors doors)
    : name_(std::move(name)),
      doors_(doors),
      stopped_(doors.metrics.gauge("isthmus_mutations_stopped",
                                   "1: somebody has stopped all changes by the safety ConfigMap.")),
      teller_(doors.recorder) {
  doors_.gate.add_rule("safety_switch", [this] { return allows(); });
  doors_.store.subscribe(
      [this](const kube::Difference<kube::ConfigMap>& difference) { take(difference); });
}

Task<Result<>> ConfigMapSafetySwitch::wait_until_known() {
  while (!is_known()) CO_TRY(co_await sleep_for(kKnownCheck));
  if (may_not_look()) {
    doors_.log.warning(
        "nobody can stop this manager by its safety ConfigMap, nor acknowledge: our "
        "role does not let us watch it",
        {{"configmap", to_string(name_)}, {"error", *doors_.watcher.refusal()}});
  }
  co_return Result<>{};
}

bool ConfigMapSafetySwitch::may_not_look() const {
  const auto& refusal = doors_.watcher.refusal();
  return !doors_.store.has_synced() && refusal && refusal->outcome == Outcome::denied;
}

// What cannot be read may say stop.
bool ConfigMapSafetySwitch::mutations_stopped() const {
  return !is_known() || settings_.stop_all_mutations || doors_.store.unreadable(name_);
}

Result<Moment> ConfigMapSafetySwitch::allows() const {
  if (!mutations_stopped()) return Moment::max();
  return fail(Outcome::cancelled,
              is_known() ? fmt::format("{} of the ConfigMap {} says so", kStopKey, to_string(name_))
                         : fmt::format("the ConfigMap {} was not read yet", to_string(name_)));
}

bool ConfigMapSafetySwitch::is_acknowledged(std::string_view breaker_id, WallTime now) const {
  if (doors_.store.unreadable(name_)) return false;
  const auto found = settings_.acknowledged.find(breaker_id);
  return found != settings_.acknowledged.end() && found->second <= now + kWriterAheadMax &&
         now <= found->second + kAcknowledgedFor;
}

void ConfigMapSafetySwitch::take(const kube::Difference<kube::ConfigMap>& difference) {
  if (difference.key != name_) return;
  const bool was_stopped = settings_.stop_all_mutations;
  settings_ = difference.after ? read_safety_settings(difference.after->data) : SafetySettings{};
  stopped_.set(settings_.stop_all_mutations ? 1 : 0);
  const auto about = kube::reference_to(difference.after ? *difference.after : *difference.before);
  if (settings_.stop_all_mutations && !was_stopped) {
    doors_.gate.end_calls();
    doors_.log.warning("nothing is changed any more: the safety ConfigMap says so",
                       {{"configmap", to_string(name_)}});
    doors_.recorder.warning(about, kMutationsStoppedReason,
                            "Nothing is changed any more in Kubernetes or the cloud, until "
                            "stop-all-mutations is \"false\" or gone");
  } else if (was_stopped && !settings_.stop_all_mutations) {
    doors_.log.info("work goes on: the safety ConfigMap does not stop it any more",
                    {{"configmap", to_string(name_)}});
    doors_.recorder.normal(about, kMutationsResumedReason, "Work goes on");
  }
  for (const auto& [id, time] : settings_.acknowledged) {
    if (time <= doors_.clock.wall_now() + kWriterAheadMax) continue;
    settings_.mistakes.push_back(
        fmt::format("{}: the time of {} lies ahead", kAcknowledgeKey, quoted(id)));
  }
  std::vector<Notice> notices;
  for (const std::string& mistake : settings_.mistakes) {
    notices.push_back({true, kInvalidSafetySettingReason, mistake});
    doors_.log.warning("a mistake in the safety ConfigMap",
                       {{"configmap", to_string(name_)}, {"mistake", mistake}});
  }
  teller_.tell(about, notices);
}

}  // namespace isthmus::controllers
