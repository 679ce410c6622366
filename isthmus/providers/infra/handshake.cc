#include "isthmus/providers/infra/handshake.h"

#include <utility>

#include <fmt/format.h>

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;

// What a server without the capability cannot do, and why that may be.
std::string lack_of(std::string_view capability) {
  if (capability == api::capability::instances) return "the server knows no machines";
  if (capability == api::capability::load_balancers) {
    return "the server holds no load balancers: its configuration has no host";
  }
  if (capability == api::capability::load_balancer_watch) {
    return "the server does not tell what happens to load balancers";
  }
  if (capability == api::capability::target_sets) return "the server has no target sets";
  if (capability == api::capability::route_tables) {
    return "the server makes no routes: its version knows none, or its configuration has no host";
  }
  return fmt::format("the server has no {}", capability);
}

Result<> judge(const api::ServerInfo& info, const std::string& scheme, const std::string& owner) {
  if (info.protocol_version != api::kProtocolVersion) {
    return fail(Outcome::unsupported,
                fmt::format("the server speaks version {} of the protocol, and we speak {}",
                            info.protocol_version, api::kProtocolVersion));
  }
  if (info.provider_id_scheme != scheme) {
    return fail(Outcome::invalid,
                fmt::format("the machines of this server are {}://…, and ours are {}://…",
                            info.provider_id_scheme, scheme));
  }
  if (!owner.empty() && !info.owner.empty() && owner != info.owner) {
    return fail(Outcome::denied, fmt::format("the token is that of the owner {}, and the "
                                             "configuration says {}",
                                             info.owner, owner));
  }
  return {};
}

}  // namespace

Handshake::Handshake(Client& client, std::string scheme, std::string owner)
    : client_(client), scheme_(std::move(scheme)), owner_(std::move(owner)) {}

Task<Result<api::ServerInfo>> Handshake::ask() {
  info_.reset();
  api::ServerInfo info = CO_TRY(co_await client_.server_info());
  CO_TRY(judge(info, scheme_, owner_));
  info_ = info;
  takes_preferences_ = true;
  co_return info;
}

Task<Result<>> Handshake::shake() {
  CO_TRY(co_await ask());
  co_return Result<>{};
}

Task<Result<api::ServerInfo>> Handshake::server_with(std::string_view capability) {
  if (info_ && info_->has(capability)) co_return *info_;
  Result<api::ServerInfo> asked = co_await ask();
  if (asked.outcome() == Outcome::invalid) asked.error().outcome = Outcome::lost;
  if (asked && !asked->has(capability)) {
    co_return fail(Outcome::unsupported, lack_of(capability));
  }
  co_return asked;
}

Task<Result<>> Handshake::needs(std::string_view capability) {
  CO_TRY(co_await server_with(capability));
  co_return Result<>{};
}

Task<Result<std::string>> Handshake::owner(std::string_view capability) {
  const api::ServerInfo info = CO_TRY(co_await server_with(capability));
  if (!owner_.empty()) co_return owner_;
  if (!info.owner.empty()) co_return info.owner;
  co_return fail(Outcome::denied,
                 "whose load balancers are ours? The token is an administrator's, or the server "
                 "does not say: use an owner's token, or write `owner: NAME` into the cloud "
                 "configuration");
}

}  // namespace isthmus::providers::infra
