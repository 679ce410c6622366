#include "isthmus/infra/drivers/driver.h"

#include <fmt/format.h>

namespace isthmus::infra::drivers {

std::string to_string(const ListenerKey& key) {
  return fmt::format("{} {}", key.protocol == Protocol::tcp ? "tcp" : "udp",
                     to_string(Endpoint{key.address, key.port}));
}

}  // namespace isthmus::infra::drivers
