#include "isthmus/infra/ledger_memory.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/infra/balancer_codec.h"
#include "isthmus/infra/guarded_writer.h"
#include "isthmus/infra/route_table_codec.h"

namespace isthmus::infra {
namespace {

// What a memory that lags takes in at once.
constexpr std::size_t kChangesMax = 10'000;

// Read at once: 256 records of 4 KB are 1 MB that lies here twice for a moment.
constexpr std::size_t kPageMax = 256;

constexpr std::array kPrefixes = {kBalancerPrefix,   kStatusPrefix,  kTargetSetPrefix,
                                  kPoolPrefix,       kAddressPrefix, kRouteTablePrefix,
                                  kRouteStatusPrefix};

// What a change makes of a snapshot. Reading it can fail, doing it cannot, so that of a commit all
// or nothing is taken in.
using Step = std::function<void(LedgerSnapshot&)>;

template <class Key, class Record>
using MapOf = RecordMap<Key, Record> LedgerSnapshot::*;

std::unexpected<Error> misplaced(std::string_view key) {
  return fail(Outcome::lost, fmt::format("{}: a damaged record: it is of another key", key));
}

// `decode` reads the value, `key_in` is what the record says its own key is; nullptr where it does
// not say.
template <class Key, class Record>
Result<Step> step_of(MapOf<Key, Record> map, const Change& change, Key key,
                     Result<Record> (*decode)(std::string_view, Revision),
                     std::string (*key_in)(const Record&)) {
  if (!change.value) {
    return Step(
        [map, key = std::move(key)](LedgerSnapshot& snapshot) { (snapshot.*map).erase(key); });
  }
  Result<Record> record = decode(*change.value, change.revision);
  if (!record) return fail(change.key, std::move(record).error());
  if (key_in != nullptr && key_in(*record) != change.key) return misplaced(change.key);
  auto shared = std::make_shared<const Record>(std::move(*record));
  return Step([map, key = std::move(key), shared](LedgerSnapshot& snapshot) {
    (snapshot.*map)[key] = shared;
  });
}

std::string key_in(const BalancerRecord& record) {
  return key_of(kBalancerPrefix, {record.metadata.owner, record.metadata.name});
}

std::string key_in(const TargetSetRecord& record) {
  return key_of(kTargetSetPrefix, {record.set.metadata.owner, record.set.metadata.name});
}

std::string key_in(const RouteTableRecord& record) {
  return key_of(kRouteTablePrefix, {record.metadata.owner, record.metadata.name});
}

std::string key_in(const PoolRecord& record) { return pool_key(record.pool.name); }

std::string key_in(const AddressRecord& record) { return address_key(record.address); }

std::optional<std::string_view> behind(std::string_view prefix, std::string_view key) {
  if (!key.starts_with(prefix)) return std::nullopt;
  return key.substr(prefix.size());
}

ObjectName name_of(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {std::string(text), {}};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

Result<Step> address_step(const Change& change, std::string_view text) {
  Result<IpAddress> address = parse_ip(text);
  if (!address) return misplaced(change.key);
  return step_of<IpAddress, AddressRecord>(&LedgerSnapshot::addresses, change, *address,
                                           decode_address_record, key_in);
}

// Nothing where the key is none of the ledger's: machines lie in the same store.
Result<std::optional<Step>> step_of(const Change& change) {
  const std::string_view key = change.key;
  if (key == kLedgerLock) {
    return Step([at = change.revision](LedgerSnapshot& s) { s.lock = at; });
  }
  if (auto name = behind(kStatusPrefix, key)) {
    return TRY(step_of<ObjectName, StatusRecord>(&LedgerSnapshot::statuses, change, name_of(*name),
                                                 decode_status_record, nullptr));
  }
  if (auto address = behind(kAddressPrefix, key)) return TRY(address_step(change, *address));
  if (auto name = behind(kBalancerPrefix, key)) {
    return TRY(step_of<ObjectName, BalancerRecord>(&LedgerSnapshot::balancers, change,
                                                   name_of(*name), decode_balancer_record, key_in));
  }
  if (auto name = behind(kTargetSetPrefix, key)) {
    return TRY(step_of<ObjectName, TargetSetRecord>(
        &LedgerSnapshot::target_sets, change, name_of(*name), decode_target_set_record, key_in));
  }
  if (auto name = behind(kRouteTablePrefix, key)) {
    return TRY(step_of<ObjectName, RouteTableRecord>(
        &LedgerSnapshot::route_tables, change, name_of(*name), decode_route_table_record, key_in));
  }
  if (auto name = behind(kRouteStatusPrefix, key)) {
    return TRY(step_of<ObjectName, RouteStatusRecord>(&LedgerSnapshot::route_statuses, change,
                                                      name_of(*name), decode_route_status_record,
                                                      nullptr));
  }
  if (auto name = behind(kPoolPrefix, key)) {
    return TRY(step_of<std::string, PoolRecord>(&LedgerSnapshot::pools, change, std::string(*name),
                                                decode_pool_record, key_in));
  }
  return std::nullopt;
}

Result<std::vector<Step>> steps_of(const Changes& changes) {
  std::vector<Step> steps;
  for (const Change& change : changes.changes) {
    std::optional<Step> step = TRY(step_of(change));
    if (step) steps.push_back(std::move(*step));
  }
  return steps;
}

}  // namespace

Task<Result<>> LedgerMemory::read_pages(std::string prefix, LedgerSnapshot& snapshot) {
  Range range{.prefix = std::move(prefix), .limit = kPageMax, .at = snapshot.revision};
  bool more = true;
  while (more) {
    infra::Snapshot page = CO_TRY(co_await store_.read(range));
    for (Entry& entry : page.entries) {
      Change change{std::move(entry.key), std::move(entry.value), entry.revision};
      std::optional<Step> step = CO_TRY(step_of(change));
      if (step) (*step)(snapshot);
      range.after = std::move(change.key);
    }
    more = page.more;
  }
  co_return Result<>{};
}

Task<Result<LedgerSnapshot>> LedgerMemory::read_all(std::optional<Revision> revision) {
  Range lock{.prefix = std::string(kLedgerLock), .at = revision};
  infra::Snapshot read = CO_TRY(co_await store_.read(std::move(lock)));
  LedgerSnapshot snapshot;
  snapshot.revision = read.revision;
  if (!read.entries.empty()) snapshot.lock = read.entries.front().revision;
  for (std::string_view prefix : kPrefixes) {
    CO_TRY(co_await read_pages(std::string(prefix), snapshot));
  }
  co_return snapshot;
}

Task<Result<>> LedgerMemory::catch_up() {
  const Revision before = newest_ ? newest_->revision : 0;
  Result<Changes> changes = fail(kRevisionGone, "nothing is remembered yet");
  if (newest_) changes = co_await store_.watch("", before, kChangesMax);
  if (changes.outcome() == kRevisionGone) {
    LedgerSnapshot read = CO_TRY(co_await read_all(std::nullopt));
    // Somebody else may have come further meanwhile.
    if (newest_ && newest_->revision >= read.revision) co_return Result<>{};
    published_ = nullptr;
    newest_ = std::move(read);
    co_return Result<>{};
  }
  if (!changes) co_return std::unexpected(std::move(changes).error());
  if (newest_->revision != before) co_return Result<>{};
  std::vector<Step> steps = CO_TRY(steps_of(*changes));
  // First, so that maps nobody else looks at are changed in their place.
  published_ = nullptr;
  for (const Step& step : steps) step(*newest_);
  newest_->revision = changes->revision;
  co_return Result<>{};
}

Task<Result<LedgerMemory::Snapshot>> LedgerMemory::latest() {
  // The cheapest way to learn it; reading any key would look through all that it ever was.
  const Revision now = CO_TRY(co_await store_.commit({}, {}));
  int gone = 0;
  while (!newest_ || newest_->revision < now) {
    Result<> caught_up = co_await catch_up();
    // Compacted away while it was being read.
    if (caught_up.outcome() == kRevisionGone && ++gone < kAttemptsMax) continue;
    CO_TRY(std::move(caught_up));
  }
  if (published_ == nullptr) published_ = std::make_shared<const LedgerSnapshot>(*newest_);
  co_return published_;
}

Task<Result<LedgerMemory::Snapshot>> LedgerMemory::at(std::optional<Revision> revision) {
  Snapshot newest = CO_TRY(co_await latest());
  if (!revision || newest->revision == *revision) co_return newest;
  if (older_ != nullptr && older_->revision == *revision) co_return older_;
  LedgerSnapshot read = CO_TRY(co_await read_all(revision));
  Snapshot older = std::make_shared<const LedgerSnapshot>(std::move(read));
  older_ = older;
  co_return older;
}

}  // namespace isthmus::infra
