// What the service controller knows of the cloud's load balancers: for each Service's what was last
// asked for and what the cloud last said. Kept in memory only; a restart asks anew.
//
// It answers the one question that saves calls: is what the plan wants what the cloud was already
// told, and has nobody changed it since? It holds a hash of the spec and no Node and no Service.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/cloud/load_balancer.h"
#include "isthmus/kube/api/meta.h"

namespace isthmus::controllers {

// Equal texts are equal specs; preferred addresses are no part of what a load balancer is.
std::string fingerprint(const cloud::LoadBalancerSpec& spec);

struct ServiceRecord {
  kube::ObjectKey key;
  std::string uid;          // Of the Service.
  std::string fingerprint;  // Of the spec last ensured; empty: of none by this process.
  Moment ensured_at = {};   // When that was answered.
  std::optional<cloud::LoadBalancerState> state;  // The newest known; nullopt: none, or gone.
  std::uint64_t generation = 0;                   // As our ensure left it.
  std::uint64_t repairs_told = 0;                 // state->repairs when people were last told.
};

// A resource. Records by the load balancer's name, which holds the Service's uid: a namesake of a
// Service has a record of its own.
class ServiceBook final {
 public:
  // nullptr: nothing is known. Borrowed until the record is forgotten.
  ServiceRecord* find(std::string_view name);
  ServiceRecord& at(const std::string& name, const kube::ObjectKey& key, const std::string& uid);
  void forget(std::string_view name);

  // Names of the records of a key: more than one where a Service was recreated under its name.
  std::vector<std::string> of(const kube::ObjectKey& key) const;
  const std::map<std::string, ServiceRecord, std::less<>>& all() const { return records_; }

  // Our ensure was answered.
  void ensured(ServiceRecord& record, std::string fingerprint, cloud::LoadBalancerState state,
               Moment now);

  // Takes in what the cloud says of a load balancer, unless it is older than what is known; whether
  // its Service should be looked at. Those without a record, which no Service of this process has
  // asked for, are kept under `strangers`.
  bool heard(const cloud::LoadBalancerState& state);
  bool heard_gone(std::string_view name);

  // Load balancers the cloud has and no Service of this process has asked for.
  const std::map<std::string, cloud::LoadBalancerState, std::less<>>& strangers() const {
    return strangers_;
  }

  // Whether this spec is what the cloud was told, and it still stands there as we left it.
  static bool stands(const ServiceRecord& record, std::string_view fingerprint);

 private:
  std::map<std::string, ServiceRecord, std::less<>> records_;
  std::map<kube::ObjectKey, std::set<std::string>> names_;
  std::map<std::string, cloud::LoadBalancerState, std::less<>> strangers_;
};

}  // namespace isthmus::controllers
