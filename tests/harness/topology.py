"""The two networks a load balancer host stands in, made of namespaces.

routed: the host is the machines' gateway, so what they answer comes back through it.

    client 10.77.0.10 ---- 10.77.0.2 host 10.88.0.1 ---- 10.88.0.11 machine 1
           fd77::10          fd77::2      fd88::1    \\--- 10.88.0.12 machine 2 …

flat: client, host and machines share one subnet, and the gateway is somebody else.

    client .10, host .2, gateway .1, machines .11, .12, … of 10.99.0.0/24 and fd99::/64
    far 10.66.0.10 ---- 10.66.0.1 gateway

Addresses for load balancers are the .192/26 (::c0/122) of the network the client is in. The client
has .20 to .39 too (::20 to ::39), so that it can be many. Where it is routed, the first machine
answers at all of 10.88.4.0/22 and fd88:4::/64 too, so that it can be a thousand.
"""

import contextlib
import dataclasses
import json
import os
import signal
import sys

from . import rest, wait
from .netns import Namespace, World
from .processes import Process, Stage

_HERE = os.path.dirname(os.path.abspath(__file__))

# How long flows.py may take to say something; it gives up a flow after two seconds.
ANSWER_SECONDS = 60


@dataclasses.dataclass
class Machine:
    """A machine that answers on port 8080 (HTTP and UDP) with its name and who asked."""
    name: str
    v4: str
    v6: str
    namespace: Namespace
    port: tuple = None  # (the switch it is plugged into, the port there)
    control: rest.Client = None  # The responder's control socket.
    process: Process = None

    def address(self, family):
        return self.v4 if family == 4 else self.v6

    def set_health(self, status):
        answer = self.control.request("PUT", "/health", body={"status": status})
        assert answer.status == 200, answer.text

    def set_ports(self, ports):
        """What it listens on besides 8080, as responder.py wants it. OSError: it does not answer."""
        answer = self.control.request("PUT", "/ports", body=ports)
        assert answer.status == 200, answer.text

    def cut(self):
        """Pulls its cable."""
        self._set_port("down")

    def make_well(self):
        """Its cable is plugged in, its application runs and says that it is healthy."""
        self._set_port("up")
        self.make_application_well()

    def make_application_well(self):
        self.process.send(signal.SIGCONT)
        self.set_health(200)

    def _set_port(self, state):
        switch, name = self.port
        switch.ip(f"link set {name} {state}")


