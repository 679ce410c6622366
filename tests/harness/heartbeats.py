"""Kubelets of machines that are only names: each renews its Lease, and says whether it is Ready.

For a hundred Nodes at a time, so one connection serves all of them.
"""

import http.client
import json
import ssl
import threading
import time
import urllib.parse

from . import kube

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

# As a real kubelet.
RENEW_SECONDS = 10


class Heartbeats:
    """Works in a thread of its own until end(); an error there is raised by the next call.

    A name that beats has its Lease renewed; one that was stopped keeps it as it is.
    """

    def __init__(self, server, ca, token="admin-token"):
        self._where = urllib.parse.urlsplit(server)
        self._tls = ssl.create_default_context(cafile=ca)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._beating = frozenset()  # Replaced as a whole, since two threads look at it.
        self._made = set()
        self._failed = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def start(self, *names):
        self._must_work()
        self._beating = self._beating | set(names)

    def stop(self, *names):
        self._must_work()
        self._beating = self._beating - set(names)

    def end(self):
        self._over.set()
        self._thread.join(30)
        self._must_work()

    def _must_work(self):
        if self._failed:
            raise self._failed

    def _run(self):
        """Spread over the time between two renewals, as those of real kubelets are."""
        wire = None
        due = {}
        try:
            while not self._over.wait(0.1):
                now = time.monotonic()
                for name in sorted(self._beating):
                    if due.get(name, 0) > now or self._over.is_set():
                        continue
                    try:
                        wire = wire or self._connection()
                        self._renew(wire, name)
                        due[name] = now + RENEW_SECONDS
                    except (OSError, http.client.HTTPException):
                        wire = None  # The API server is away for a while, or has closed an idle one.
                        break
        except Exception as reason:  # pylint: disable=broad-exception-caught
            self._failed = reason

    def _connection(self):
        return http.client.HTTPSConnection(self._where.hostname, self._where.port, timeout=30,
                                           context=self._tls)

    def _renew(self, wire, name):
        spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": micro_time()}
        if name not in self._made:
            status = self._send(wire, "POST", LEASES, "application/json", {
                "metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": spec})
            assert status in (201, 409), status
            self._made.add(name)
        status = self._send(wire, "PATCH", f"{LEASES}/{name}", kube.MERGE, {"spec": spec})
        if status == 404:
            self._made.discard(name)
        else:
            assert status == 200, status

    def _send(self, wire, method, path, kind, body):
        wire.request(method, path, json.dumps(body), {**self._headers, "Content-Type": kind})
        answer = wire.getresponse()
        answer.read()
        return answer.status


def micro_time():
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06d}Z"
