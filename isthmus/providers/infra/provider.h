// A cloud that serves the infrastructure API (infra/api/openapi.yaml), as a provider: our own
// backend, or anybody's that speaks the same.
//
// Before its first question it shakes hands (GET /v1): a server of another protocol version, or one
// whose provider ids have another scheme than ours, is not asked anything.
#pragma once

#include <memory>
#include <string>

#include "isthmus/cloud/guard.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/providers/infra/client.h"

namespace isthmus::providers::infra {

// The provider's name, and the scheme of its ids: isthmus://<instance uid>.
inline constexpr std::string_view kName = "isthmus";

// One process on one host with a small database: it answers in milliseconds, so a call of seconds
// is a dead one.
inline cloud::GuardLimits default_limits() {
  return {.call_deadline = std::chrono::seconds(10),
          .list_deadline = std::chrono::seconds(30),
          .calls_per_second = 100,
          .burst = 200,
          .calls_at_once = 16};
}

// Pages of one list: 1,000 pages of 1,000 machines are far beyond any cluster, and an endless list
// is a broken server.
inline constexpr int kPagesMax = 1000;

// A resource; the doors outlive it.
class InfraProvider final : public cloud::Provider, private cloud::Instances {
 public:
  InfraProvider(std::unique_ptr<net::Transport> transport, const Clock& clock, Files& files,
                std::string token_file);

  const std::string& name() const override { return name_; }
  const std::string& scheme() const override { return name_; }
  cloud::Capabilities capabilities() override { return {.instances = this}; }

  // Shakes hands anew, whatever came of it before.
  Task<Result<>> check() override;

 private:
  Task<Result<cloud::Instance>> get(cloud::ProviderId id) override;
  Task<Result<cloud::Listing<cloud::Instance>>> list(cloud::InstanceQuery query) override;
  Task<Result<>> shake_hands_once();

  const std::string name_{kName};
  const std::unique_ptr<net::Transport> transport_;
  Client client_;
  bool knows_the_server_ = false;
};

}  // namespace isthmus::providers::infra
