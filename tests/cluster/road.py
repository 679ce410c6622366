"""The whole road in a real cluster: pods, the manager, a backend on some host, Services."""

import json
import os

from cluster import CLUSTER_CIDR, MACHINES, failures
from harness.isthmus import Infra, metric, write_cloud_config
from harness.processes import Stage
from harness.rules import Rules
from harness.wait import until
from manifests import echo_everywhere, echo_on

FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
POOL = "public"
OWNER = "prod"
TOKEN = "prod-secret-token"

# Reasons of a Service's Events.
REPAIRED = "LoadBalancerRepaired"
MADE_ANEW = "LoadBalancerRecreated"
REFUSED = "SyncLoadBalancerFailed"
NO_LOCAL_TARGET = "NoLocalTarget"


class Road:
    """Attributes: cluster, host (the backend's namespace), infra, manager (its Process)."""

    def __init__(self, cluster, name, host, *, driver, interface, ranges, machines=MACHINES,
                 routes=True, flags=()):
        """machines: the inventory, None for a backend without one; interface: the host's, where
        addresses are; routes: whether it makes those to the pods."""
        self.cluster = cluster
        self.host = host
        self.interface = interface
        self._name = name
        self._flags = flags
        self._stage = Stage()
        directory = os.path.join(cluster.directory, name)
        pools = [{"name": POOL, "ranges": ranges, "coolDown": "1s"}] if ranges else []
        owner = {"name": OWNER, "tokenFile": os.path.join(directory, "token"),
                 "pools": [pool["name"] for pool in pools]}
        if routes:
            owner["routes"] = {"destinations": [CLUSTER_CIDR]}
            self._flags = [f"--cluster-cidr={CLUSTER_CIDR}", *flags]
        self.infra = self._stage.add(Infra(
            directory, machines or (), inside=host, start=False,
            host={"name": name, "driver": driver}, owners=[owner], pools=pools))
        with open(owner["tokenFile"], "w", encoding="utf-8") as file:
            file.write(TOKEN + "\n")
        self.infra.client.token = TOKEN
        write_cloud_config(self.infra.cloud_config, self.infra.url, tokenFile=owner["tokenFile"])
        if machines is None:
            config = self.infra.read_config()
            del config["inventory"]
            self.infra.write_config(config)
        self.manager = None

    def start(self):
        self.infra.start()
        self.manager = self._stage.add(
            self.cluster.manager(self.infra, *self._flags, name=f"{self._name}-manager"))
        self.start_pods()

    def start_routes(self):
        """A manager of routes alone, for a story whose own makes none: it asks this backend, or one
        on the nodes' router where this one stands elsewhere."""
        infra = self.infra
        if self.host is not self.cluster.router:
            router = self._stage.add(Road(self.cluster, "routes", self.cluster.router,
                                          driver="nft", interface="front", ranges=[]))
            router.infra.start()
            infra = router.infra
        self._stage.add(self.cluster.manager(
            infra, f"--cluster-cidr={CLUSTER_CIDR}", "--controllers=node-route-controller",
            "--leader-elect=false", "--secure-port=0", name=f"{self._name}-routes"))

    def start_pods(self, single="node2"):
        """The pods of "echo" run on every Node, the one of "single" on this one."""
        self.cluster.apply(echo_everywhere(), echo_on(single))
        for workload in ("daemonset/echo", "deployment/single"):
            self.cluster.kubectl("rollout", "status", workload, "--timeout=60s")

    def end(self):
        self._stage.close()

    # --- Services ---------------------------------------------------------------------------------

    def service(self, name):
        return self.cluster.get("service", name)

    def ingress(self, name):
        return self.service(name)["status"]["loadBalancer"].get("ingress", [])

    def address(self, name, seconds=20):
        """What the status of a Service says, once it says something."""
        (ingress,) = until(lambda: self.ingress(name), seconds, f"{name} has an address")
        assert ingress["ipMode"] == "VIP"
        return ingress["ip"]

    def told(self, name, reason):
        """Messages of the Service's Events of this reason."""
        return [event["message"] for event in self.cluster.events("Service", name, reason)]

    def until_told(self, name, reason, seconds=20):
        """The messages, once there are any."""
        return until(lambda: self.told(name, reason), seconds,
                     f"{name} has an event of reason {reason}")

    def patch(self, name, **spec):
        self.cluster.kubectl("patch", "service", name, "--type=merge", "-p",
                             json.dumps({"spec": spec}))

    def delete(self, *names):
        """Gone when it returns, and so are the load balancers: a finalizer stands before."""
        self.cluster.kubectl("delete", "service", *names, "--ignore-not-found", "--timeout=60s")

    # --- Traffic ----------------------------------------------------------------------------------

    def answers(self, address, port=80, *, seconds=20, **how):
        """Those to several new flows, once none of them fails."""
        def ask():
            seen = self.cluster.ask(address, port, timeout=1, **how)
            assert not failures(seen), seen
            return seen
        return until(ask, seconds, f"{address}:{port} answers")

    def until_pods_reach_each_other(self, seconds=30):
        """From every Node, and from the router, to the pods of all Nodes."""
        pods = self.cluster.items("pods", "--selector=app=echo")
        addresses = {pod["spec"]["nodeName"]: pod["status"]["podIP"] for pod in pods}
        for inside in (self.cluster.router, *self.cluster.nodes.values()):
            for node, address in addresses.items():
                answers = self.answers(address, 8080, count=1, inside=inside, seconds=seconds)
                assert answers[0]["machine"] == node, answers

    def kernel_routes(self):
        """Ours on the router, by another road: {destination: next hop}."""
        text = self.cluster.router.run("ip", "-4", "route", "show", "proto", "66")
        lines = [line.split() for line in text.splitlines()]
        return {line[0]: line[line.index("via") + 1] for line in lines}

    def is_silent(self, address, port=80, **how):
        """Whether a few new flows all fail."""
        seen = self.cluster.ask(address, port, count=2, timeout=0.5, **how)
        return len(failures(seen)) == len(seen)

    # --- The backend and the kernel ---------------------------------------------------------------

    def balancers(self):
        return self.infra.client.request("GET", f"/v1/owners/{OWNER}/loadbalancers").json()["items"]

    def balancer(self):
        """The only one."""
        (only,) = self.balancers()
        return only

    def addresses(self):
        """{address: "held" or "cooling"} of the store."""
        items = self.infra.client.request("GET", f"/v1/owners/{OWNER}/addresses").json()["items"]
        return {each["metadata"]["name"]: each["status"]["state"] for each in items}

    def backend_metric(self, name, **labels):
        return metric(self.infra.client.request("GET", "/metrics").text, name, **labels)

    def repairs(self, kind):
        """The manager's count of what it put right or saw put right."""
        return self.cluster.metric("isthmus_load_balancer_repairs_total", kind=kind) or 0

    def set_ranges(self, *ranges):
        config = self.infra.read_config()
        config["pools"][0]["ranges"] = ranges
        self.infra.write_config(config)

    def rules(self):
        return Rules(self)

    def must_be_empty(self):
        """Our table, as long as a backend runs, is there, and nothing of a load balancer in it."""
        rules = self.rules()
        left = (rules.listeners() | rules.served() | rules.guarded() | rules.masqueraded()
                | rules.notes())
        assert not left, left

    def kernel(self):
        """The nft document of our table, or None."""
        output = self.host.run("nft", "-j", "list", "table", "inet", "isthmus", check=False)
        return json.loads(output)["nftables"] if output else None

    def bound(self):
        """Single addresses on the host's interface."""
        output = json.loads(self.host.run("ip", "-j", "address", "show", "dev", self.interface))
        return {info["local"] for link in output for info in link["addr_info"]
                if info["prefixlen"] == 32}


