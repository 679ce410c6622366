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
from .wait import until

CLASS = "isthmus.dev/lb"
FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
BALANCERS = "/v1/owners/local/loadbalancers"


class Site:
    """Attributes: net, k8s, kubectl, infra, kubelets, manager (the last one that was started)."""

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
        self.infra = self._stage.add(Infra(
            os.path.join(self.directory, "infra"), [inventory_line(each) for each in net.machines],
            inside=net.host, host={"name": "lb1", "driver": driver, "probe": "50ms"},
            pools=pools or [self.pool()], **config))
        self.kubelets = self._stage.add(Kubelets(self.k8s))

    def pool(self, **more):
        return self.net.pool(sourceAddress="masquerade" if self.net.flat else "keep", **more)

    def set_pools(self, *pools):
        """As somebody who edits the configuration of the running backend."""
        self.infra.write_config({**self.infra.read_config(), "pools": list(pools)})

    def start_manager(self, *flags, name="manager", **arguments):
        self.manager = self._stage.add(Manager(
            self.directory, arguments.pop("kubeconfig", self.server.kubeconfig),
            arguments.pop("cloud_config", self.infra.cloud_config), *flags, name=name, **arguments))
        return self.manager

    def join(self, *machines):
        """The machines become Nodes; waits until they are initialized."""
        for each in machines:
            self.kubelets.join(each)
        for each in machines:
            until(lambda each=each: not kube.is_tainted(self.k8s.node(each.name)),
                  what=f"{each.name} initialized")

    def end(self):
        self._stage.close()

    # --- Services ---------------------------------------------------------------------------------

    def apply(self, *manifests):
        for manifest in manifests:
            self.kubectl("apply", "-f", "-", input=json.dumps(manifest))

    def serve(self, manifest, seconds=20):
        """Applies a Service and waits for its addresses: see `ready`."""
        self.apply(manifest)
        return self.ready(manifest["metadata"]["name"], seconds)

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
        return self.k8s.events(name, reason, kind, about="Service")

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
        uid = next((each["metadata"]["name"] for each in self.balancers()
                    if each["metadata"]["labels"].get("isthmus.dev/service-name") == name), None)
        if uid is None:
            return None
        answer = self.infra.client.request("GET", f"{BALANCERS}/{uid}")
        return answer.json() if answer.status == 200 else None

    def held(self):
        """The addresses that are held for load balancers."""
        items = self.infra.client.request("GET", "/v1/owners/local/addresses").json()["items"]
        return {item["metadata"]["name"] for item in items if item["status"]["state"] == "held"}

    def well(self, name):
        """The machines that pass all health checks of a Service's load balancer."""
        checked = {}
        for target in (self.balancer(name) or {"status": {}})["status"].get("targetHealth", []):
            checked.setdefault(target["address"], []).append(target["health"] == "healthy")
        return {machine.name for machine in self.net.machines
                if all(checked.get(machine.v4, []) + checked.get(machine.v6, []))
                and (machine.v4 in checked or machine.v6 in checked)}

    def until_well(self, name, machines, seconds=20):
        until(lambda: self.well(name) == set(machines), seconds,
              f"exactly {machines} are well for {name}")

    def infra_metric(self, name, **labels):
        return metric(self.infra.client.request("GET", "/metrics").text, name, **labels)


def inventory_line(each):
    return machine(each.name, addresses=[{"type": "InternalIP", "address": each.v4},
                                         {"type": "InternalIP", "address": each.v6}])
