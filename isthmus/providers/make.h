// From the words of --cloud-provider and --cloud-config to a provider: a plain switch, so that what
// exists can be read here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "isthmus/base/clock.h"
#include "isthmus/base/files.h"
#include "isthmus/cloud/guard.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/net/curl_transport.h"

namespace isthmus::providers {

// What providers are built from. All outlive the provider.
struct Doors {
  const Clock& clock;
  Files& files;
  // Opens a way to an endpoint: the real one is net::make_curl_transport.
  std::function<Result<std::unique_ptr<net::Transport>>(net::Endpoint)> connect;
};

struct Made {
  std::unique_ptr<cloud::Provider> provider;
  cloud::GuardLimits limits;  // What its cloud can take.
};

// "isthmus". For messages and help texts.
std::string_view known_providers();

// Reads the configuration and builds; sends nothing. invalid: an unknown name, a configuration file
// that is missing, unreadable or wrong (every mistake together, with the file's name), a bad
// certificate or endpoint.
Result<Made> make_provider(std::string_view name, const std::string& config_path,
                           const Doors& doors);

}  // namespace isthmus::providers
