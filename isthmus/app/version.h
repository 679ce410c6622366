// Which Isthmus this is.
#pragma once

#include <string>

namespace isthmus::app {

// "0.1.0", as the build was told.
std::string version();

// "isthmus v0.1.0", and with `raw` also the compiler and the platform, one line each.
std::string version_text(bool raw);

// What we call ourselves to servers: "isthmus/v0.1.0 (linux/amd64) leader-election".
std::string user_agent(const std::string& purpose);

}  // namespace isthmus::app
