#include "isthmus/controllers/usable_address.h"

namespace isthmus::controllers {

std::optional<std::string_view> why_unusable(const IpAddress& address) {
  if (is_link_local(address)) return "a link-local address";
  return kind_of_nobody(address);
}

}  // namespace isthmus::controllers
