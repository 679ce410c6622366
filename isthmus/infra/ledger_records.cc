#include "isthmus/infra/ledger_records.h"

#include <algorithm>
#include <utility>

#include "isthmus/base/duration.h"
#include "isthmus/infra/record_json.h"

namespace isthmus::infra {
namespace {

using record_json::read_count;
using record_json::read_flag;
using record_json::read_text;
using record_json::read_time;

// More than any rule allows; a record with more is damage. As many load balancers as a shared
// address has ports could hold it.
constexpr std::size_t kRangesMax = 10'000;
constexpr std::size_t kHoldersMax = 65'536;

json::object to_json(const api::SetTarget& target) {
  json::object document{{"name", target.name},
                        {"addresses", record_json::to_json(target.addresses)}};
  if (target.weight != 1) document["weight"] = target.weight;
  if (target.drain) document["drain"] = true;
  return document;
}

api::SetTarget read_set_target(JsonReader document) {
  api::SetTarget target;
  target.name = document.required("name").text();
  target.addresses = record_json::read_ips(document, "addresses", api::kBalancerAddressesMax);
  if (auto weight = document.optional("weight")) {
    target.weight = static_cast<std::uint32_t>(weight->integer(0, api::kWeightMax));
  }
  target.drain = read_flag(document, "drain");
  document.no_other_fields();
  return target;
}

TargetSetRecord read_target_set(JsonReader document) {
  TargetSetRecord record;
  record.set.metadata = record_json::read_metadata(document.required("metadata"));
  for (JsonReader& target : document.required("targets").elements(api::kTargetsMax)) {
    record.set.targets.push_back(read_set_target(target));
  }
  record.deleted_at = read_time(document, "deletedAt");
  return record;
}

IpPrefix read_range(JsonReader reader) {
  Result<IpPrefix> range = parse_prefix(reader.text());
  if (range) return *range;
  reader.refuse_expected("a prefix");
  return {};
}

PoolRecord read_pool(JsonReader document) {
  PoolRecord record;
  api::Pool& pool = record.pool;
  pool.name = document.required("name").text();
  for (JsonReader& range : document.required("ranges").elements(kRangesMax)) {
    pool.ranges.push_back(read_range(range));
  }
  pool.interface = read_text(document, "interface");
  pool.cool_down = document.required("coolDown").duration();
  pool.auto_assign = document.required("autoAssign").boolean();
  pool.source_address =
      record_json::read_word(document.required("sourceAddress"),
                             {api::SourceAddress::masquerade, api::SourceAddress::keep});
  record.removed = read_flag(document, "removed");
  return record;
}

AddressRecord read_address(JsonReader document) {
  AddressRecord record;
  record.address = record_json::read_ip(document.required("address"));
  record.pool = read_text(document, "pool");
  record.owner = document.required("owner").text();
  for (JsonReader& holder : document.required("holders").elements(kHoldersMax)) {
    record.holders.push_back(holder.text());
  }
  record.last_holder = read_text(document, "lastHolder");
  record.sharing_key = read_text(document, "sharingKey");
  record.host = read_text(document, "host");
  document.required("epoch");
  record.epoch = read_count(document, "epoch");
  record.free_at = read_time(document, "freeAt");
  return record;
}

}  // namespace

std::string to_string(const ObjectName& name) { return name.owner + "/" + name.name; }

std::string key_of(std::string_view prefix, const ObjectName& name) {
  return std::string(prefix) + to_string(name);
}

std::string pool_key(std::string_view name) { return std::string(kPoolPrefix) + std::string(name); }

std::string address_key(const IpAddress& address) {
  return std::string(kAddressPrefix) + to_string(address);
}

std::string encode(const TargetSetRecord& record) {
  json::array targets;
  for (const api::SetTarget& target : record.set.targets) targets.push_back(to_json(target));
  json::object document{{"metadata", record_json::to_json(record.set.metadata)},
                        {"targets", std::move(targets)}};
  if (record.deleted_at) document["deletedAt"] = record_json::exact(*record.deleted_at);
  return compact_json(document);
}

std::string encode(const PoolRecord& record) {
  const api::Pool& pool = record.pool;
  json::array ranges;
  for (const IpPrefix& range : pool.ranges) ranges.emplace_back(to_string(range));
  json::object document{{"name", pool.name},
                        {"ranges", std::move(ranges)},
                        {"coolDown", format_duration(pool.cool_down)},
                        {"autoAssign", pool.auto_assign},
                        {"sourceAddress", api::to_string(pool.source_address)}};
  if (!pool.interface.empty()) document["interface"] = pool.interface;
  if (record.removed) document["removed"] = true;
  return compact_json(document);
}

std::string encode(const AddressRecord& record) {
  json::array holders;
  for (const std::string& holder : record.holders) holders.emplace_back(holder);
  json::object document{{"address", to_string(record.address)},
                        {"owner", record.owner},
                        {"holders", std::move(holders)},
                        {"epoch", record.epoch}};
  if (!record.pool.empty()) document["pool"] = record.pool;
  if (!record.last_holder.empty()) document["lastHolder"] = record.last_holder;
  if (!record.sharing_key.empty()) document["sharingKey"] = record.sharing_key;
  if (!record.host.empty()) document["host"] = record.host;
  if (record.free_at) document["freeAt"] = record_json::exact(*record.free_at);
  return compact_json(document);
}

Result<TargetSetRecord> decode_target_set_record(std::string_view value, Revision revision) {
  TargetSetRecord record = TRY(record_json::decode(value, read_target_set));
  record.set.metadata.revision = revision;
  return record;
}

Result<PoolRecord> decode_pool_record(std::string_view value, Revision revision) {
  PoolRecord record = TRY(record_json::decode(value, read_pool));
  record.pool.revision = revision;
  return record;
}

Result<AddressRecord> decode_address_record(std::string_view value, Revision revision) {
  AddressRecord record = TRY(record_json::decode(value, read_address));
  record.revision = revision;
  return record;
}

const BalancerRecord* LedgerSnapshot::balancer(const ObjectName& name) const {
  const BalancerRecord* record = balancers.look_up(name);
  return record == nullptr || record->is_tombstone() ? nullptr : record;
}

const TargetSetRecord* LedgerSnapshot::target_set(const ObjectName& name) const {
  const TargetSetRecord* record = target_sets.look_up(name);
  return record == nullptr || record->deleted_at ? nullptr : record;
}

const PoolRecord* LedgerSnapshot::pool(std::string_view name) const {
  const PoolRecord* record = pools.look_up(name);
  return record == nullptr || record->removed ? nullptr : record;
}

const AddressRecord* LedgerSnapshot::address(const IpAddress& address) const {
  return addresses.look_up(address);
}

const StatusRecord* LedgerSnapshot::status(const ObjectName& name) const {
  return statuses.look_up(name);
}

const RouteTableRecord* LedgerSnapshot::route_table(const ObjectName& name) const {
  const RouteTableRecord* record = route_tables.look_up(name);
  return record == nullptr || record->is_tombstone() ? nullptr : record;
}

const RouteStatusRecord* LedgerSnapshot::route_status(const ObjectName& name) const {
  return route_statuses.look_up(name);
}

Duration LedgerSnapshot::cool_down(std::string_view name) const {
  const PoolRecord* record = pool(name);
  return record == nullptr ? api::Pool{}.cool_down : record->pool.cool_down;
}

std::vector<ObjectName> LedgerSnapshot::users_of(const ObjectName& target_set) const {
  std::vector<ObjectName> users;
  // Names begin with their owner, and only load balancers of the same owner may refer to a set.
  for (auto entry = balancers.lower_bound(ObjectName{target_set.owner, {}});
       entry != balancers.end() && entry->first.owner == target_set.owner; ++entry) {
    const BalancerRecord& record = *entry->second;
    bool uses = std::ranges::any_of(record.spec.target_groups, [&](const api::TargetGroup& group) {
      return group.target_set == target_set.name;
    });
    if (uses && !record.is_tombstone()) users.push_back(entry->first);
  }
  return users;
}

}  // namespace isthmus::infra
