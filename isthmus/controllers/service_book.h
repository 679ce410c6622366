// What the service controller knows of the cloud's load balancers: for each Service's what was last
// asked for and what the cloud last said. Kept in memory only; a restart asks anew.
//
// It answers the one question that saves calls: is what the plan wants what the cloud was already
// told, and has nobody changed it since? It holds a text of the spec and no Node and no Service.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/cloud/load_balancer.h"
#include "isthmus/controllers/dispute.h"
#include "isthmus/kube/api/meta.h"

namespace isthmus::controllers {

// Equal texts are equal specs; preferred addresses are no part of what a load balancer is. The
// targets are a hash at its end, because there may be thousands.
std::string fingerprint(const cloud::LoadBalancerSpec& spec);

// The part of a fingerprint that is not about the targets: what somebody wishes for.
std::string_view wish_of(std::string_view fingerprint);

struct ServiceRecord {
  // How the last run ended.
  enum class Trouble : std::uint8_t {
    none,
    refused,  // What it asks for is not to be had.
    failing,  // The cloud or the API server could not be asked.
  };

  std::string name = {};  // Of the load balancer.
  kube::ObjectKey key = {};
  std::string uid = {};  // Of the Service.

  std::string fingerprint = {};  // Of the spec last ensured; empty: of none that is known to stand.
  Moment ensured_at = {};        // When that was answered.
  Moment asked_at = {};          // When the cloud was last asked about it, by any call.
  std::optional<cloud::LoadBalancerState> state = {};  // The newest known; nullopt: none, or gone.
  std::uint64_t generation = 0;                        // As our ensure left it.

  bool adopted = false;     // It stood before this process asked for it.
  bool existed = false;     // The cloud has had it, or may have it since a call of ours.
  bool vanished = false;    // The cloud took it away, and we did not ask for that.
  bool releasing = false;   // Its release was asked for.
  bool may_switch = false;  // Its Nodes are checked by what `automatic` comes to.

  // What people have been told already.
  std::string announced = {};  // The wish that is being fulfilled.
  bool ensured_told = false;   // That it is.
  bool deleting_told = false;
  std::uint64_t repairs_told = 0;

  Trouble trouble = Trouble::none;
  unsigned failures = 0;                    // In a row.
  Dispute dispute = {};                     // With somebody else who changes it in the cloud.
  std::uint64_t disputed = 0;               // Generation of the change that was counted last.
  std::optional<Moment> nobody_since = {};  // Since when no Node passes its check.
};

// A message of the cloud's for people, who know Services: the name of each load balancer that is a
// Service's is followed by it.
using ServiceOfName = std::function<std::optional<kube::ObjectKey>(std::string_view name)>;
std::string explained(std::string_view message, const ServiceOfName& service_of);

// A resource. Records by the load balancer's name, which holds the Service's uid: a namesake of a
// Service has a record of its own.
class ServiceBook final {
 public:
  // nullptr: nothing is known. Borrowed until the record is forgotten.
  ServiceRecord* find(std::string_view name);

  // The record, made if there is none; a stranger of that name is taken in.
  ServiceRecord& at(const std::string& name, const kube::ObjectKey& key, const std::string& uid);

  // A stranger of that name is forgotten as well.
  void forget(std::string_view name);

  // Its Service is gone: the record is forgotten, and what the cloud has becomes a stranger.
  void disown(std::string_view name);

  // Names of the records of a key: more than one where a Service was recreated under its name.
  std::vector<std::string> of(const kube::ObjectKey& key) const;
  const std::map<std::string, ServiceRecord, std::less<>>& all() const { return records_; }

  // Whether the cloud is known, or was asked by us, to have something.
  bool empty() const { return records_.empty() && strangers_.empty(); }

  // The message with the Services of those load balancers that have a record.
  std::string explained(std::string_view message) const;

  // Our ensure was answered. News that is newer than the answer stays.
  void ensured(ServiceRecord& record, std::string fingerprint, cloud::LoadBalancerState state,
               Moment now);

  // Takes in what the cloud says of a load balancer, unless it is older than what is known; whether
  // its Service should be looked at. Those without a record, which no Service of this process has
  // asked for, are kept under `strangers`.
  bool heard(const cloud::LoadBalancerState& state);
  bool heard_gone(std::string_view name);

  // Takes in all that the cloud says there is, whatever was known; the names of the records whose
  // Services should be looked at. What we ensured within `fresh` before now may be newer than what
  // it says: that is believed to stand as little as it is believed to be gone.
  std::vector<std::string> heard_everything(const std::vector<cloud::LoadBalancerState>& states,
                                            Moment now, Duration fresh);

  // Load balancers the cloud has and no Service that we know asks for.
  const std::map<std::string, cloud::LoadBalancerState, std::less<>>& strangers() const {
    return strangers_;
  }

  // Whether this spec is what the cloud was told, and it still stands there as we left it.
  static bool stands(const ServiceRecord& record, std::string_view fingerprint);

  // Whether this spec, which does not stand or is due, may be ensured now. Not where somebody else
  // keeps changing what we ensured, until the dispute gets its next try. Counts that change, once.
  static bool may_ensure(ServiceRecord& record, std::string_view fingerprint, Moment now);

 private:
  static bool take_in(ServiceRecord& record, const cloud::LoadBalancerState& state);
  static bool is_gone(ServiceRecord& record);

  std::map<std::string, ServiceRecord, std::less<>> records_;
  std::map<kube::ObjectKey, std::set<std::string>> names_;
  std::map<std::string, cloud::LoadBalancerState, std::less<>> strangers_;
};

}  // namespace isthmus::controllers
