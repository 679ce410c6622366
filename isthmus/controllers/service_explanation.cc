#include "isthmus/controllers/service_explanation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isthmus/controllers/service_complaints.h"
#include "isthmus/controllers/service_notices.h"

namespace isthmus::controllers {
namespace {

using cloud::LoadBalancerState;

constexpr const char* kLookAtBackend =
    "isthmus status on the backend's host shows every condition of it";

std::string text_of(const std::vector<kube::ServicePort>& ports) {
  std::vector<std::string> texts;
  for (const kube::ServicePort& port : ports) {
    texts.push_back(fmt::format("{} {} to node port {}", port.protocol, port.port, port.node_port));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string text_of(const std::vector<kube::LoadBalancerIngress>& ingress) {
  std::vector<std::string> texts;
  for (const auto& each : ingress) texts.push_back(each.ip.empty() ? each.hostname : each.ip);
  return texts.empty() ? "nothing" : fmt::format("{}", fmt::join(texts, ", "));
}

// "PoolExhausted: pool public has no free address; …"
std::string text_of(const std::vector<LoadBalancerState::Fact>& facts) {
  std::vector<std::string> texts;
  for (const auto& fact : facts) texts.push_back(fact.reason + ": " + fact.message);
  return fmt::format("{}", fmt::join(texts, "; "));
}

// The newest thing that our controller has warned of; null: nothing.
const kube::Event* last_warning(const std::vector<kube::Event>& events) {
  const auto found = std::find_if(events.rbegin(), events.rend(), [](const kube::Event& event) {
    return event.type == kube::kEventWarning;
  });
  return found == events.rend() ? nullptr : &*found;
}

bool add_object(Chain& chain, const ServiceFacts& facts) {
  if (!facts.service) {
    chain.not_asked("object", facts.service.error());
    return false;  // Nothing else can be said of it.
  }
  if (!*facts.service) {
    return chain.broken("object", fmt::format("there is no Service {}", to_string(facts.key)),
                        "check the namespace and the name: kubectl get services -A");
  }
  const kube::Service& service = **facts.service;
  if (service.type != "LoadBalancer" && !service.meta.has_finalizer(kServiceFinalizer)) {
    return chain.broken("object", fmt::format("its type is {}", service.type),
                        "only a Service of type LoadBalancer gets an address: set spec.type");
  }
  return chain.ok("object", fmt::format("type {}, {}", service.type, text_of(service.ports)));
}

bool add_class(Chain& chain, const kube::Service& service, bool is_served_here) {
  const std::string its = service.load_balancer_class
                              ? "loadBalancerClass " + *service.load_balancer_class
                              : "no loadBalancerClass";
  if (is_served_here) return chain.ok("class", its + ", which is served here");
  return chain.broken("class", its + ", which is not served by a manager with these flags",
                      "find who serves it, or name it in --load-balancer-classes (without a class: "
                      "--serve-unclassed-services) and here; a class of a Service never changes, "
                      "so another one needs a new Service");
}

bool add_wish(Chain& chain, const Result<ServicePlan>& plan) {
  if (!plan) return chain.not_asked("wish", plan.error());
  if (const auto* refusal = std::get_if<RefuseService>(&plan->what)) {
    return chain.broken("wish", fmt::format("{}: {}", refusal->reason, refusal->message),
                        "change the Service as it says; docs/reference/services.md tells what each "
                        "field and annotation may be");
  }
  for (const Notice& notice : plan->notices) {
    if (!notice.warning) continue;
    return chain.ok("wish",
                    fmt::format("can be had, though {}: {}", notice.reason, notice.message));
  }
  return chain.ok("wish", "all of it can be had");
}

bool add_finalizer(Chain& chain, const ServiceFacts& facts) {
  const kube::Service& service = **facts.service;
  if (service.meta.has_finalizer(kServiceFinalizer)) {
    return chain.ok("finalizer", fmt::format("{} stands", kServiceFinalizer));
  }
  return chain.broken("finalizer", fmt::format("{} is missing", kServiceFinalizer),
                      look_at_manager(facts.lease));
}

bool add_balancer(Chain& chain, const ServiceFacts& facts) {
  const std::string name = "load-balancer";
  if (!facts.balancer) return chain.not_asked(name, facts.balancer.error());
  if (!*facts.balancer) {
    const kube::Event* said = last_warning(facts.events);
    return chain.broken(name, fmt::format("the cloud has none of the name {}", facts.balancer_name),
                        said == nullptr
                            ? look_at_manager(facts.lease)
                            : fmt::format("the manager says {}: {}", said->reason, said->message));
  }
  const LoadBalancerState& state = **facts.balancer;
  for (const auto& problem : state.problems) {
    return chain.broken(name, fmt::format("{}: {}", problem.part, problem.error.message),
                        "the cloud takes the rest; change what it does not take");
  }
  return chain.ok(name,
                  fmt::format("the cloud has {}, generation {}", state.name, state.generation));
}

// What the cloud says stands in the way; its words name the next step.
bool stuck(Chain& chain, std::string name, std::string what, const LoadBalancerState& state) {
  if (state.facts.empty()) {
    what += ", and the cloud works on it";
    if (!state.unfinished.empty()) what += ": " + text_of(state.unfinished);
    return chain.broken(std::move(name), std::move(what), kLookAtBackend);
  }
  return chain.broken(std::move(name), std::move(what) + ": " + text_of(state.facts),
                      "do what it says; it goes on by itself then");
}

bool add_address(Chain& chain, const LoadBalancerState& state) {
  if (state.addresses.empty()) return stuck(chain, "address", "it has none", state);
  return chain.ok("address", "it holds " + controllers::text_of(state.addresses));
}

bool add_rules(Chain& chain, const LoadBalancerState& state) {
  if (state.is_leaving) {
    return chain.broken("rules", "the load balancer is being taken down in the cloud",
                        "somebody asked for that: the manager makes it anew");
  }
  if (!state.settled) {
    return stuck(chain, "rules", "the address does not answer yet", state);
  }
  return chain.ok("rules", "its host holds the rules and answers for the address");
}

bool add_targets(Chain& chain, const ServiceFacts& facts, const LoadBalancerState& state) {
  const std::string name = "targets";
  if (!facts.nodes) return chain.not_asked(name, facts.nodes.error());
  const EligibleNodes& nodes = *facts.nodes;
  if (nodes.targets.empty()) {
    std::vector<std::string> why;
    for (const auto& [node, reason] : nodes.left_out) why.push_back(node + " " + reason);
    return chain.broken(name,
                        "no Node is eligible: " + (why.empty() ? "there is none" : some_of(why)),
                        "a Node is one when it is initialized, has an InternalIP, and is neither "
                        "excluded nor leaving: isthmus explain node NAME");
  }
  std::string evidence = fmt::format("{} Nodes are eligible", nodes.targets.size());
  if (state.targets) evidence += fmt::format(", the cloud sends to {} addresses", *state.targets);
  if (state.targets == std::size_t{0}) {
    return chain.broken(name, evidence, look_at_manager(facts.lease));
  }
  return chain.ok(name, evidence);
}

bool add_health(Chain& chain, const LoadBalancerState& state) {
  using Health = LoadBalancerState::Health;
  const std::string sick = state.sick.empty() ? "" : ": " + text_of(state.sick);
  switch (state.health) {
    case Health::all:
      return chain.ok("health", "every target passes its check");
    case Health::some:
      return chain.ok("health", "some targets pass their check, and the others get nothing" + sick);
    case Health::none:
      return chain.broken(
          "health",
          "no target passes its check" +
              (sick.empty() && !state.facts.empty() ? ": " + text_of(state.facts) : sick),
          "look what answers at the checked port of a Node (kube-proxy: 10256; with "
          "externalTrafficPolicy Local the Service's healthCheckNodePort, and a pod on the Node)");
    case Health::unknown:
      return chain.unknown("health", "it is not checked, or was not yet", kLookAtBackend);
  }
  return true;
}

bool add_notes(Chain& chain, const LoadBalancerState& state) {
  if (state.facts.empty()) return true;
  return chain.broken("packets", text_of(state.facts), "do what it says");
}

bool add_status(Chain& chain, const kube::Service& service, const LoadBalancerState& state) {
  const std::string shown = text_of(service.ingress);
  if (service.ingress == ingress_of(state)) {
    return chain.ok("status", "EXTERNAL-IP shows " + shown);
  }
  return chain.broken(
      "status",
      fmt::format("EXTERNAL-IP shows {}, not {}", shown, controllers::text_of(state.addresses)),
      "the manager writes it: see LoadBalancerStatusContested among the events for "
      "another writer, else its log");
}

// What can be seen of its address without the cloud.
bool add_bare_status(Chain& chain, const ServiceFacts& facts) {
  const kube::Service& service = **facts.service;
  if (!service.ingress.empty()) {
    return chain.ok("status", "EXTERNAL-IP shows " + text_of(service.ingress));
  }
  const kube::Event* said = last_warning(facts.events);
  return chain.broken("status", "EXTERNAL-IP shows nothing",
                      said == nullptr
                          ? look_at_manager(facts.lease)
                          : fmt::format("the manager says {}: {}", said->reason, said->message));
}

// One that is to have none any more.
void walk_release(Chain& chain, const ServiceFacts& facts, const ReleaseService& act) {
  const kube::Service& service = **facts.service;
  if (!add_manager(chain, facts.lease) || !add_switch(chain, facts.safety)) return;
  if (!facts.balancer) {
    chain.not_asked("release", facts.balancer.error());
  } else if (*facts.balancer) {
    const kube::Event* said = last_warning(facts.events);
    chain.broken("release", fmt::format("{}, and the cloud still has {}", act.why, act.name),
                 said == nullptr
                     ? look_at_manager(facts.lease)
                     : fmt::format("the manager says {}: {}", said->reason, said->message));
    return;
  } else {
    chain.ok("release", act.why + ", and the cloud has nothing of it");
  }
  std::vector<std::string> others;
  for (const std::string& each : service.meta.finalizers) {
    if (each != kServiceFinalizer) others.push_back(each);
  }
  if (act.remove_finalizer) {
    chain.broken("finalizer", fmt::format("{} still stands", kServiceFinalizer),
                 look_at_manager(facts.lease));
  } else if (service.meta.deletion_time && !others.empty()) {
    chain.broken("finalizer", "others hold it: " + some_of(others), "ask whoever put them there");
  }
}

void walk_ensure(Chain& chain, const ServiceFacts& facts) {
  const kube::Service& service = **facts.service;
  const bool stands = add_manager(chain, facts.lease) && add_switch(chain, facts.safety) &&
                      add_finalizer(chain, facts) && add_balancer(chain, facts);
  if (!stands) return;
  if (!facts.balancer) {
    add_bare_status(chain, facts);
    return;
  }
  const LoadBalancerState& state = **facts.balancer;
  if (add_address(chain, state) && add_rules(chain, state) && add_status(chain, service, state) &&
      add_targets(chain, facts, state) && add_health(chain, state)) {
    add_notes(chain, state);
  }
}

}  // namespace

Explanation explain(const ServiceFacts& facts) {
  Chain chain({.kind = "Service", .key = facts.key, .events = facts.events}, facts.has_cloud);
  if (!add_object(chain, facts)) return chain.take();
  if (facts.no_events) chain.not_asked("events", *facts.no_events);
  const kube::Service& service = **facts.service;
  const bool is_wanted = service.type == "LoadBalancer";
  if (is_wanted && !add_class(chain, service, facts.is_served_here)) return chain.take();
  if (facts.plan) {
    if (const auto* act = std::get_if<ReleaseService>(&facts.plan->what)) {
      walk_release(chain, facts, *act);
      return chain.take();
    }
    if (const auto* leave = std::get_if<LeaveService>(&facts.plan->what)) {
      chain.broken("wish", leave->why, "it is none of this manager's business");
      return chain.take();
    }
  }
  if (!add_wish(chain, facts.plan)) return chain.take();
  walk_ensure(chain, facts);
  return chain.take();
}

}  // namespace isthmus::controllers
