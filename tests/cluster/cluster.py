"""A whole real cluster, as tests use it: its networks, kubectl, what runs beside it."""

import json
import os
import subprocess
import sys

from harness import programs, rights
from harness.isthmus import machine, metric
from harness.netns import Namespace
from harness.processes import Process

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "cluster.sh")
FLOWS = os.path.join(os.path.dirname(HERE), "harness", "flows.py")
NODES = ("node1", "node2", "node3")
ADDRESS = {name: f"192.168.50.{11 + i}" for i, name in enumerate(NODES)}

# One inventory for every run: a Node keeps its machine whichever backend is asked.
MACHINES = [machine(name, address=ADDRESS[name], zone=f"rack-{name[-1]}",
                    labels={"rack": name[-1]}) for name in NODES]

# Where the pods are: the controller manager gives each Node its part.
CLUSTER_CIDR = "10.244.0.0/16"

CLIENT = "10.77.0.10"
OTHER_CLIENT = "10.77.0.20"
OPERATOR_PORT = 10258


class Cluster:
    """A running cluster without a cloud.

    Attributes: state (directory), server (URL), kubeconfig (for programs in cp), manager_kubeconfig (likewise, as
    the service account of deploy/manifests), and as namespaces: router, client, cp and nodes (by
    name).
    """

    def __init__(self, directory, *, cloud="external"):
        """cloud: "external", or "none" for kubelets that wait for no manager."""
        self.directory = directory
        self.state = os.path.join(directory, "state")
        self.kubeconfig = self.state + "/kubeconfig"
        self._script("up", programs.cluster(), self.state, str(len(NODES)), cloud,
                     str(os.getpid()))
        self.router, self.client, self.cp = map(self._namespace, ("router", "client", "cp"))
        self.nodes = {name: self._namespace(name) for name in NODES}
        self.server = self.kubectl("config", "view", "--output=jsonpath={.clusters[0].cluster.server}")
        self.manager_kubeconfig = self._write_manager_kubeconfig()

    def end(self):
        self._script("down", self.state)

    def kubectl(self, *arguments, stdin=None):
        return self._script("kubectl", self.state, *arguments, stdin=stdin)

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": objects}))

    def import_image(self, archive):
        """All nodes have the images of an OCI archive afterwards."""
        self._script("import", self.state, archive)

    def get(self, kind, name, *arguments):
        """The object, or None."""
        text = self.kubectl("get", kind, name, "-o", "json", "--ignore-not-found", *arguments)
        return json.loads(text) if text.strip() else None

    def items(self, kind, *arguments):
        return json.loads(self.kubectl("get", kind, "-o", "json", *arguments))["items"]

    def node(self, name):
        return self.get("node", name)

    def writers(self, name):
        """Who has ever written the Node, by the names the API server gives them."""
        node = json.loads(self.kubectl("get", "node", name, "-o", "json", "--show-managed-fields"))
        return {entry["manager"] for entry in node["metadata"]["managedFields"]}

    def events(self, kind, name, reason):
        """The Events of this reason about an object as it is now, not about a former one of its
        name."""
        return self.items("events", "--field-selector", ",".join([
            f"involvedObject.kind={kind}", f"involvedObject.name={name}", f"reason={reason}",
            f"involvedObject.uid={self.get(kind.lower(), name)['metadata']['uid']}"]))

    def process(self, name, *argv):
        """A program in the control plane's network."""
        return Process(name, self.cp.argv(*argv), os.path.join(self.directory, name + ".log"))

    def manager(self, infra, *flags, name="manager"):
        """`isthmus run` in the control plane's network; asks for metrics by `metric`."""
        return self.process(
            name, programs.isthmus(), "run", "--cloud-provider=isthmus",
            f"--cloud-config={infra.cloud_config}", f"--kubeconfig={self.manager_kubeconfig}",
            "--bind-address=127.0.0.1", f"--secure-port={OPERATOR_PORT}", *flags)

    def metric(self, name, /, **labels):
        """Of the manager that runs."""
        text = self.cp.run("curl", "-sSk", f"https://127.0.0.1:{OPERATOR_PORT}/metrics")
        return metric(text, name, **labels)

    def watch_nodes(self):
        """A Process whose output() is every version of every Node from now on."""
        return self.process("watch", programs.kubectl(), "--kubeconfig", self.kubeconfig, "get",
                            "nodes", "--watch", "--output-watch-events", "-o", "json")

    def ask(self, address, port=80, *, udp=False, count=6, source=CLIENT, timeout=2, inside=None):
        """Who answered: a list of {"machine", "pod", "client"} or {"error"}, one per new flow, from
        the client outside or from a namespace `inside`."""
        argv = [sys.executable, "-B", FLOWS, address, str(port), "--count", str(count),
                "--timeout", str(timeout)]
        argv += ["--udp"] if udp else []
        argv += [] if inside else ["--source", source]
        output = (inside or self.client).run(*argv, seconds=60 + count * timeout)
        return [json.loads(line) for line in output.splitlines()]

    def _write_manager_kubeconfig(self):
        self.kubectl("apply", "-f", os.path.join(rights.MANIFESTS, "rbac.yaml"))
        token = self.kubectl("create", "token", rights.ACCOUNT, f"--namespace={rights.NAMESPACE}",
                             "--duration=24h").strip()
        with open(self.kubeconfig, encoding="utf-8") as file:
            text = file.read().replace("admin-token", token)
        path = os.path.join(self.state, "manager.kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def _namespace(self, name):
        # No process of ours holds it: cluster.sh knows where it is.
        return Namespace(name, None, [SCRIPT, "enter", self.state, name])

    def _script(self, *arguments, stdin=None):
        done = subprocess.run([SCRIPT, *arguments], input=stdin, capture_output=True, text=True,
                              timeout=180, check=False)
        assert done.returncode == 0, f"cluster.sh {arguments}: {done.stderr}"
        return done.stdout


def machines_of(answers):
    """Which Nodes' pods answered; an assertion names what went wrong with any flow."""
    assert not failures(answers), answers
    return {answer["machine"] for answer in answers}


def clients_of(answers):
    """Whom the pods saw."""
    assert not failures(answers), answers
    return {answer["client"] for answer in answers}


def failures(answers):
    return [answer["error"] for answer in answers if "error" in answer]
