#include "isthmus/infra/refusal_log.h"

#include <utility>

#include "isthmus/net/http_server.h"

namespace isthmus::infra {
namespace {

constexpr std::string_view kOthers = "others";

}  // namespace

void RefusalLog::tell(std::string_view address, std::string_view why) {
  const Moment now = clock_.now();
  std::string host(net::host_of(address));
  if (!told_.contains(host)) make_room(now);
  if (!told_.contains(host) && told_.size() >= kRefusedHostsMax) host = kOthers;
  const auto [found, is_new] = told_.try_emplace(host, Told{.at = now});
  Told& told = found->second;
  if (!is_new && now - told.at < kRefusalPeriod) {
    ++told.since;
    return;
  }
  log_.warning("a caller was turned away",
               {{"remote", host}, {"reason", why}, {"not_told_before", told.since}});
  told = {.at = now};
}

void RefusalLog::make_room(Moment now) {
  if (told_.size() < kRefusedHostsMax) return;
  std::erase_if(told_, [now](const auto& each) { return now - each.second.at >= kRefusalPeriod; });
}

}  // namespace isthmus::infra
