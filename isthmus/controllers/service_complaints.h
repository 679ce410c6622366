// Everything that is wrong with one Service, for one event: its owner should need one round to put
// it right.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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
  void add(std::string_view reason, std::string_view what);

  bool empty() const { return refusal_.reason.empty(); }

  // The reason of the first, and all of them in the order they were made.
  const RefuseService& refusal() const { return refusal_; }

 private:
  RefuseService refusal_;
};

// What somebody wrote, quoted and cut, for a message about it.
std::string shown(std::string_view text);

// "a, b and 7 more": for a message about things of which there may be thousands.
std::string some_of(const std::vector<std::string>& names);

}  // namespace isthmus::controllers
