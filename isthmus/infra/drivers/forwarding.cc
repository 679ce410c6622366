#include "isthmus/infra/drivers/forwarding.h"

#include <algorithm>

#include <fmt/format.h>

#include "isthmus/base/text.h"

namespace isthmus::infra::drivers {
namespace {

constexpr std::size_t kSettingBytesMax = 64;

std::string setting_of(IpFamily family) {
  return family == IpFamily::v4 ? "net.ipv4.ip_forward" : "net.ipv6.conf.all.forwarding";
}

std::string path_of(std::string setting) {
  std::ranges::replace(setting, '.', '/');
  return "/proc/sys/" + setting;
}

}  // namespace

Result<std::vector<std::string>> missing_settings(Files& files,
                                                  std::span<const IpFamily> families) {
  std::vector<std::string> missing;
  for (IpFamily family : families) {
    std::string setting = setting_of(family);
    Result<std::string> value = files.read(path_of(setting), kSettingBytesMax);
    if (value.outcome() == Outcome::absent) {
      return fail(Outcome::unsupported, fmt::format("this kernel has no {}", setting));
    }
    if (!value) return std::unexpected(value.error());
    if (trimmed(*value) == "0") missing.push_back(fmt::format("sysctl -w {}=1", setting));
  }
  return missing;
}

}  // namespace isthmus::infra::drivers
