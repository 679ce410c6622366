// A machine as it lies in the store, and which keys machines lie under.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "isthmus/base/result.h"
#include "isthmus/infra/api/instance.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

// Retired machines stay: their record is what makes "gone" an answer and keeps a uid from being
// used again.
inline constexpr std::string_view kInstancePrefix = "instances/";

// Rewritten by every change of machines, which is conditional on it: what one change was planned
// from is what stands when it is made, also where several processes share a store.
inline constexpr std::string_view kInstancesLock = "instances-lock";

// Who says what the machine is: whoever wrote last.
enum class Source : std::uint8_t { file, api };

struct InstanceRecord {
  api::Instance instance;
  Source source = Source::api;

  bool is_retired() const { return instance.state == api::State::retired; }

  // Its line stands in the inventory file, so that only the file may change it.
  bool is_in_file() const {
    return source == Source::file && instance.presence == api::Presence::present;
  }

  friend bool operator==(const InstanceRecord&, const InstanceRecord&) = default;
};

std::string instance_key(std::string_view uid);

// The value under the key; the revision is the store's to say.
std::string encode(const InstanceRecord& record);

// lost: not what encode writes, which is damage.
Result<InstanceRecord> decode_record(std::string_view value, Revision revision);

// All machines ever known, by uid, at one revision of the store.
struct InstanceSnapshot {
  Revision revision = 0;
  std::map<std::string, std::shared_ptr<const InstanceRecord>, std::less<>> records;

  // nullptr where the uid is not known.
  const InstanceRecord* find(std::string_view uid) const;
};

}  // namespace isthmus::infra
