"""A cluster on machines in a network, whose pods are reached through the backend's host."""

import os

from harness import isthmus, kube
from harness.pods import Pods
from harness.site import Site
from harness.wait import until

TOKEN = "routes-secret-token"
CLUSTER_CIDRS = ["10.244.0.0/16", "fd00:10:244::/48"]
FLAGS = [f"--cluster-cidr={','.join(CLUSTER_CIDRS)}"]
OWNER = "prod"


class Routed(Site):
    """A site whose backend may hold routes for the manager, and whose Nodes have pod CIDRs.

    Attributes besides: pods.
    """

    def __init__(self, directory, server, net, **config):
        os.makedirs(directory, exist_ok=True)
        token_file = os.path.join(str(directory), "token")
        with open(token_file, "w", encoding="utf-8") as file:
            file.write(TOKEN + "\n")
        super().__init__(directory, server, net, owners=[
            {"name": OWNER, "tokenFile": token_file, "pools": ["public"],
             "routes": {"destinations": CLUSTER_CIDRS}}], **config)
        self.infra.client.token = TOKEN
        self.infra.cloud_config = isthmus.write_cloud_config(
            self.infra.cloud_config, self.infra.url, tokenFile=token_file)
        self.pods = Pods(net)

    def join(self, *machines, cidrs=None):
        """The machines become Nodes with the pod CIDRs of their pods, or with `cidrs`."""
        for each in machines:
            number = self.net.machines.index(each) + 1
            self.kubelets.join(each, pod_cidrs=cidrs or [
                self.pods.network(number, family) for family in (4, 6)])
        for each in machines:
            until(lambda each=each: not kube.is_tainted(self.k8s.node(each.name)),
                  what=f"{each.name} initialized")

    def condition(self, name):
        """("False", "RouteCreated") of a Node; None: it has none."""
        found = [each for each in self.k8s.node(name)["status"].get("conditions", [])
                 if each["type"] == "NetworkUnavailable"]
        return (found[0]["status"], found[0]["reason"]) if found else None

    def until_routed(self, *machines, seconds=20):
        def routed():
            for each in machines:
                said = self.condition(each.name)
                assert said == ("False", "RouteCreated"), (each.name, said, self.events_of(each))
        until(routed, seconds, f"{[each.name for each in machines]} routed")

    def until_condition(self, machine, *wanted, seconds=30):
        def so():
            assert self.condition(machine.name) == wanted, self.condition(machine.name)
        until(so, seconds, f"{machine.name}: {wanted}")

    def events_of(self, machine, reason=None):
        return [event for event in self.k8s.events(machine.name, reason)
                if event["source"].get("component") == "route_controller"]

    def tables(self):
        return self.infra.client.request("GET", f"/v1/owners/{OWNER}/routetables").json()["items"]

    def kernel_routes(self):
        """What the host's kernel has of ours, by another road than ours: {destination: next hop}"""
        words = self.net.host.run("sh", "-c", "ip -4 route show proto 66; ip -6 route show proto 66")
        lines = [line.split() for line in words.splitlines()]
        return {line[0]: line[line.index("via") + 1] for line in lines}
