// The inside of the service controller, shared by its sources:
//
//   service.cc          the road of a key, what a run ends with, and the start
//   service_ensure.cc   a Service that has a load balancer
//   service_release.cc  one that shall have none, or is gone
//   service_news.cc     what the cloud and the Nodes say by themselves
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "isthmus/base/backoff.h"
#include "isthmus/base/scope.h"
#include "isthmus/controllers/contested.h"
#include "isthmus/controllers/node_targets.h"
#include "isthmus/controllers/service.h"
#include "isthmus/controllers/service_book.h"
#include "isthmus/controllers/service_metrics.h"
#include "isthmus/controllers/service_orphans.h"
#include "isthmus/controllers/service_writes.h"
#include "isthmus/controllers/teller.h"

namespace isthmus::controllers {

struct ServiceController::Inside {
  Inside(ServiceControllerOptions options_, ServiceDoors doors);

  // What became of one attempt: finished, or look again at the Service as it is now (null: gone).
  struct Finished {
    kube::Action action;
  };
  struct LookAgain {
    ServicePtr service;
  };
  using Step = std::variant<Finished, LookAgain>;
  using Notices = std::vector<Notice>;

  // What was known of a load balancer when an ensure was sent.
  struct Before {
    std::string fingerprint;
    std::optional<cloud::LoadBalancerState> state;
    std::uint64_t generation;
  };

  // service.cc
  Task<Result<kube::Action>> sync(kube::ObjectKey key);
  Task<Result<kube::Action>> sync_nodes();
  Task<Result<>> know();
  Task<Result<Step>> attempt(ServicePtr service);
  ServicePlan plan_of(const kube::Service& service, const EligibleNodes& nodes);
  Step leave(const kube::Service& service, const LeaveService& act, Notices notices);
  Step refuse(const kube::Service& service, const RefuseService& act, Notices notices);
  void tell(const kube::Service& service, Notices notices);
  void event(const kube::Service& service, bool warning, std::string_view reason,
             std::string message);
  Error cloud_failed(const kube::Service& service, Notices notices, Notice notice, Error error);
  Error write_failed(const kube::Service& service, Notices notices, Error error);
  void note_call(const kube::ObjectKey& key);
  void forget(const std::string& name);
  ServiceRecord* record_of(const kube::Service& service);

  // service_ensure.cc
  Task<Result<Step>> ensure(ServicePtr service, EnsureService act, Notices notices);
  bool may_ensure(ServiceRecord& record, std::string_view print);
  Task<Result<Step>> make(ServicePtr service, cloud::LoadBalancerSpec spec, std::string print);
  void doubt_set(const ServiceRecord& record);
  Task<Result<>> ask(std::string name);
  Task<Result<Step>> report(ServicePtr service, std::string name, Notices notices);
  Task<Result<Step>> publish(ServicePtr service, std::string name, Notices notices);
  void announce(const kube::Service& service, ServiceRecord& record, std::string_view print);
  void tell_what_changed(const kube::Service& service, ServiceRecord& record, const Before& before,
                         const cloud::LoadBalancerState& answer);
  void tell_repairs(const kube::Service& service, ServiceRecord& record);
  void judge_node_health(const kube::Service& service, ServiceRecord& record);
  void switch_to_kubelet(const kube::Service& service);
  bool drift_is_due(const ServiceRecord& record) const;
  bool poll_is_due(const ServiceRecord& record) const;
  Duration poll_every() const;
  kube::Action next_look(const kube::Service& service, const ServiceRecord& record) const;

  // service_release.cc
  Task<Result<Step>> release(ServicePtr service, ReleaseService act, Notices notices);
  Task<Result<>> release_namesakes(ServicePtr service);
  Task<Result<>> release_namesake(std::string name);
  Task<Result<kube::Action>> part_from_vanished(kube::ObjectKey key);
  Task<Result<>> release_one(std::string name);

  // service_news.cc
  Task<Result<>> run(kube::Controller& runner);
  Task<Result<>> identify();
  Task<Result<>> follow_cloud();
  Task<Result<>> list_cloud();
  Task<Result<>> sweep_orphans();
  void hear(cloud::LoadBalancerNews news);
  void hear_everything(std::vector<cloud::LoadBalancerState> states);
  void hear_first();
  void learn_node_health(const cloud::LoadBalancerState& state);
  void begin_to_know();
  void stumble(std::string_view doing, const Error& error);
  void nodes_changed(const EligibleNodes& before, const EligibleNodes& after);
  void wake(std::string_view name, Priority priority);
  void wake_troubled(std::optional<ServiceRecord::Trouble> trouble, Priority priority);

  const ServiceControllerOptions options;
  kube::Store<kube::Service>& services;
  kube::ApiDoor& api;
  cloud::LoadBalancers& cloud;
  kube::Recorder& recorder;
  Loop& loop;
  Random& random;
  Logger& log;

  std::optional<cloud::ClusterUid> cluster = {};
  kube::Controller* queue = nullptr;  // Set by run.
  ServiceBook book = {};
  Teller teller;
  ContestedFields contested;
  ServiceWrites writes;
  NodeTargets targets;
  ServiceOrphans orphans;
  ServiceMetrics metrics;

  // What the cloud has is not known before it was heard once. Until then either an attempt is under
  // way, which runs wait for, or `hurdle` says what stands in the way.
  Signal heard = {};
  std::optional<Error> hurdle = {};
  Signal decided = {};                     // Heard, or there is a hurdle.
  bool follows = true;                     // The cloud tells by itself.
  bool is_out = false;                     // Its outage was logged.
  std::set<kube::ObjectKey> waiting = {};  // Looked at too early.

  NodeHealth automatic = NodeHealth::kube_proxy;
  bool proxies_answer = false;  // A Node has passed kube-proxy's check, as far as this process saw.
  std::set<kube::ObjectKey> refused = {};          // By the plan, and without a load balancer.
  std::map<kube::ObjectKey, Moment> noticed = {};  // Changed, and no call was made for it yet.
  bool set_is_kept = false;                        // kNodesKey comes again and again.
  std::optional<Moment> set_ensured_at = {};       // By its own drift pass.
};

}  // namespace isthmus::controllers
