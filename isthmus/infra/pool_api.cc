#include "isthmus/infra/pool_api.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "isthmus/infra/api/orphan.h"
#include "isthmus/infra/api/owner.h"
#include "isthmus/infra/api/pool.h"
#include "isthmus/infra/audit.h"
#include "isthmus/infra/object_requests.h"
#include "isthmus/infra/responses.h"

namespace isthmus::infra {
namespace {

namespace problem = api::problem;
using Addresses = std::map<IpAddress, api::AllocatedAddress>;

bool may_use(const PoolNames* allowed, const std::string& pool) {
  return allowed == nullptr || allowed->contains(pool);
}

bool is_free(const AddressRecord& record, WallTime now) {
  return record.holders.empty() && !record.is_cooling(now);
}

api::Orphan shown(const ObjectName& name, const Orphan& orphan, bool abandoned) {
  return {.owner = name.owner,
          .name = name.name,
          .generation = orphan.generation,
          .addresses = orphan.addresses,
          .abandoned = abandoned};
}

// The name of the pool that has the address in a range, if one has.
std::string pool_around(const LedgerSnapshot& snapshot, const IpAddress& address) {
  for (const auto& [name, record] : snapshot.pools) {
    if (record->removed) continue;
    for (const IpPrefix& range : record->pool.ranges) {
      if (range.contains(address)) return name;
    }
  }
  return "";
}

Addresses addresses_of(const LedgerSnapshot& snapshot, const std::string& owner,
                       const Circumstances& circumstances) {
  Addresses addresses;
  for (const auto& [address, record] : snapshot.addresses) {
    if (record->owner != owner || is_free(*record, circumstances.now)) continue;
    addresses[address] = infra::shown(*record, circumstances.now);
  }
  for (const auto& [name, orphan] : circumstances.orphans) {
    if (name.owner != owner) continue;
    for (const IpAddress& address : orphan.addresses) {
      api::AllocatedAddress& shown = addresses[address];
      shown.address = address;
      shown.pool = pool_around(snapshot, address);
      shown.state = api::AllocatedAddress::State::orphan;
      shown.owner = owner;
      shown.holders = {name.name};
      shown.host = circumstances.host;
    }
  }
  return addresses;
}

api::AddressList page_of(const Addresses& addresses, Revision revision,
                         const ListRequest& request) {
  api::AddressList list;
  list.revision = revision;
  auto next = addresses.begin();
  if (request.token) {
    // Was looked at when the token was read.
    next = addresses.upper_bound(parse_ip(request.token->after).value_or(IpAddress{}));
  }
  for (; next != addresses.end(); ++next) {
    if (list.items.size() == request.limit) {
      PageToken token{revision, to_string(list.items.back().address)};
      list.continue_token = token.text("");
      break;
    }
    list.items.push_back(next->second);
  }
  return list;
}

std::map<std::string, api::Owner> owners_of(const LedgerSnapshot& snapshot, WallTime now) {
  std::map<std::string, api::Owner> owners;
  for (const auto& [name, record] : snapshot.balancers) {
    if (!record->is_tombstone()) ++owners[name.owner].load_balancers;
  }
  for (const auto& [name, record] : snapshot.target_sets) {
    if (!record->deleted_at) ++owners[name.owner].target_sets;
  }
  for (const auto& [address, record] : snapshot.addresses) {
    if (!is_free(*record, now)) ++owners[record->owner].addresses;
  }
  return owners;
}

}  // namespace

std::shared_ptr<const PoolNames> PoolApi::pools_of(const Caller& caller) const {
  return caller.role == Caller::Role::admin ? nullptr : parts_.access.pools_of(caller.name);
}

bool PoolApi::is_abandoned(const ObjectName& name) const {
  return parts_.ledger.abandoned().contains(name);
}

Task<net::Response> PoolApi::list_pools(const Exchange& exchange) {
  if (auto wrong = refuse_parameters(exchange.target)) {
    co_return refused(exchange, std::move(*wrong));
  }
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger.latest();
  if (!snapshot) co_return failed(exchange, snapshot.error(), parts_.log);
  const auto allowed = pools_of(exchange.caller);
  api::PoolList list;
  list.revision = (*snapshot)->revision;
  for (const auto& [name, record] : (*snapshot)->pools) {
    if (record->removed || !may_use(allowed.get(), name)) continue;
    list.items.push_back(record->pool);
    list.items.back().use = use_of(**snapshot, record->pool, parts_.ledger.circumstances());
  }
  co_return json_response(200, encode(list));
}

Task<net::Response> PoolApi::get_pool(const Exchange& exchange) {
  if (auto wrong = refuse_parameters(exchange.target)) {
    co_return refused(exchange, std::move(*wrong));
  }
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger.latest();
  if (!snapshot) co_return failed(exchange, snapshot.error(), parts_.log);
  const std::string& name = exchange.route.name;
  const auto allowed = pools_of(exchange.caller);
  const PoolRecord* record = (*snapshot)->pool(name);
  if (record == nullptr || !may_use(allowed.get(), name)) {
    co_return refused(exchange, api::make_problem(problem::pool_not_found,
                                                  fmt::format("no pool {} is yours to use", name)));
  }
  api::Pool pool = record->pool;
  pool.use = use_of(**snapshot, pool, parts_.ledger.circumstances());
  co_return json_response(200, encode(pool));
}

Task<net::Response> PoolApi::list_addresses(const Exchange& exchange) {
  auto request = read_plain_list_request(exchange.target, is_ip);
  if (!request) co_return refused(exchange, std::move(request.error()));
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger.at(request->revision());
  if (!snapshot) co_return failed(exchange, snapshot.error(), parts_.log);
  const Addresses addresses =
      addresses_of(**snapshot, exchange.route.owner, parts_.ledger.circumstances());
  co_return json_response(200, encode(page_of(addresses, (*snapshot)->revision, *request)));
}

Task<net::Response> PoolApi::list_owners(const Exchange& exchange) {
  if (auto wrong = refuse_parameters(exchange.target)) {
    co_return refused(exchange, std::move(*wrong));
  }
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger.latest();
  if (!snapshot) co_return failed(exchange, snapshot.error(), parts_.log);
  std::map<std::string, api::Owner> owners = owners_of(**snapshot, parts_.clock.wall_now());
  api::OwnerList list;
  list.revision = (*snapshot)->revision;
  const bool is_admin = exchange.caller.role == Caller::Role::admin;
  if (!is_admin) owners.try_emplace(exchange.caller.name);
  for (auto& [name, owner] : owners) {
    if (!is_admin && exchange.caller.name != name) continue;
    owner.name = name;
    list.items.push_back(owner);
  }
  co_return json_response(200, encode(list));
}

Task<net::Response> PoolApi::list_orphans(const Exchange& exchange) {
  if (auto wrong = refuse_parameters(exchange.target)) {
    co_return refused(exchange, std::move(*wrong));
  }
  Result<Ledger::Snapshot> snapshot = co_await parts_.ledger.latest();
  if (!snapshot) co_return failed(exchange, snapshot.error(), parts_.log);
  api::OrphanList list;
  list.revision = (*snapshot)->revision;
  for (const auto& [name, orphan] : parts_.ledger.orphans()) {
    list.items.push_back(shown(name, orphan, is_abandoned(name)));
  }
  co_return json_response(200, encode(list));
}

Task<net::Response> PoolApi::abandon_orphan(const Exchange& exchange) {
  if (auto wrong = refuse_parameters(exchange.target)) {
    co_return refused(exchange, std::move(*wrong));
  }
  const ObjectName name{exchange.route.owner, exchange.route.name};
  const Orphans& orphans = parts_.ledger.orphans();
  auto found = orphans.find(name);
  if (found == orphans.end()) {
    co_return refused(exchange, api::make_problem(problem::orphan_not_found,
                                                  fmt::format("{} is no orphan", to_string(name))));
  }
  const Orphan orphan = found->second;
  if (!is_abandoned(name)) {
    Result<> abandoned = parts_.ledger.abandon(name);
    if (!abandoned) co_return failed(exchange, abandoned.error(), parts_.log);
    audit(exchange, {"Orphan", orphan.generation, 0, 0}, parts_.log, parts_.metrics);
  }
  co_return json_response(202, encode(shown(name, orphan, true)));
}

}  // namespace isthmus::infra
