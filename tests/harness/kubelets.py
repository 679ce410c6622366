"""Stand-ins for a kubelet and a kube-proxy on each machine of a topology, as far as a manager and
load balancers can tell them from real ones.

A machine that joins is registered as a Node of its name, tainted, and reports its readiness every
now and then. It listens on what kube-proxy would: the node ports of all Services, TCP and UDP, the
health ports of those with externalTrafficPolicy Local, and 10256; and on the kubelet's 10250.
"""

import http.client
import threading
import time

from . import kube
from .wait import PAUSE_SECONDS

PROXY_PORT, KUBELET_PORT = 10256, 10250

# A real kubelet reports every ten seconds; nothing may depend on how often.
REPORT_SECONDS = 2


class Kubelets:
    """Works in a thread of its own until end(); an error there is raised by the next call.

    - join(machine): its Node registers. leave(machine): its Node is deleted, the machine stays.
    - has_pods: names of the machines that have pods of Services with externalTrafficPolicy Local;
      the others do not serve those. None: all have.
    - proxy: where kube-proxy's health port listens: "everywhere", "loopback" or "nowhere".
    """

    def __init__(self, k8s):
        self.has_pods = None
        self.proxy = "everywhere"
        self._kube = k8s
        self._machines = {}
        self._shown = {}  # What each machine was last told to listen on.
        self._failed = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def join(self, machine, **node):
        """`node`: as kube.node takes it."""
        self._must_work()
        made = self._kube.register(machine.name, status={
            "daemonEndpoints": {"kubeletEndpoint": {"Port": KUBELET_PORT}},
            "conditions": [ready_condition(True)]}, **node)
        self._machines[machine.name] = machine
        return made

    def leave(self, machine):
        self._must_work()
        self._machines.pop(machine.name)
        self._kube.delete(f"{kube.NODES}/{machine.name}")

    def serve(self, service):
        """Whether all machines that should listen on a Service's node ports do."""
        self._must_work()
        for machine in self._machines.values():
            _, shown = self._shown.get(machine.name, (0, []))
            if any(port not in shown for port in self._ports_of(machine, service["spec"])):
                return False
        return True

    def end(self):
        self._over.set()
        self._thread.join(30)
        self._must_work()

    def _must_work(self):
        if self._failed:
            raise self._failed

    def _run(self):
        try:
            while not self._over.is_set():
                try:
                    self._follow()
                except (OSError, http.client.HTTPException, kube.Refused):
                    self._over.wait(PAUSE_SECONDS)  # The API server is away for a while.
        except Exception as reason:  # pylint: disable=broad-exception-caught
            self._failed = reason

    def _follow(self):
        """As long as one watch of Services lasts: the watch says when to look, the list what is."""
        report_at = 0
        seen = None
        with self._kube.watch(kube.ALL_SERVICES) as changes:
            while not self._over.is_set() and not changes.over:
                state = (len(changes.seen), self.proxy, self.has_pods, len(self._machines))
                if state != seen or time.monotonic() >= report_at:
                    self._listen(self._kube.items(kube.ALL_SERVICES))
                    seen = state
                if time.monotonic() >= report_at:
                    self._report()
                    report_at = time.monotonic() + REPORT_SECONDS
                self._over.wait(PAUSE_SECONDS)

    def _listen(self, services):
        for machine in list(self._machines.values()):
            ports = self._ports(machine, services)
            shown = (machine.process.pid, ports)
            if self._shown.get(machine.name) == shown:
                continue
            try:
                machine.set_ports(ports)
                self._shown[machine.name] = shown
            except OSError:
                self._shown.pop(machine.name, None)  # It is stopped; told later.

    def _ports(self, machine, services):
        ports = [{"protocol": "TCP", "port": KUBELET_PORT}]
        if self.proxy != "nowhere":
            address = {"address": "127.0.0.1"} if self.proxy == "loopback" else {}
            ports.append({"protocol": "TCP", "port": PROXY_PORT, "status": 200, **address})
        for service in services:
            ports += self._ports_of(machine, service["spec"])
        return ports

    def _ports_of(self, machine, spec):
        is_local = spec.get("externalTrafficPolicy") == "Local"
        has_pods = self.has_pods is None or machine.name in self.has_pods
        ports = []
        if is_local and "healthCheckNodePort" in spec:
            ports.append({"protocol": "TCP", "port": spec["healthCheckNodePort"],
                          "status": 200 if has_pods else 503})
        if has_pods or not is_local:
            ports += [{"protocol": port["protocol"], "port": port["nodePort"]}
                      for port in spec.get("ports", [])
                      if "nodePort" in port and port["protocol"] in ("TCP", "UDP")]
        return ports

    def _report(self):
        for machine in list(self._machines.values()):
            try:
                status = machine.control.request("GET", "/health").json()["status"]
            except OSError:
                continue  # A machine that hangs reports nothing.
            self._kube.client.request(
                "PATCH", f"{kube.NODES}/{machine.name}/status",
                body={"status": {"conditions": [ready_condition(status == 200)]}},
                headers={"Content-Type": kube.STRATEGIC})


def ready_condition(is_ready):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"type": "Ready", "status": "True" if is_ready else "False", "reason": "Test",
            "message": "said by a stand-in", "lastHeartbeatTime": now, "lastTransitionTime": now}
