#include "isthmus/app/version.h"

#include <fmt/format.h>

namespace isthmus::app {
namespace {

#if defined(__x86_64__)
constexpr const char* kPlatform = "linux/amd64";
#elif defined(__aarch64__)
constexpr const char* kPlatform = "linux/arm64";
#else
constexpr const char* kPlatform = "linux/other";
#endif

}  // namespace

std::string version() { return ISTHMUS_VERSION; }

std::string version_text(bool raw) {
  std::string text = fmt::format("isthmus v{}\n", version());
  if (raw) text += fmt::format("compiler: {}\nplatform: {}\n", __VERSION__, kPlatform);
  return text;
}

std::string user_agent(const std::string& purpose) {
  return fmt::format("isthmus/v{} ({}) {}", version(), kPlatform, purpose);
}

}  // namespace isthmus::app
