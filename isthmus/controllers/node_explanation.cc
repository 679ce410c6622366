#include "isthmus/controllers/node_explanation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/node_addresses.h"
#include "isthmus/controllers/node_lifecycle_plan.h"

namespace isthmus::controllers {
namespace {

// The newest event of that reason; null: none.
const kube::Event* last_event(const std::vector<kube::Event>& events, std::string_view reason) {
  const auto found = std::find_if(events.rbegin(), events.rend(),
                                  [reason](const auto& event) { return event.reason == reason; });
  return found == events.rend() ? nullptr : &*found;
}

bool add_object(Chain& chain, const NodeFacts& facts) {
  if (!facts.node) {
    chain.not_asked("object", facts.node.error());
    return false;  // Nothing else can be said of it.
  }
  if (!*facts.node) {
    return chain.broken("object", fmt::format("there is no Node {}", facts.key.name),
                        "a kubelet registers its Node by itself: look at the machine's kubelet");
  }
  const kube::Node& node = **facts.node;
  if (node.meta.deletion_time) {
    return chain.broken("object", "it is being deleted",
                        "somebody's finalizer may hold it: kubectl get node -o yaml");
  }
  return chain.ok("object", "made " + rfc3339(node.meta.creation_time));
}

// What it would become with the taint; nothing where that is not known.
std::string what_it_would_be(const NodeFacts& facts) {
  if (!facts.evidence) return "";
  const Match match = match_machine(**facts.node, *facts.evidence, facts.options.match_order);
  if (const auto* none = std::get_if<NoMatch>(&match)) {
    return fmt::format("; no machine would be its own yet: {}", none->message);
  }
  return fmt::format("; it would be machine {}", std::get<cloud::Instance>(match).describe());
}

// Whose Node it is. Only one of ours has more to say.
bool add_identity(Chain& chain, const NodeFacts& facts) {
  const std::string name = "identity";
  const kube::Node& node = **facts.node;
  const std::string& scheme = facts.options.scheme;
  if (node.provider_id.empty()) {
    if (is_tainted(node)) return chain.ok(name, "no providerID yet, and it waits for one");
    return chain.broken(
        name,
        fmt::format("it has neither a providerID nor the taint {}{}", kUninitializedTaint,
                    what_it_would_be(facts)),
        fmt::format("either its kubelet registered it without --cloud-provider=external (later "
                    "that flag sets no taint), or somebody took the taint away; hand it over: {}",
                    taint_command(node)));
  }
  // Without a cloud there is no scheme of ours to compare with.
  if (scheme.empty()) {
    return chain.unknown(
        name,
        fmt::format("providerID {}; whether that is ours depends on the cloud", node.provider_id),
        std::string(way_to_ask(Outcome::unsupported, false)));
  }
  const Result<cloud::ProviderId> id = cloud::parse_provider_id(node.provider_id);
  if (id && id->scheme == scheme) return chain.ok(name, "providerID " + node.provider_id);
  return chain.broken(
      name, fmt::format("providerID {} is not of {}://", node.provider_id, scheme),
      "another manager has it; a providerID never changes, so it takes a new Node to change that");
}

// The kubelet alone makes a Node, with the providerID that it then gets; nobody may change one.
std::string register_anew(const kube::Node& node) {
  return fmt::format("kubectl delete node {}, and restart its kubelet, which registers it anew",
                     node.meta.key.name);
}

// What helps, by the cause of NoMatch. What was retired is never listed again, and to advise that
// would be to advise a mistake.
std::string way_to_a_machine(std::string_view cause, const kube::Node& node) {
  const bool has_id = !node.provider_id.empty();
  if (has_id && (cause == "machine_not_found" || cause == "machine_retired")) {
    return fmt::format(
        "the id of a machine that is gone is never used again. If it is gone: the manager deletes "
        "the Node, or you do: kubectl delete node {}. If it is back: give it a new id in the "
        "cloud, then {}",
        node.meta.key.name, register_anew(node));
  }
  if (cause == "machine_retired") {
    return "the id of a machine that is gone is never used again; if it is back, give it a new id "
           "in the cloud";
  }
  if (cause == "machine_unknown") {
    return "if it is there, list it in the cloud again with the id that it has always had; if it "
           "is gone for good, have the cloud say so (in our inventory: state: retired)";
  }
  if (cause == "machine_held") {
    return "one of the two Nodes is not on that machine: look at both, and correct in the cloud "
           "what led this one there, or delete the Node that is gone";
  }
  if (cause == "machine_mismatch") {
    return fmt::format(
        "if the kubelet runs on that very machine, correct its system UUID in the cloud; if not, "
        "list the machine that it runs on under an id of its own{}",
        has_id ? ", then " + register_anew(node) : "");
  }
  return "give exactly one machine of the cloud the Node's system UUID, name or InternalIP "
         "(--node-match-order), or the Node's providerID to that one";
}

// Which machine it is, and why the others are not.
bool add_machine(Chain& chain, const NodeFacts& facts, cloud::Instance& machine) {
  const std::string name = "machine";
  if (!facts.evidence) return chain.not_asked(name, facts.evidence.error());
  const Match match = match_machine(**facts.node, *facts.evidence, facts.options.match_order);
  if (const auto* none = std::get_if<NoMatch>(&match)) {
    std::string evidence = fmt::format("{}: {}", none->cause, none->message);
    if (facts.evidence->completeness == cloud::Completeness::partial) {
      evidence += " (the cloud's list has a hole in it)";
    }
    const kube::Event* withheld = last_event(facts.events, "NodeDeletionWithheld");
    if (withheld != nullptr) evidence += "; its deletion is withheld: " + withheld->message;
    return chain.broken(name, evidence, way_to_a_machine(none->cause, **facts.node));
  }
  machine = std::get<cloud::Instance>(match);
  std::string evidence = machine.describe();
  if (!machine.zone.empty()) evidence += ", zone " + machine.zone;
  if (!machine.type.empty()) evidence += ", type " + machine.type;
  return chain.ok(name, evidence);
}

bool add_power(Chain& chain, const kube::Node& node, const cloud::Instance& machine) {
  const bool has_taint = node.find_taint(kShutdownTaint) != nullptr;
  const std::string taint =
      fmt::format("{} {}", has_taint ? "with the taint" : "without the taint", kShutdownTaint);
  switch (machine.power) {
    case cloud::Power::running:
      if (!has_taint) return chain.ok("power", "it runs");
      return chain.broken("power", "it runs, " + taint,
                          "the manager takes the taint away soon: look at its log");
    case cloud::Power::stopped:
      return chain.broken("power", "the cloud says that it is stopped; the Node is " + taint,
                          "start the machine; a stopped one keeps its Node");
    case cloud::Power::unknown:
      return chain.ok("power", "the cloud does not say");
  }
  return true;
}

bool add_addresses(Chain& chain, const NodeFacts& facts, const cloud::Instance& machine) {
  const kube::Node& node = **facts.node;
  const auto wanted = wanted_addresses(node, machine, facts.options.node_ip_filter);
  if (!wanted) {
    return chain.broken("addresses", wanted.error().message,
                        "give the machine that address in the cloud, or the kubelet another "
                        "--node-ip");
  }
  std::string shown = node.addresses.empty() ? "none" : describe(node.addresses);
  if (wanted->empty() || *wanted == node.addresses) {
    const std::string left_out = addresses_left_out(machine);
    if (!left_out.empty()) shown += "; of its machine are left out: " + left_out;
    return chain.ok("addresses", std::move(shown));
  }
  return chain.broken("addresses", fmt::format("{}; its machine has {}", shown, describe(*wanted)),
                      look_at_manager(facts.lease));
}

bool add_taint(Chain& chain, const NodeFacts& facts) {
  if (!is_tainted(**facts.node)) {
    return chain.ok("taint", "it is initialized");
  }
  return chain.broken("taint", fmt::format("{} still stands", kUninitializedTaint),
                      look_at_manager(facts.lease));
}

bool add_kubelet(Chain& chain, const NodeFacts& facts) {
  const kube::NodeCondition* ready = (*facts.node)->find_condition("Ready");
  const std::string said = ready == nullptr
                               ? "it has never said whether it is Ready"
                               : fmt::format("Ready is {} ({})", ready->status, ready->reason);
  if (!facts.heartbeat) {
    chain.not_asked("kubelet", facts.heartbeat.error());
  } else if (!*facts.heartbeat) {
    chain.ok("kubelet", said + "; it has no Lease");
  } else {
    chain.ok("kubelet",
             fmt::format("{}; its Lease says {}", said, (*facts.heartbeat)->spec.renew_time));
  }
  if (ready != nullptr && ready->status == "True") return true;
  return chain.broken("ready", said, "look at the kubelet on the machine: journalctl -u kubelet");
}

}  // namespace

Explanation explain(const NodeFacts& facts) {
  const bool has_cloud = !facts.options.scheme.empty();
  Chain chain({.kind = "Node", .key = facts.key, .events = facts.events}, has_cloud);
  if (!add_object(chain, facts)) return chain.take();
  if (facts.no_events) chain.not_asked("events", *facts.no_events);
  const kube::Node& node = **facts.node;
  const bool is_ours = add_manager(chain, facts.lease) && add_switch(chain, facts.safety) &&
                       add_identity(chain, facts);
  if (!is_ours) return chain.take();
  cloud::Instance machine;
  if (!add_machine(chain, facts, machine)) return chain.take();
  const bool is_known = facts.evidence.has_value();
  if (is_known && !(add_power(chain, node, machine) && add_addresses(chain, facts, machine))) {
    return chain.take();
  }
  if (add_taint(chain, facts)) add_kubelet(chain, facts);
  return chain.take();
}

}  // namespace isthmus::controllers
