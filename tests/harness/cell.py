"""A whole cluster whose machines are only names: a real API server, the backend with its load balancer
host in a namespace of its own, heartbeats, and managers that reach the backend through a liar.

For stories about what becomes of Nodes; nothing answers at their addresses, and nobody asks.
"""

import os

from . import kube
from .apiserver import ApiServer
from .heartbeats import Heartbeats
from .isthmus import Infra, Manager, machine, write_cloud_config
from .kubelets import ready_condition
from .liar import Liar
from .netns import World
from .processes import Stage
from .wait import until

ZONES = ("rack-1", "rack-2", "rack-3")
POD_CIDR = "10.244.0.0/16"
# Managers have the routes kept as well with these.
ROUTE_FLAGS = [f"--cluster-cidr={POD_CIDR}", "--configure-cloud-routes=true"]
TOKEN = "token-of-the-owner"
BALANCERS = "/v1/owners/prod/loadbalancers"
TARGET_SETS = "/v1/owners/prod/targetsets"
ROUTE_TABLES = "/v1/owners/prod/routetables"


class Cell:
    """Attributes: server, k8s, infra, liar (in front of it), heartbeats, names (of the Nodes)."""

    def __init__(self, directory, count, *, server=None):
        """server: an ApiServer that is there; default: one of its own."""
        self.directory = str(directory)
        os.makedirs(self.directory, exist_ok=True)
        self.names = [f"node{i}" for i in range(1, count + 1)]
        self._retired = set()
        self._power = {}
        self._stage = Stage()
        try:
            self.server = server or self._stage.add(ApiServer(self._made("apiserver")))
            self.k8s = self.server.kube
            self.infra = self._make_infra()
            self.liar = self.make_liar("liar")
            self.heartbeats = self._stage.add(Heartbeats(self.server.server, self.server.ca))
        except BaseException:
            self.end()
            raise

    def _made(self, name):
        path = os.path.join(self.directory, name)
        os.makedirs(path)
        return path

    def _make_infra(self):
        host = self._stage.add(World(self.directory)).namespace("host")
        # A cable whose other end nobody listens at.
        host.ip("link add eth0 type veth peer name far", "link set far up", "link set eth0 up",
                "address add 10.77.0.2/16 dev eth0")
        host.write_settings({"ipv4/ip_forward": 1, "ipv6/conf/all/forwarding": 1})
        self._token = os.path.join(self.directory, "token")
        with open(self._token, "w", encoding="utf-8") as file:
            file.write(TOKEN)
        infra = Infra(
            os.path.join(self.directory, "infra"), self.machines(), inside=host,
            host={"name": "lb1", "driver": "nft", "probe": "50ms"},
            pools=[{"name": "public", "ranges": ["10.77.9.0/24"], "interface": "eth0"}],
            owners=[{"name": "prod", "tokenFile": self._token, "pools": ["public"],
                     "routes": {"destinations": [POD_CIDR]}}])
        infra.client.token = TOKEN
        return self._stage.add(infra)

    def make_liar(self, name):
        """One more way to the backend. Its cloud_config is what a manager is given."""
        path = os.path.join(self.directory, name + ".sock")
        liar = self._stage.add(Liar(path, self.infra.socket))
        liar.cloud_config = write_cloud_config(
            os.path.join(self.directory, name + ".yaml"), "unix://" + path,
            tokenFile=self._token)
        return liar

    def start_manager(self, *flags, name="manager", liar=None, kubeconfig=None, start=True):
        return self._stage.add(Manager(
            self.directory, kubeconfig or self.server.manager_kubeconfig,
            (liar or self.liar).cloud_config, *flags, name=name, start=start))

    def end(self):
        self._stage.close()

    # --- Machines and Nodes -------------------------------------------------------------------------

    def join(self, *names, **node):
        """Registers Nodes that are Ready and beat, and waits until they are initialized."""
        for name in names:
            self.register(name, **node)
        self.heartbeats.start(*names)
        self.initialized(*names)

    def register(self, name, **node):
        """As its kubelet does."""
        number = int(name.removeprefix("node"))
        body = kube.node(name, status={"conditions": [ready_condition(True)]}, **node)
        body["spec"]["podCIDR"] = f"10.244.{number}.0/24"
        body["spec"]["podCIDRs"] = [body["spec"]["podCIDR"]]
        return self.k8s.create(kube.NODES, body)

    def initialized(self, *names, seconds=60):
        def all_are():
            nodes = {each["metadata"]["name"]: each for each in self.k8s.items(kube.NODES)}
            left = [name for name in names if kube.is_tainted(nodes[name])]
            assert not left, f"{len(left)} Nodes are still tainted"
        until(all_are, seconds, "Nodes initialized")

    def say_ready(self, is_ready, *names):
        """The Ready condition, as a kubelet or, once it is silent, the node controller writes it."""
        for name in names:
            condition = ready_condition(is_ready)
            if not is_ready:
                condition["status"] = "Unknown"
            self.k8s.patch(f"{kube.NODES}/{name}/status", {"status": {"conditions": [condition]}},
                           kube.STRATEGIC)

    def die(self, *names):
        """Their kubelets fall silent, and the cluster has noticed."""
        self.heartbeats.stop(*names)
        self.say_ready(False, *names)

    def retire(self, *names):
        """The cloud says for good that they are gone."""
        self._retired |= set(names)
        self.infra.set_machines(self.machines())

    def set_power(self, name, power):
        """"running" or "stopped", as the cloud says."""
        self._power[name] = power
        self.infra.set_machines(self.machines())

    def machines(self):
        return [machine(name, address=f"10.77.{1 + i // 250}.{1 + i % 250}", region="home",
                        zone=ZONES[i % len(ZONES)], power=self._power.get(name, "running"),
                        **({"state": "retired"} if name in self._retired else {}))
                for i, name in enumerate(self.names)]

    def there(self):
        """Names of the Nodes that there are."""
        return {each["metadata"]["name"] for each in self.k8s.items(kube.NODES)}

    # --- What the backend has -----------------------------------------------------------------------

    def ask(self, path):
        answer = self.infra.client.request("GET", path)
        assert answer.status == 200, answer.text
        return answer.json()

    def serve(self, name="web"):
        """A Service with an address, so that Nodes are targets of something."""
        self.k8s.create(kube.SERVICES, {
            "metadata": {"name": name},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "protocol": "TCP"}]}})
        until(lambda: "ingress" in self.k8s.service(name)["status"]["loadBalancer"], 60,
              f"an address of {name}")

    def targets(self):
        """Names of the Nodes that load balancers send to."""
        return {target["name"] for each in self.ask(TARGET_SETS)["items"]
                for target in each["spec"]["targets"]}

    def routes(self):
        """Names of the Nodes that have a route to their pods on the host."""
        number = {f"10.244.{name.removeprefix('node')}.0/24": name for name in self.names}
        return {number[route["destination"]] for each in self.ask(ROUTE_TABLES)["items"]
                for route in each["status"]["routes"] if route["state"] == "applied"}

    def balancers(self):
        return {each["metadata"]["name"] for each in self.ask(BALANCERS)["items"]}

    # --- What the manager says ----------------------------------------------------------------------

    def told(self, *reasons):
        """Events of these reasons about Nodes."""
        return [event for event in self.k8s.items(kube.EVENTS)
                if event["involvedObject"]["kind"] == "Node" and event["reason"] in reasons]

