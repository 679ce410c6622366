#include "isthmus/app/version.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "isthmus/base/json.h"
#include "isthmus/base/text.h"

namespace isthmus::app {
namespace {

#if defined(__x86_64__)
constexpr const char* kPlatform = "linux/amd64";
#elif defined(__aarch64__)
constexpr const char* kPlatform = "linux/arm64";
#else
constexpr const char* kPlatform = "linux/other";
#endif

// "0" and "1" of "0.1.0".
struct Numbers {
  std::string_view major;
  std::string_view minor;
};
Numbers numbers(std::string_view version) {
  const std::vector<std::string_view> parts = split(version, '.');
  return {parts[0], parts.size() > 1 ? parts[1] : ""};
}

}  // namespace

std::string version() { return ISTHMUS_VERSION; }

std::string version_text(bool raw) {
  std::string text = fmt::format("isthmus v{}\n", version());
  if (raw) text += fmt::format("compiler: {}\nplatform: {}\n", __VERSION__, kPlatform);
  return text;
}

std::string version_json() {
  const std::string full = version();
  return compact_json(json::object{{"major", numbers(full).major},
                                   {"minor", numbers(full).minor},
                                   {"gitVersion", "v" + full},
                                   {"compiler", __VERSION__},
                                   {"platform", kPlatform}});
}

void export_build_info(Metrics& metrics) {
  const std::string full = version();
  metrics
      .gauge("kubernetes_build_info",
             "Always 1; the labels say which version this is, and for what it was built.",
             {{"major", std::string(numbers(full).major)},
              {"minor", std::string(numbers(full).minor)},
              {"git_version", "v" + full},
              {"git_commit", ""},
              {"git_tree_state", ""},
              {"build_date", ""},
              {"go_version", ""},
              {"compiler", __VERSION__},
              {"platform", kPlatform}})
      .set(1);
}

std::string user_agent(const std::string& purpose) {
  return fmt::format("isthmus/v{} ({}) {}", version(), kPlatform, purpose);
}

}  // namespace isthmus::app
