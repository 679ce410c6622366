// The files that a subcommand needs to speak to a backend: a token and the certificates that an
// https server is trusted by.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "isthmus/base/files.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/base/secret.h"
#include "isthmus/net/tls.h"

namespace isthmus::app {

// The first token of the file: it may hold several while clients change over, and any of them is
// good. Empty where no path is given; what is wrong is added under the flag's name.
Secret read_token(Files& files, std::string_view flag, const std::string& path, Mistakes& mistakes);

// Of --ca-file; nothing where no path is given: the system's certificates.
std::optional<net::ClientTls> read_ca(Files& files, const std::string& path, Mistakes& mistakes);

}  // namespace isthmus::app
