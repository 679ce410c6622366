#include "isthmus/app/event_reference.h"

#include <fmt/format.h>

#include <array>

namespace isthmus::app {
namespace {

constexpr bool kNormal = false;
constexpr bool kWarning = true;

constexpr std::array kLines{
    // Nodes: who they are.
    EventLine{"Node", "Synced", kNormal, "The Node is initialized: the taint is gone."},
    EventLine{"Node", "FailedToInitialize", kWarning,
              "No machine, several machines, or one that another Node holds; the message names "
              "them. Correct the inventory or the Node; it is looked at again by itself."},
    EventLine{"Node", "NodeIPNotFound", kWarning,
              "The address that the kubelet was given by `--node-ip` is none of the machine's. "
              "Correct one of the two."},
    EventLine{"Node", "LabelsSkipped", kWarning,
              "Labels of the machine that Kubernetes would refuse are left out."},
    EventLine{
        "Node", "AddressesSkipped", kWarning,
        "Addresses of the machine that none can have (loopback, multicast, unspecified, no IP "
        "address) are left out; the Node keeps its own where the cloud names no other of that "
        "type. Correct them in the cloud."},
    EventLine{"Node", "FailedToRefresh", kWarning,
              "An initialized Node keeps what it has: its machine is in doubt or gone."},
    EventLine{"Node", "ForeignProviderID", kNormal,
              "The Node is another provider's, and left to it."},
    EventLine{
        "Node", "NoProviderID", kNormal,
        "The Node has neither the taint nor a providerID, and is left alone. To hand it over, "
        "set the taint `node.cloudprovider.kubernetes.io/uninitialized`."},
    EventLine{"Node", "FieldContested", kWarning,
              "Somebody else, who is named, keeps writing over a field of ours; it is left to them "
              "for an hour. Stop one of the two."},

    // Nodes: whether they are still there.
    EventLine{"Node", "InstanceMissing", kNormal,
              "The cloud says that the machine is gone; that is being confirmed."},
    EventLine{"Node", "NodeDeletionWithheld", kWarning,
              "The Node would be deleted but for the condition that the message names, with what "
              "would release it. Told anew every hour."},
    EventLine{"Node", "CloudContradictsCluster", kWarning,
              "The cloud's list lacks the machine while its kubelet renews its Lease. Look at the "
              "cloud's credentials and inventory."},
    EventLine{"Node", "CloudContradictsItself", kWarning,
              "The machine is gone by its id and there in the list, or the other way round."},
    EventLine{"Node", "DeletingNode", kNormal, "The Node was deleted: its machine is gone."},
    EventLine{"Node", "DeletingNodeFailed", kWarning, "It was not; it is tried again."},
    EventLine{"Node", "NodeDeletionDenied", kWarning,
              "The role lacks `delete` on `nodes`, so no Node is ever removed."},
    EventLine{"Node", "NodeWithoutProviderID", kWarning,
              "The Node has not been ready for long and says of no machine that it is it. Delete "
              "it by hand if it is gone. Told anew every hour."},
    EventLine{"Node", "ProviderIDRefused", kWarning,
              "The Node has not been ready for long, and the cloud says that no machine can have "
              "its providerID. Delete it by hand if its machine is gone. Told anew every hour."},

    // Nodes: their routes.
    EventLine{"Node", "FailedToCreateRoute", kWarning,
              "Pods of the Node cannot be reached yet, and why."},
    EventLine{"Node", "NoNodeAddress", kWarning,
              "The Node's machine is not in this cloud, and it shows no InternalIP of that family "
              "to route to."},
    EventLine{"Node", "InvalidPodCIDR", kWarning,
              "`spec.podCIDRs` holds something that is no "
              "range."},
    EventLine{"Node", "PodCIDROutsideClusterCIDR", kWarning,
              "A range of the Node lies outside `--cluster-cidr` and gets no route. Correct the "
              "flag, or let the range be given anew."},
    EventLine{"Node", "PodCIDRHoldsMachines", kWarning,
              "A range of the Node holds the address of a Node and gets no route. Keep "
              "`--cluster-cidr` apart from the network of the machines."},
    EventLine{"Node", "PodCIDRConflict", kWarning,
              "Two Nodes have one range; the older one keeps its route."},

    EventLine{"Node", "RoutesProbablyNotNeeded", kWarning,
              "A network plugin says whether the Node's network is available. If no routes are "
              "needed, `--configure-cloud-routes=false`."},
    EventLine{"Namespace", "RouteRemovalWithheld", kWarning,
              "Routes without a Node are kept, because the Nodes we see may not be all there are. "
              "On `kube-system`."},
    EventLine{"Namespace", "TargetRemovalWithheld", kWarning,
              "Targets of load balancers whose Nodes have vanished are kept, because the Nodes we "
              "see may not be all there are. On `kube-system`."},
    EventLine{"Namespace", "LoadBalancerReleaseWithheld", kWarning,
              "Load balancers without a Service are kept, because the API server may not know all "
              "Services. On `kube-system`. If they shall go, delete them in the cloud."},

    // Services.
    EventLine{"Service", "EnsuringLoadBalancer", kNormal, "The cloud is asked for it."},
    EventLine{"Service", "EnsuredLoadBalancer", kNormal, "It is as it should be."},
    EventLine{"Service", "UpdatedLoadBalancer", kNormal, "It follows changed Nodes."},
    EventLine{"Service", "DeletingLoadBalancer", kNormal, "Its release is asked for."},
    EventLine{"Service", "DeletedLoadBalancer", kNormal, "It is gone."},
    EventLine{"Service", "SyncLoadBalancerFailed", kWarning,
              "The wish is not to be had, in the cloud's words; it is tried again, at once where "
              "the cloud tells that it has become possible."},
    EventLine{"Service", "DeleteLoadBalancerFailed", kWarning,
              "The release does not get on, and "
              "why."},
    EventLine{"Service", "UnAvailableLoadBalancer", kWarning,
              "No Node is a target, so nobody answers."},
    EventLine{"Service", "LoadBalancerRepaired", kWarning,
              "What somebody changed in the cloud or on its host is right again."},
    EventLine{"Service", "LoadBalancerRecreated", kWarning,
              "It had vanished from the cloud and is there again, with its address."},
    EventLine{"Service", "LoadBalancerChanged", kWarning, "Somebody had edited it in the cloud."},
    EventLine{"Service", "LoadBalancerContested", kWarning,
              "Somebody else keeps changing it in the cloud, another manager with other flags "
              "perhaps; it is left to them for an hour. Stop one of the two."},
    EventLine{"Service", "LoadBalancerStatusContested", kWarning,
              "Somebody else, who is named, keeps writing the status; it is left to them for an "
              "hour."},
    EventLine{"Service", "LoadBalancerKept", kWarning,
              "Its class is not served any more: serve it again, or delete the Service."},
    EventLine{"Service", "NodeHealthFromKubelet", kWarning,
              "No Node answered at kube-proxy's health port; kubelets are asked from now on."},
    EventLine{"Service", "NoTargets", kWarning,
              "The load balancer stands and has nobody to send to."},
    EventLine{"Service", "TargetsUnhealthy", kWarning,
              "No target passes its health check; all are tried."},
    EventLine{"Service", "NoLocalTarget", kWarning,
              "Policy `Local`, and no pod on the Node that announces the address."},
    EventLine{"Service", "ReturnPathMissing", kWarning,
              "Targets cannot answer past the load balancer's host; set `source-address` to "
              "`masquerade`, or make the host their way back."},
    EventLine{"Service", "LoadBalancerNotice", kWarning, "A fact that the cloud gives no name."},
    EventLine{"Service", "SingleFamily", kNormal,
              "A dual-stack Service asks for addresses of one family, and gets those only."},
    EventLine{"Service", "SourceRangesCloseFamily", kWarning,
              "The source ranges are of one family, so the other is closed."},
    EventLine{"Service", "InvalidAnnotation", kWarning,
              "An annotation does not exist, has a wrong value or contradicts another."},
    EventLine{"Service", "InvalidAddress", kWarning, "An address that cannot be asked for."},
    EventLine{"Service", "InvalidPort", kWarning, "No ports, or one of them twice."},
    EventLine{"Service", "InvalidSourceRanges", kWarning, "Ranges that are none, or too many."},
    EventLine{"Service", "NoNodePort", kWarning, "A port has no `nodePort`."},
    EventLine{"Service", "NoHealthCheckNodePort", kWarning,
              "Policy `Local` without a `healthCheckNodePort`."},
    EventLine{"Service", "TooManyPorts", kWarning, "More than 100 ports."},
    EventLine{"Service", "UnsupportedProtocol", kWarning, "SCTP."},

    // The manager itself.
    EventLine{"Lease", "LeaderElection", kNormal, "Who leads from now on, or no longer."},
    EventLine{"ConfigMap", "MutationsStopped", kWarning, "Somebody has stopped all changes."},
    EventLine{"ConfigMap", "MutationsResumed", kNormal, "Changes go on."},
    EventLine{"ConfigMap", "InvalidSafetySetting", kWarning,
              "A key or value is not understood; the safe meaning counts."},
};

constexpr std::string_view kIntroduction =
    "# Events\n\n"
    "<!-- Made by `isthmus reference events` from isthmus/app/event_reference.cc. -->\n\n"
    "Everything that the manager tells people by Events. Reasons are stable, messages are not. A\n"
    "fact is told once, when it begins to be so, and again when it comes back. A cloud other than\n"
    "our backend may have more to say, under reasons of its own. What to do about a Service that\n"
    "is refused: [what is refused](/docs/reference/services.md).\n";

}  // namespace

std::span<const EventLine> event_lines() { return kLines; }

std::string event_reference() {
  std::string text(kIntroduction);
  std::string_view about;
  for (const EventLine& line : kLines) {
    if (line.about != about) {
      about = line.about;
      text += fmt::format("\n## {}\n\n| Reason | Type | Meaning |\n|---|---|---|\n", about);
    }
    text += fmt::format("| `{}` | {} | {} |\n", line.reason, line.is_warning ? "Warning" : "Normal",
                        line.meaning);
  }
  return text;
}

}  // namespace isthmus::app
