#include "isthmus/infra/instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace isthmus::infra {
namespace {

// What a memory that lags takes in at once.
constexpr std::size_t kChangesMax = 10'000;

using Records = decltype(InstanceSnapshot::records);

Result<> take_in(Records& records, std::string_view key, std::string_view value,
                 Revision revision) {
  Result<InstanceRecord> record = decode_record(value, revision);
  if (!record) return fail(key, std::move(record).error());
  std::string uid(key.substr(kInstancePrefix.size()));
  records[std::move(uid)] = std::make_shared<const InstanceRecord>(std::move(*record));
  return {};
}

Instances::Loaded sorted_out(const std::vector<InstanceRecord>& records) {
  Instances::Loaded loaded;
  for (const InstanceRecord& record : records) {
    const std::string& uid = record.instance.uid;
    if (record.is_retired()) {
      loaded.retired.push_back(uid);
    } else if (record.instance.presence == api::Presence::unknown) {
      loaded.unknown.push_back(uid);
    } else {
      loaded.changed.push_back(uid);
    }
  }
  return loaded;
}

Result<Instances::Snapshot> caught_up(const InstanceSnapshot& before, const Changes& changes) {
  InstanceSnapshot next{.revision = changes.revision, .records = before.records};
  for (const Change& change : changes.changes) {
    if (!change.value) continue;  // We never delete a record.
    TRY(take_in(next.records, change.key, *change.value, change.revision));
  }
  return std::make_shared<const InstanceSnapshot>(std::move(next));
}

}  // namespace

Task<Result<Instances::Snapshot>> Instances::read_all(std::optional<Revision> revision) {
  Range range{.prefix = std::string(kInstancePrefix), .at = revision};
  infra::Snapshot read = CO_TRY(co_await store_.read(std::move(range)));
  InstanceSnapshot snapshot{.revision = read.revision, .records = {}};
  for (const Entry& entry : read.entries) {
    CO_TRY(take_in(snapshot.records, entry.key, entry.value, entry.revision));
  }
  co_return std::make_shared<const InstanceSnapshot>(std::move(snapshot));
}

Task<Result<Instances::Snapshot>> Instances::latest() {
  Range newest{.prefix = std::string(kInstancesLock), .limit = 1};
  infra::Snapshot now = CO_TRY(co_await store_.read(std::move(newest)));
  while (!latest_ || latest_->revision < now.revision) {
    Snapshot before = latest_;
    Result<Snapshot> next;
    if (before == nullptr) {
      next = co_await read_all(std::nullopt);
    } else {
      Result<Changes> changes =
          co_await store_.watch(std::string(kInstancePrefix), before->revision, kChangesMax);
      if (changes.outcome() == kRevisionGone) {
        next = co_await read_all(std::nullopt);
      } else if (changes) {
        next = caught_up(*before, *changes);
      } else {
        next = std::unexpected(std::move(changes).error());
      }
    }
    Snapshot read = CO_TRY(std::move(next));
    // Somebody else may have come further meanwhile.
    if (!latest_ || latest_->revision < read->revision) latest_ = std::move(read);
  }
  co_return latest_;
}

Task<Result<Instances::Snapshot>> Instances::at(std::optional<Revision> revision) {
  Snapshot newest = CO_TRY(co_await latest());
  if (!revision || newest->revision == *revision) co_return newest;
  Result<Snapshot> older = co_await read_all(revision);
  co_return older;
}

Task<Result<Revision>> Instances::lock_at(Revision revision) {
  Range range{.prefix = std::string(kInstancesLock), .at = revision};
  infra::Snapshot read = CO_TRY(co_await store_.read(std::move(range)));
  co_return read.entries.empty() ? 0 : read.entries.front().revision;
}

Task<Result<Revision>> Instances::write(Revision lock, std::vector<InstanceRecord> records) {
  std::vector<Write> writes;
  for (const InstanceRecord& record : records) {
    writes.push_back({instance_key(record.instance.uid), encode(record)});
  }
  Result<Revision> written = co_await writer_.commit(lock, std::move(writes));
  if (written) {
    // So that remembered() knows it too; where that fails, the next one who asks reads it.
    [[maybe_unused]] Result<Snapshot> now = co_await latest();
  }
  co_return written;
}

Task<Result<InstancePlan>> Instances::decide(Planner planner) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    Snapshot snapshot = CO_TRY(co_await latest());
    Revision lock = CO_TRY(co_await lock_at(snapshot->revision));
    InstancePlan plan = planner(*snapshot, clock_.wall_now());
    if (plan.problem || !plan.write) co_return plan;
    Result<Revision> written = co_await write(lock, {plan.record});
    if (written) {
      plan.record.instance.revision = *written;
      co_return plan;
    }
    if (written.outcome() != Outcome::conflict) co_return std::unexpected(written.error());
  }
  co_return fail(Outcome::busy, "the machines are changed all the time", std::chrono::seconds(1));
}

Task<Result<InstancePlan>> Instances::put(api::Instance said, Preconditions preconditions) {
  Result<InstancePlan> plan = co_await decide(
      [said = std::move(said), preconditions](const InstanceSnapshot& snapshot, WallTime now) {
        return plan_put(snapshot, said, preconditions, now);
      });
  co_return plan;
}

Task<Result<InstancePlan>> Instances::retire(std::string uid, Preconditions preconditions) {
  Result<InstancePlan> plan = co_await decide(
      [uid = std::move(uid), preconditions](const InstanceSnapshot& snapshot, WallTime now) {
        return plan_delete(snapshot, uid, preconditions, now);
      });
  co_return plan;
}

Task<Result<Instances::Loaded>> Instances::load(std::vector<InventoryLine> lines,
                                                YamlMistakes& mistakes) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    Snapshot snapshot = CO_TRY(co_await latest());
    Revision lock = CO_TRY(co_await lock_at(snapshot->revision));
    YamlMistakes found;
    WallTime now = clock_.wall_now();
    std::vector<InstanceRecord> records =
        plan_inventory(*snapshot, lines, now, file_loaded_at_, found);
    if (!found.empty()) {
      mistakes = std::move(found);
      co_return Loaded{};
    }
    Loaded loaded = sorted_out(records);
    Result<Revision> written = snapshot->revision;
    if (!records.empty()) {
      written = co_await write(lock, std::move(records));
    }
    if (written) {
      file_loaded_at_ = now;
      co_return loaded;
    }
    if (written.outcome() != Outcome::conflict) co_return std::unexpected(written.error());
  }
  co_return fail(Outcome::busy, "the machines are changed all the time", std::chrono::seconds(1));
}

api::Instance Instances::shown(const InstanceRecord& record) const {
  api::Instance instance = record.instance;
  if (record.is_in_file()) {
    instance.last_confirmed_at = std::max(instance.last_confirmed_at, file_loaded_at_);
  }
  return instance;
}

}  // namespace isthmus::infra
