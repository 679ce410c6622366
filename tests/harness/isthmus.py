"""Our two programs under test: the backend (`isthmus infra`), the manager (`isthmus run`)."""

import json
import os

from . import programs, rest, wait
from .processes import Process, free_port

# By default a manager looks at an initialized Node every five minutes; a test waits for it.
OFTEN = "--node-status-update-frequency=1s"


def machine(name, *, uid=None, address=None, **fields):
    """An inventory line. The uid is permanent, so tests name it after the first name."""
    line = {"uid": uid or f"uid-{name}", "name": name}
    if address:
        line["addresses"] = [{"type": "InternalIP", "address": address}]
    return line | fields


class Infra:
    """`isthmus infra` with its configuration, inventory and socket in one directory.

    Attributes: process, url (of the unix socket), cloud_config (a file for the manager), config and
    inventory (files), client (rest.Client on the socket).
    """

    def __init__(self, directory, machines=(), *, start=True, inside=None, **config):
        """`config` replaces or adds keys of the configuration file. With `inside`, a
        netns.Namespace, it runs there; the socket is reached from everywhere."""
        self.directory = str(directory)
        self.inside = inside
        os.makedirs(self.directory, exist_ok=True)
        self.socket = self.path("infra.sock")
        self.url = "unix://" + self.socket
        self.config = self.path("infra.yaml")
        self.inventory = self.path("inventory.yaml")
        self.process = None
        self.client = rest.Client(self.url)
        self.set_machines(machines)
        self.write_config({
            "listen": [f"unix:{self.socket}"], "store": {"sqlite": self.path("infra.db")},
            "inventory": self.inventory, **config})
        self.cloud_config = write_cloud_config(self.path("cloud.yaml"), self.url)
        if start:
            self.start()

    def path(self, name):
        return os.path.join(self.directory, name)

    def read_config(self):
        with open(self.config, encoding="utf-8") as file:
            return json.load(file)

    def write_config(self, config):
        """Replaces the configuration file in one step. JSON is YAML."""
        _write(self.config, json.dumps(config))

    def set_machines(self, machines):
        """Replaces the inventory in one step, as a careful editor does."""
        lines = ",\n".join("  " + json.dumps(line) for line in machines)
        self.write_inventory(f'{{"instances": [\n{lines}\n]}}\n')

    def write_inventory(self, text):
        _write(self.inventory, text)

    def launch(self):
        """Starts it without waiting; for starts that fail."""
        argv = [programs.isthmus(), "infra", "--config", self.config]
        if self.inside:
            argv = self.inside.argv(*argv)
        self.process = Process("infra", argv, self.path("infra.log"))
        return self.process

    def start(self):
        self.launch()
        wait.until(self.is_ready, 20, f"infra ready, see {self.process.log}")

    def is_ready(self):
        self.process.must_run()
        try:
            return self.client.request("GET", "/readyz").status == 200
        except OSError:
            return False

    def revision(self, token=None):
        answer = self.client.request("GET", "/v1/instances?limit=1", token=token)
        return answer.json()["metadata"]["revision"]

    def end(self):
        if self.process:
            self.process.end()


class Manager:
    """`isthmus run` against one API server and one backend.

    Attributes: process, name, operator (rest.Client on the secure port).
    """

    def __init__(self, directory, kubeconfig, cloud_config, *flags, name="manager", start=True):
        """`flags` come last, so they win over the harness's own."""
        self.name = name
        self._log = os.path.join(str(directory), name + ".log")
        port = free_port()
        self.operator = rest.Client(f"https://127.0.0.1:{port}")
        self._argv = [
            programs.isthmus(), "run", "--cloud-provider=isthmus", f"--cloud-config={cloud_config}",
            f"--kubeconfig={kubeconfig}", "--bind-address=127.0.0.1", f"--secure-port={port}",
            *flags]
        self.process = None
        if start:
            self.start()

    def launch(self):
        """Starts it without waiting."""
        self.process = Process(self.name, self._argv, self._log)
        return self.process

    def start(self):
        self.launch()
        wait.until(self.is_alive, 20, f"{self.name} alive, see {self._log}")

    def is_alive(self):
        self.process.must_run()
        try:
            return self.operator.request("GET", "/livez").status == 200
        except OSError:
            return False

    def metric(self, name, /, **labels):
        """The sum of a metric's samples that carry these labels; None when there are none."""
        return metric(self.operator.request("GET", "/metrics").text, name, **labels)

    def end(self):
        if self.process:
            self.process.end()


def metric(text, name, /, **labels):
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    samples = [line for line in text.splitlines()
               if line.split("{")[0].split(" ")[0] == name and all(w in line for w in wanted)]
    return sum(float(line.rsplit(" ", 1)[1]) for line in samples) if samples else None


def write_cloud_config(path, url, **keys):
    _write(path, json.dumps({"url": url, **keys}))
    return path


def _write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)