class Foreign:
    """Things of somebody else's on a host: a table, an address, a route. How it all looked before
    the backend came is `before`."""

    ADDRESS = "10.77.9.9"
    ROUTE = "198.51.100.0/24"

    def __init__(self, host, interface, gateway):
        self.host = host
        self.interface = interface
        host.run("nft", "-f", "-", stdin="""table inet theirs {
            set friends { type ipv4_addr; elements = { 10.77.0.10, 10.77.0.20 } }
            chain input { type filter hook input priority 10; ip saddr @friends accept; }
        }""")
        host.ip(f"address add {self.ADDRESS}/32 dev {interface}",
                f"route add {self.ROUTE} via {gateway}")
        self.before = self.look()

    def must_be_alone(self):
        now = self.look()
        changed = {key: now[key] for key in now if now[key] != self.before[key]}
        assert not changed, changed

    def look(self):
        """Their table, and all addresses and routes of the interface, none of ours among them."""
        return {"theirs": self.host.run("nft", "-s", "list", "table", "inet", "theirs"),
                "addresses": self.host.run("ip", "-4", "address", "show", "dev", self.interface),
                "routes": self.host.run("ip", "-4", "route", "show", "dev", self.interface),
                "rules": self.host.run("ip", "-4", "rule")}

    def end(self):
        self.host.run("nft", "delete", "table", "inet", "theirs")
        self.host.ip(f"address del {self.ADDRESS}/32 dev {self.interface}",
                     f"route del {self.ROUTE}")
