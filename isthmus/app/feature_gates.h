// --feature-gates: upstream's switches for what is new or going away, by upstream's names.
//
// A manifest that names a gate of the framework this version is compared with (v1.37) starts here
// as it does there, and one that names a gate which is not there is refused as there. Nearly all of
// them are about parts of an API server that share the framework's registry; what is said about
// them changes nothing here, and the manager's log says so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "isthmus/base/result.h"

namespace isthmus::app {

enum class GateStage : std::uint8_t { alpha, beta, stable, deprecated };

struct FeatureGate {
  std::string_view name;
  bool enabled;  // Unless something else is said.
  GateStage stage;
  bool is_locked = false;  // Nothing else may be said.
  bool has_effect = false;
};

// Whether the lease is given up at the end of the process. Upstream has the gate and does not ask
// it; here the lease is given up unless the gate is explicitly off.
inline constexpr std::string_view kReleaseGate = "ControllerManagerReleaseLeaderElectionLockOnExit";

// Whether the flags of logging that upstream calls alpha may be given.
inline constexpr std::string_view kLoggingAlphaGate = "LoggingAlphaOptions";

// In the order of their names.
std::span<const FeatureGate> feature_gates();

// What was said about the gates. A value.
class FeatureGates {
 public:
  // Reads "A=true,B=false"; of a gate that is named twice the last counts. AllAlpha and AllBeta
  // speak for those of their stage that are not named themselves. invalid, with every mistake: no
  // such gate, a locked one told otherwise, not a boolean.
  static Result<FeatureGates> parse(std::string_view list);

  // The gate must exist.
  bool enabled(std::string_view name) const;

  // What was said about this very gate.
  std::optional<bool> said(std::string_view name) const;

  // Of the gates named, those that change nothing here, as "A, B"; empty: none.
  std::string without_effect() const;

 private:
  std::map<std::string, bool, std::less<>> said_;
};

}  // namespace isthmus::app
