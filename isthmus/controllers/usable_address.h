// Addresses that packets from elsewhere can be sent to.
#pragma once

#include <optional>
#include <string_view>

#include "isthmus/base/ip.h"

namespace isthmus::controllers {

// What an address is that no machine and no load balancer can be reached at ("a loopback address");
// nothing for all others. A Node's status and a Service are text that people and programs write,
// and one such address in a request makes a cloud refuse all of it.
std::optional<std::string_view> why_unusable(const IpAddress& address);

}  // namespace isthmus::controllers
