#include "isthmus/providers/fake/fake_router.h"

#include "isthmus/base/result.h"

namespace isthmus::providers::fake {

bool FakeRouter::put(const IpPrefix& destination, const FakeRoute& route) {
  const auto found = standing.find(destination);
  if (found != standing.end() && found->second == route) return false;
  std::optional<FakeRoute> before;
  if (found != standing.end()) before = found->second;
  ISTHMUS_ASSERT(!before || !before->is_foreign, "a foreign route is not replaced");
  standing[destination] = route;
  if (on_change) on_change(destination, before ? &*before : nullptr, &route);
  return true;
}

void FakeRouter::take(const IpPrefix& destination) {
  const auto found = standing.find(destination);
  if (found == standing.end()) return;
  const FakeRoute before = found->second;
  standing.erase(found);
  if (on_change) on_change(destination, &before, nullptr);
}

}  // namespace isthmus::providers::fake
