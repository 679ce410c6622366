"""The kubelets and the users of a large cluster, as far as an API server can tell: many requests on
few connections that stay."""

import concurrent.futures
import contextlib
import http.client
import json
import ssl
import threading
import time
import urllib.parse

from harness import kube
from harness.heartbeats import LEASES, micro_time
from harness.kubelets import ready_condition

CONNECTIONS = 8
NODE_BYTES = 15_000
# As often a kubelet reports a status in which nothing has changed.
REPORT_SECONDS = 300


class Fleet:
    """Nothing runs in the background but within `reporting`."""

    def __init__(self, server, ca, token="admin-token"):
        self._where = urllib.parse.urlsplit(server)
        self._tls = ssl.create_default_context(cafile=ca)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._wires = threading.local()
        self._pool = concurrent.futures.ThreadPoolExecutor(CONNECTIONS)

    def end(self):
        self._pool.shutdown()

    def register(self, names, first=0):
        """Tainted Nodes, each with a range for its pods, of which the first is the range of that
        number; answers the size of one in bytes."""
        images = json.dumps([
            {"names": [f"registry.test/library/image-number-{i:04}@sha256:{'0123456789' * 6}",
                       f"registry.test/library/image-number-{i:04}:v1.{i}"],
             "sizeBytes": 100_000_000 + i} for i in range(NODE_BYTES // 203)])

        def body(number):
            pods = first + number
            node = kube.node(names[number], status={"conditions": [ready_condition(True)]},
                             pod_cidrs=[f"10.{128 + pods // 256}.{pods % 256}.0/24"])
            return json.dumps(node)[:-2] + f', "images": {images}}}}}'
        made = list(self._pool.map(
            lambda number: len(self._send("POST", kube.NODES, body(number))), range(len(names))))
        return made[0]

    def make_services(self, names):
        self._all("POST", lambda _: kube.SERVICES, names, lambda name: {
            "metadata": {"name": name},
            "spec": {"type": "LoadBalancer", "selector": {"app": "web"},
                     "ports": [{"port": 80, "protocol": "TCP"}]}})

    def make_leases(self, names):
        self._all("POST", lambda _: LEASES, names, lambda name: {
            "metadata": {"name": name, "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": micro_time()}})

    def report(self, names, ready):
        """The Ready condition of these Nodes: "True", "False" or "Unknown"."""
        self._all("PATCH", _status_of, names, lambda _: _report(ready))

    @contextlib.contextmanager
    def reporting(self, names):
        """While it lasts, these report that they are well, spread over REPORT_SECONDS."""
        over = threading.Event()

        def run():
            began, number = time.monotonic(), 0
            while not over.wait(0.05):
                # No longer than it lasts, however slow the API server is.
                due = (time.monotonic() - began) / REPORT_SECONDS * len(names)
                while number < due and not over.is_set():
                    self._send("PATCH", _status_of(names[number % len(names)]),
                               json.dumps(_report("True")), kube.STRATEGIC)
                    number += 1
        done = self._pool.submit(run)
        try:
            yield
        finally:
            over.set()
            done.result(30)

    def _all(self, method, path, names, body):
        kind = kube.STRATEGIC if method == "PATCH" else "application/json"
        list(self._pool.map(
            lambda name: self._send(method, path(name), json.dumps(body(name)), kind), names))

    def _send(self, method, path, body, kind="application/json"):
        for attempt in (1, 2):
            wire = getattr(self._wires, "wire", None) or http.client.HTTPSConnection(
                self._where.hostname, self._where.port, timeout=60, context=self._tls)
            self._wires.wire = wire
            try:
                wire.request(method, path, body, {**self._headers, "Content-Type": kind})
                answer = wire.getresponse()
                text = answer.read()
                assert answer.status in (200, 201), (method, path, answer.status, text[:500])
                return text
            except (OSError, http.client.HTTPException):
                wire.close()  # The API server has closed an idle one.
                if attempt == 2:
                    raise
        return None


def _status_of(name):
    return f"{kube.NODES}/{name}/status"


def _report(ready):
    return {"status": {"conditions": [ready_condition(True) | {"status": ready}]}}
