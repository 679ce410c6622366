// Everything that is wrong with one Service, for one event: its owner should need one round to put
// it right.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "isthmus/controllers/service_plan.h"

namespace isthmus::controllers {

// The reasons of Warning events about a Service that gets no load balancer because of what it asks
// for. People filter by them; docs/reference/services.md says for each what to do.
namespace complaint {
inline constexpr std::string_view annotation = "InvalidAnnotation";
inline constexpr std::string_view protocol = "UnsupportedProtocol";
inline constexpr std::string_view port = "InvalidPort";
inline constexpr std::string_view too_many_ports = "TooManyPorts";
inline constexpr std::string_view node_port = "NoNodePort";
inline constexpr std::string_view address = "InvalidAddress";
inline constexpr std::string_view source_ranges = "InvalidSourceRanges";
inline constexpr std::string_view health_check = "NoHealthCheckNodePort";
}  // namespace complaint

class Complaints final {
 public:
  // A sentence without its full stop; `reason` is one of the above and lives for ever.
  void add(std::string_view reason, std::string_view what) {
    if (refusal_.reason.empty()) refusal_.reason = reason;
    if (!refusal_.message.empty()) refusal_.message += "; ";
    refusal_.message += what;
  }

  bool empty() const { return refusal_.reason.empty(); }

  // The reason of the first, and all of them in the order they were made.
  const RefuseService& refusal() const { return refusal_; }

 private:
  RefuseService refusal_;
};

}  // namespace isthmus::controllers
