"""A cluster on the machines of a network: all that a Service needs to get a load balancer.

The API server, kubectl and the manager are in the caller's network; the backend runs in that of the
load balancer host, and is reached by its unix socket.
"""

import json
import os

from . import kube
from .isthmus import Infra, Manager, machine, metric
from .kubelets import Kubelets
from .processes import Stage
from .rules import Rules
from .wait import until

CLASS = "isthmus.dev/lb"
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
BALANCERS = "/v1/owners/local/loadbalancers"


class Site:
    """Attributes: net, k8s, kubectl, infra, kubelets, manager (the last one that was started), flags
    (of that one)."""

    def __init__(self, directory, server, net, *, pools=None, driver="nft", **config):
        """server: an ApiServer. pools: of the backend; default: the network's own, in which client
        addresses are kept where the host is the machines' way back."""
        self.directory = str(directory)
        self.net = net
        self.server = server
        self.k8s = server.kube
        self.kubectl = server.kubectl
        self.manager = None
        self._stage = Stage()
        self._is_spoilt = False
        self._managers = []
        self._at_first = ()
        self.infra = self._stage.add(Infra(
            os.path.join(self.directory, "infra"), [inventory_line(each) for each in net.machines],
            inside=net.host, host={"name": "lb1", "driver": driver, "probe": "50ms"},
            pools=pools or [self.pool()], **config))
        self.kubelets = self._stage.add(Kubelets(self.k8s))

    def pool(self, **more):
        return self.net.pool(sourceAddress="masquerade" if self.net.flat else "keep", **more)

    def set_pools(self, *pools):
        """As somebody who edits the configuration of the running backend."""
        self._is_spoilt = True
        self.infra.write_config({**self.infra.read_config(), "pools": list(pools)})

    def start_manager(self, *flags, name="manager", **arguments):
        self.flags = flags
        self.manager = self._stage.add(Manager(
            self.directory, arguments.pop("kubeconfig", self.server.manager_kubeconfig),
            arguments.pop("cloud_config", self.infra.cloud_config), *flags, name=name, **arguments))
        self._managers.append(self.manager)
        return self.manager

    def crash_manager(self):
        """SIGKILL; whoever is started next need not wait until its lease is over."""
        self.manager.process.kill()
        self.k8s.client.request("DELETE", kube.LEASE)

    def join(self, *machines):
        """The machines become Nodes; waits until they are initialized."""
        for each in machines:
            self.kubelets.join(each)
        for each in machines:
            until(lambda each=each: not kube.is_tainted(self.k8s.node(each.name)),
                  what=f"{each.name} initialized")
        self._at_first = self._at_first or machines

    def settle(self):
        """Waits until the manager sends to all Nodes that there are."""
        manifest = {"apiVersion": "v1", "kind": "Service",
                    "metadata": {"name": "settle", "namespace": "default"},
                    "spec": {"type": "LoadBalancer", "ports": [{"port": 1}]}}
        self.apply(manifest)
        wanted = {each.v4 for each in self._at_first}
        until(lambda: self.targets("settle") == wanted, 40, "all Nodes are targets")
        self.remove_services()
        self.k8s.delete_all(kube.EVENTS)

    def is_spoilt(self):
        """Whether it cannot be what it was in the beginning: the last Node, for one, stays a target
        until there is another, so there is no way back to none."""
        has_its_first_nodes = not self._at_first and self.k8s.items(kube.NODES)
        return (self._is_spoilt or len(self._managers) != 1 or not self.infra.process.running
                or not self.manager.process.running or has_its_first_nodes)

    def restore(self):
        """As it was in the beginning; AssertionError when something of Services stays behind."""
        for machine in self.net.machines:
            machine.make_well()
        self.kubelets.has_pods = None
        self.kubelets.proxy = "everywhere"
        self.remove_services()
        excluded = self.k8s.items(kube.NODES, labelSelector=EXCLUDED)
        for node in self.k8s.items(kube.NODES):
            self.k8s.patch(f"{kube.NODES}/{node['metadata']['name']}", {
                "metadata": {"labels": {EXCLUDED: None}}, "spec": {"unschedulable": None}})
        names = {node["metadata"]["name"] for node in self.k8s.items(kube.NODES)}
        wanted = {machine.name for machine in self._at_first}
        for machine in self.net.machines:
            if machine.name in names - wanted:
                self.kubelets.leave(machine)
        self.join(*(each for each in self._at_first if each.name not in names))
        self.k8s.delete_all(kube.EVENTS)
        if names != wanted or excluded:
            self.settle()

    def remove_services(self, seconds=20):
        """All of them, and waits until nothing is left of them."""
        for each in self.k8s.items(kube.SERVICES):
            if each["metadata"]["name"] != "kubernetes":
                self.k8s.delete(f"{kube.SERVICES}/{each['metadata']['name']}")

        def nothing():
            assert not self.balancers() and not self.held() and not self.net.bound()
            rules = Rules(self.net)
            assert not rules.listeners() and not rules.guarded() and not rules.notes()
        until(nothing, seconds, "nothing is left")
        self.k8s.remove_services()  # Those that somebody else keeps.

    def end(self):
        self._stage.close()

    # --- Services ---------------------------------------------------------------------------------

    def apply(self, *manifests):
        for manifest in manifests:
            self.kubectl("apply", "-f", "-", input=json.dumps(manifest))

    def serve(self, manifest, seconds=20):
        """Applies a Service; see `served`."""
        self.apply(manifest)
        return self.served(manifest["metadata"]["name"], seconds)

    def served(self, name, seconds=20):
        """The addresses of a Service (see `ready`), once machines it goes to are known and
        listen."""
        addresses = self.ready(name, seconds)
        until(lambda: self.targets(name), seconds, f"targets of {name}")
        until(lambda: self.kubelets.serve(self.service(name)), what="machines that listen")
        return addresses

    def service(self, name):
        return self.k8s.service(name)

    def addresses(self, name):
        """{family: address} of the Service's status."""
        ingress = self.service(name)["status"]["loadBalancer"].get("ingress", [])
        return {6 if ":" in each["ip"] else 4: each["ip"] for each in ingress}

    def ready(self, name, seconds=20):
        """The addresses, once there is one for each of the Service's families."""
        def complete():
            service = self.service(name)
            found = self.addresses(name)
            assert len(found) == len(service["spec"]["ipFamilies"]), self.tell(name)
            return found
        return until(complete, seconds, f"addresses of {name}")

    def events(self, name, reason=None, kind=None):
        """Those of the manager; the API server has its own."""
        return [event for event in self.k8s.events(name, reason, kind, about="Service")
                if event["source"].get("component") == "service-controller"]

    def warned(self, name, *words, reason=None, seconds=20):
        """The newest Warning about a Service that has all these words, once there is one."""
        def found():
            events = [event for event in self.events(name, reason, "Warning")
                      if all(word in event["message"] for word in words)]
            assert events, f"no warning with {words}; {self.tell(name)}"
            return events[-1]
        return until(found, seconds, f"a warning about {name}")

    def patch(self, name, body):
        return self.k8s.patch(f"{kube.SERVICES}/{name}", body)

    def delete(self, name, seconds=20):
        """Asks for its deletion, as kubectl does without waiting, and waits until it is gone."""
        self.k8s.delete(f"{kube.SERVICES}/{name}")
        until(lambda: self.k8s.get_or_none(f"{kube.SERVICES}/{name}") is None, seconds,
              f"{name} gone")

    def tell(self, name):
        """For people who read why a test has failed."""
        told = [f"{event['type']} {event['reason']}: {event['message']}"
                for event in self.events(name)]
        return f"{name}: status {self.service(name)['status']}, events {told}"

    # --- The backend ------------------------------------------------------------------------------

    def balancers(self):
        return self.infra.client.request("GET", BALANCERS).json()["items"]

    def balancer(self, name):
        """The load balancer of the Service of that name, with all of its status; None: none."""
        full_name = next(
            (each["metadata"]["name"] for each in self.balancers()
             if each["metadata"]["labels"].get("isthmus.dev/service-name") == name), None)
        if full_name is None:
            return None
        answer = self.infra.client.request("GET", f"{BALANCERS}/{full_name}")
        return answer.json() if answer.status == 200 else None

    def held(self):
        """The addresses that are held for load balancers."""
        items = self.infra.client.request("GET", "/v1/owners/local/addresses").json()["items"]
        return {item["metadata"]["name"] for item in items if item["status"]["state"] == "held"}

    def targets(self, name):
        """The addresses that a Service's load balancer sends to."""
        balancer = self.balancer(name) or {"status": {}}
        return {target["address"] for target in balancer["status"].get("targetHealth", [])}

    def health(self, name):
        """{machine: what its addresses' checks say} of a Service's load balancer."""
        balancer = self.balancer(name) or {"status": {}}
        said = {}
        for target in balancer["status"].get("targetHealth", []):
            machine = next((each.name for each in self.net.machines
                            if target["address"] in (each.v4, each.v6)), target["address"])
            said.setdefault(machine, set()).add(target["health"])
        return said

    def until_well(self, name, machines, seconds=20):
        """Waits until these machines pass all health checks and no other passes any."""
        def judged():
            said = self.health(name)
            assert {machine for machine, health in said.items() if health == {"healthy"}} == set(
                machines), said
            assert all(health in ({"healthy"}, {"unhealthy"}) for health in said.values()), said
        until(judged, seconds, f"exactly {machines} are well for {name}")

    def infra_metric(self, name, **labels):
        return metric(self.infra.client.request("GET", "/metrics").text, name, **labels)


def inventory_line(each):
    return machine(each.name, addresses=[{"type": "InternalIP", "address": each.v4},
                                         {"type": "InternalIP", "address": each.v6}])
