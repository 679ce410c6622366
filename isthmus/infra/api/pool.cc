#include "isthmus/infra/api/pool.h"

#include <utility>

#include "isthmus/base/duration.h"
#include "isthmus/infra/api/load_balancer_json.h"
#include "isthmus/infra/api/object_json.h"
#include "isthmus/infra/api/pool_json.h"
#include "isthmus/infra/api/rules.h"
#include "isthmus/infra/api/words.h"

namespace isthmus::infra::api {
namespace {

constexpr Words<AllocatedAddress::State, 3> kStates = {{
    {AllocatedAddress::State::held, "held"},
    {AllocatedAddress::State::cooling, "cooling"},
    {AllocatedAddress::State::orphan, "orphan"},
}};

// A range larger than this says this, the largest power of two that every JSON number holds.
constexpr std::int64_t kAddressesMax = std::int64_t{1} << 53;

json::array to_json(const std::vector<PoolUse>& use) {
  json::array list;
  for (const PoolUse& of_family : use) {
    list.push_back(json::object{{"family", to_string(of_family.family)},
                                {"total", of_family.total},
                                {"held", of_family.held},
                                {"cooling", of_family.cooling},
                                {"free", of_family.free}});
  }
  return list;
}

std::uint64_t read_address_count(JsonReader value) {
  return static_cast<std::uint64_t>(value.integer(0, kAddressesMax));
}

// Of families that we do not know nothing is said.
std::vector<PoolUse> read_use(JsonReader& status) {
  std::vector<PoolUse> use;
  std::optional<JsonReader> list = status.optional("use");
  if (!list) return use;
  for (JsonReader& element : list->elements(kAnswerItemsMax)) {
    auto family = family_of(element.required("family").text(kAnswerTextMax));
    if (!family) continue;
    use.push_back({.family = *family,
                   .total = read_address_count(element.required("total")),
                   .held = read_address_count(element.required("held")),
                   .cooling = read_address_count(element.required("cooling")),
                   .free = read_address_count(element.required("free"))});
  }
  return use;
}

std::vector<IpPrefix> read_ranges(JsonReader ranges) {
  std::vector<IpPrefix> prefixes;
  for (JsonReader& element : ranges.elements(kAnswerItemsMax)) {
    Result<IpPrefix> prefix = parse_prefix(element.text(kAnswerTextMax));
    if (prefix) {
      prefixes.push_back(*prefix);
    } else {
      element.refuse(prefix.error().message);
    }
  }
  return prefixes;
}

}  // namespace

std::string_view to_string(AllocatedAddress::State state) { return word_of(kStates, state); }

json::object to_json(const Pool& pool) {
  json::array ranges;
  for (const IpPrefix& range : pool.ranges) ranges.push_back(json::value(to_string(range)));
  json::object spec{{"ranges", std::move(ranges)}};
  if (!pool.interface.empty()) spec["interface"] = pool.interface;
  spec["coolDown"] = format_duration(pool.cool_down);
  spec["autoAssign"] = pool.auto_assign;
  spec["sourceAddress"] = to_string(pool.source_address);
  json::object status;
  if (!pool.use.empty()) status["use"] = to_json(pool.use);
  return {{"kind", "Pool"},
          {"metadata", json::object{{"name", pool.name}, {"revision", pool.revision}}},
          {"spec", std::move(spec)},
          {"status", std::move(status)}};
}

json::object to_json(const AllocatedAddress& address) {
  json::object metadata{{"name", to_string(address.address)}};
  if (!address.owner.empty()) metadata["owner"] = address.owner;
  metadata["revision"] = address.revision;
  json::object spec;
  if (!address.pool.empty()) spec["pool"] = address.pool;
  if (!address.sharing_key.empty()) spec["sharingKey"] = address.sharing_key;
  json::array holders;
  for (const std::string& holder : address.holders) holders.push_back(json::value(holder));
  json::object status{{"state", to_string(address.state)}, {"holders", std::move(holders)}};
  if (!address.host.empty()) status["host"] = address.host;
  status["epoch"] = address.epoch;
  if (address.free_at) status["freeAt"] = rfc3339_micro(*address.free_at);
  return {{"kind", "Address"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)},
          {"status", std::move(status)}};
}

Pool read_pool(JsonReader document) {
  Pool pool;
  document.required("kind").choice({"Pool"});
  JsonReader metadata = document.required("metadata");
  pool.name = read_ruled(metadata.required("name"), wrong_object_name);
  pool.revision = read_count(metadata.required("revision"));
  JsonReader spec = document.required("spec");
  pool.ranges = read_ranges(spec.required("ranges"));
  pool.interface = text_or_empty(spec, "interface");
  if (auto cool_down = spec.optional("coolDown")) pool.cool_down = cool_down->duration();
  pool.auto_assign = boolean_or(spec, "autoAssign", true);
  pool.source_address =
      source_address_of(text_or_empty(spec, "sourceAddress")).value_or(SourceAddress::masquerade);
  JsonReader status = document.required("status");
  pool.use = read_use(status);
  return pool;
}

AllocatedAddress read_allocated_address(JsonReader document) {
  AllocatedAddress address;
  document.required("kind").choice({"Address"});
  JsonReader metadata = document.required("metadata");
  address.address = read_ip(metadata.required("name"));
  address.owner = text_or_empty(metadata, "owner");
  address.revision = read_count(metadata.required("revision"));
  if (auto spec = document.optional("spec")) {
    address.pool = text_or_empty(*spec, "pool");
    address.sharing_key = text_or_empty(*spec, "sharingKey");
  }
  JsonReader status = document.required("status");
  // In a state we do not know it is at least not free.
  address.state = value_of(kStates, status.required("state").text(kAnswerTextMax))
                      .value_or(AllocatedAddress::State::held);
  if (auto holders = status.optional("holders")) {
    for (JsonReader& holder : holders->elements(kAnswerItemsMax)) {
      address.holders.push_back(holder.text(kAnswerTextMax));
    }
  }
  address.host = text_or_empty(status, "host");
  address.epoch = count_or_zero(status, "epoch");
  address.free_at = time_if_said(status, "freeAt");
  return address;
}

std::string encode(const Pool& pool) { return compact_json(to_json(pool)); }
std::string encode(const PoolList& list) { return encode_list("PoolList", list); }
std::string encode(const AllocatedAddress& address) { return compact_json(to_json(address)); }
std::string encode(const AddressList& list) { return encode_list("AddressList", list); }

Result<Pool> decode_pool(std::string_view text) { return decode_answer("Pool", text, read_pool); }

Result<PoolList> decode_pool_list(std::string_view text) {
  return decode_list_answer<PoolList>("PoolList", text, read_pool);
}

Result<AllocatedAddress> decode_allocated_address(std::string_view text) {
  return decode_answer("Address", text, read_allocated_address);
}

Result<AddressList> decode_address_list(std::string_view text) {
  return decode_list_answer<AddressList>("AddressList", text, read_allocated_address);
}

}  // namespace isthmus::infra::api