class Topology:
    """One network. Attributes: world, client, host, machines, prefix4, prefix6, flat, clients (a
    list of the client's addresses for each family: {4: […], 6: […]})."""

    PORT = 8080

    def __init__(self, directory, *, flat=False, machines=3, rootless=None):
        self.flat = flat
        self.directory = str(directory)
        self._stage = Stage()
        self.world = self._stage.add(World(directory, rootless=rootless))
        self.outside = self._make_switch("outside")
        self.inside = self.outside if flat else self._make_switch("inside")
        front = ("10.99.0", "fd99") if flat else ("10.77.0", "fd77")
        back = front if flat else ("10.88.0", "fd88")
        self.prefix4, self.prefix6 = front
        self.client = self._join("client", self.outside, front, 10)
        self._make_clients(front)
        self.host = self._join("host", self.outside, front, 2)
        self.host.write_settings({"ipv4/ip_forward": 1, "ipv6/conf/all/forwarding": 1})
        if flat:
            self.gateway = self._join("gateway", self.outside, front, 1)
            self._make_far()
        else:
            self._plug(self.host, self.inside, "eth1", back, 1)
            self.client.ip(f"route add default via {front[0]}.2",
                           f"route add ::/0 via {front[1]}::2")
        self.machines = [self._make_machine(i, back) for i in range(1, machines + 1)]
        if not flat:
            self._make_many()

    def reset(self):
        """As it was in the beginning, but for what tests added to namespaces other than the
        host's and what they routed."""
        self.host.run("sh", "-c", "nft flush ruleset; ip route flush proto 66; "
                      "ip -6 route flush proto 66; conntrack -F 2>/dev/null; true")
        if left := self.bound():
            self.host.ip(*(f"address del {address} dev eth0" for address in left))
        self.host.write_settings({"ipv4/ip_forward": 1, "ipv6/conf/all/forwarding": 1})
        self.inside.ip(*(f"link set {machine.port[1]} up" for machine in self.machines))
        for machine in self.machines:
            machine.make_application_well()
            machine.set_ports([])

    def vip(self, number=0, family=4):
        """An address for a load balancer, by number."""
        if family == 4:
            return f"{self.prefix4}.{192 + number}"
        return f"{self.prefix6}::{192 + number:x}"

    def pool(self, **more):
        """The pool of those addresses, as the configuration writes it."""
        return {"name": "public", "coolDown": "2s",
                "ranges": [f"{self.prefix4}.192/26", f"{self.prefix6}::c0/122"], **more}

    def many(self, count, family=4):
        """As many addresses of the first machine, at which it answers too."""
        if family == 4:
            return [f"10.88.{4 + i // 250}.{1 + i % 250}" for i in range(count)]
        return [f"fd88:4::{1 + i:x}" for i in range(count)]

    def host_address(self, family=4):
        """What machines know the host by."""
        if self.flat:
            return f"{self.prefix6}::2" if family == 6 else f"{self.prefix4}.2"
        return "fd88::1" if family == 6 else "10.88.0.1"

    @contextlib.contextmanager
    def claimed(self, address):
        """While it lasts, the client has an address and answers for it on the link."""
        added = f"{address}/{128 if ':' in address else 32} dev eth0"
        self.client.ip(f"address add {added}" + (" nodad" if ":" in address else ""))
        try:
            yield
        finally:
            self.client.ip(f"address del {added}")

    def ask(self, address, port=PORT, *, udp=False, count=1, sources=(), timeout=2, path="/",
            namespace=None):
        """Who answered: a list of {"machine", "client", "local"} or {"error"}, one per new flow.
        With `sources`, addresses of the client's, that many flows from each."""
        argv = [sys.executable, "-B", os.path.join(_HERE, "flows.py"), address, str(port),
                "--count", str(count), "--timeout", str(timeout), "--path", path]
        argv += ["--udp"] if udp else []
        argv += [word for source in sources for word in ("--source", source)]
        output = (namespace or self.client).run(
            *argv, seconds=60 + count * timeout * max(len(sources), 1))
        return [json.loads(line) for line in output.splitlines()]

    def ping(self, address, seconds=2):
        """Whether an address answers to an echo request of the client's."""
        argv = [sys.executable, "-B", os.path.join(_HERE, "ping.py"), address, str(seconds)]
        return self.client.run(*argv).strip() == "answered"

    def talk(self, address, port=PORT, *, udp=False):
        """A flow that stays: a Talk, to be used as a context manager."""
        return Talk(self, address, port, udp)

    def asking(self, address, port=PORT):
        """New flows one after the other until it is stopped: a Load, likewise."""
        return Load(self, address, port)

    def kernel(self):
        """What the kernel holds, by another road than ours: the table's nft document or None."""
        output = self.host.run("nft", "-j", "list", "table", "inet", "isthmus", check=False)
        return json.loads(output)["nftables"] if output else None

    def bound(self):
        """The addresses on the host that are load balancers' (single ones on a link)."""
        output = json.loads(self.host.run("ip", "-j", "address"))
        return {info["local"] for link in output for info in link["addr_info"]
                if link["ifname"] != "lo" and info["prefixlen"] in (32, 128)}

    def _make_switch(self, name):
        switch = self.world.namespace(name)
        switch.ip("link add bridge type bridge", "link set bridge up")
        return switch

    def _join(self, name, switch, network, number):
        namespace = self.world.namespace(name)
        self._plug(namespace, switch, "eth0", network, number)
        return namespace

    def _make_clients(self, network):
        v4, v6 = network
        self.clients = {4: [f"{v4}.{i}" for i in range(20, 40)],
                        6: [f"{v6}::{i}" for i in range(20, 40)]}
        self.client.ip(*(f"address add {address}/24 dev eth0" for address in self.clients[4]),
                       # Not preferred: who names no source still comes from ::10.
                       *(f"address add {address}/64 dev eth0 nodad preferred_lft 0"
                         for address in self.clients[6]))

    def _make_many(self):
        machine = self.machines[0]
        machine.namespace.ip("route add local 10.88.4.0/22 dev lo",
                             "route add local fd88:4::/64 dev lo")
        self.host.ip(f"route add 10.88.4.0/22 via {machine.v4}",
                     f"route add fd88:4::/64 via {machine.v6}")

    def _plug(self, namespace, switch, interface, network, number):
        port = f"p{len(self.world.namespaces)}-{interface}"
        self.world.link(switch, port, namespace, interface)
        switch.ip(f"link set {port} master bridge up")
        v4, v6 = network
        namespace.ip(f"link set {interface} up", f"address add {v4}.{number}/24 dev {interface}",
                     f"address add {v6}::{number}/64 dev {interface} nodad")
        return switch, port

    def _make_far(self):
        """A client behind the gateway."""
        self.far = self.world.namespace("far")
        self.world.link(self.gateway, "behind", self.far, "eth0")
        self.gateway.write_settings({"ipv4/ip_forward": 1})
        self.gateway.ip("link set behind up", "address add 10.66.0.1/24 dev behind")
        self.far.ip("link set eth0 up", "address add 10.66.0.10/24 dev eth0",
                    "route add default via 10.66.0.1")
        self.host.ip(f"route add default via {self.prefix4}.1")

    def _make_machine(self, number, network):
        name = f"machine{number}"
        namespace = self.world.namespace(name)
        port = self._plug(namespace, self.inside, "eth0", network, 10 + number)
        namespace.ip(f"route add default via {network[0]}.1",
                     f"route add ::/0 via {network[1]}::1")
        machine = Machine(name, f"{network[0]}.{10 + number}", f"{network[1]}::{10 + number}",
                          namespace, port)
        self.start_machine(machine)
        return machine

    def start_responder(self, name, namespace):
        """What listens on every address of a namespace: its Machine, without addresses."""
        machine = Machine(name, "", "", namespace)
        self.start_machine(machine)
        return machine

    def start_machine(self, machine):
        """Starts its responder, again after it was ended."""
        path = os.path.join(self.directory, machine.name + ".sock")
        machine.process = self._stage.add(Process(
            machine.name, machine.namespace.argv(
                sys.executable, "-B", os.path.join(_HERE, "responder.py"), machine.name, path,
                str(self.PORT)), os.path.join(self.directory, machine.name + ".log")))
        machine.control = rest.Client("unix://" + path, timeout=2)

        def answers():
            machine.process.must_run()
            try:
                return machine.control.request("GET", "/").status == 200
            except OSError:
                return False

        wait.until(answers, 20, machine.name)

    def end(self):
        self._stage.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def names(answers):
    """Which machines answered; an assertion error names what went wrong with any flow."""
    errors = [answer["error"] for answer in answers if "error" in answer]
    assert not errors, f"{len(errors)} of {len(answers)} failed: {errors[:5]}"
    return [answer["machine"] for answer in answers]


class _Client:
    """flows.py in the client's namespace, with pipes."""

    def __init__(self, net, address, port, *options):
        self._process = Process("flows", net.client.argv(
            sys.executable, "-B", os.path.join(_HERE, "flows.py"), address, str(port), *options),
            os.path.join(net.directory, "flows.log"), pipes=True)

    def _read(self):
        return json.loads(self._process.read_line(ANSWER_SECONDS))

    def end(self):
        self._process.end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Talk(_Client):
    """One flow that stays."""

    def __init__(self, net, address, port, udp):
        super().__init__(net, address, port, "--talk", *(["--udp"] if udp else []))

    def say(self):
        """What the other end answers to one more line: {"machine", …} or {"error"}."""
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        return self._read()


class Load(_Client):
    """New flows, one after the other, for as long as it lasts."""

    def __init__(self, net, address, port):
        super().__init__(net, address, port, "--until-eof")
        assert self._process.read_line(ANSWER_SECONDS) == b"asking\n"

    def stop(self):
        """How it went: {"asked", "failed", "errors"}."""
        self._process.stdin.close()
        return self._read()
