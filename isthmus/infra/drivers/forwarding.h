// Whether the kernel forwards packets at all. Where it does not, everything can be programmed and
// nothing arrives, so this is asked at start, and again all the time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "isthmus/base/files.h"
#include "isthmus/base/ip.h"

namespace isthmus::infra::drivers {

// What a host that balances these families lacks, each as what to run as root:
// "sysctl -w net.ipv4.ip_forward=1". The files are those of the network namespace of the caller.
// unsupported: the kernel has no such family. Else errors of Files::read.
Result<std::vector<std::string>> missing_settings(Files& files, std::span<const IpFamily> families);

}  // namespace isthmus::infra::drivers
