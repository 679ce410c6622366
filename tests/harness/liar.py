"""A cloud that lies about its machines: a Meddler before the real backend, which knows better."""

import json
import threading
import time
import urllib.parse

from .meddler import Meddler

INSTANCES = "/v1/instances"
PROBLEM = "application/problem+json"

# A cut of what clouds in trouble say; the last is nothing at all.
TROUBLES = [
    (500, "text/plain", b"oops"),
    (503, "text/html", b"<html><body>Service Unavailable</body></html>"),
    (404, "text/html", b"<html><body>404 page not found</body></html>"),
    (200, "application/json", b'{"kind": "InstanceList", "metadata": {"revi'),
    (200, "application/json", b""),
]


class Liar(Meddler):
    """Attributes: told (how many lies of each kind), first_lie (time.monotonic of the very first one;
    None: none was told yet), writes (what changed something: (time.monotonic, method, path)), held (an
    Event: while it is not set, what changes something waits to be passed on).

    lie(how): "gone": every machine that is asked for by its id is said to be retired, typed as the
    backend types it. "empty": that, and the list of machines is complete and empty. "broken": nothing
    is answered as it should be. None: the truth.
    """

    def __init__(self, path, upstream):
        self.told = {}
        self.first_lie = None
        self.writes = []
        self.held = threading.Event()
        self.held.set()
        self._how = None
        self._lock = threading.Lock()
        super().__init__(path, upstream, self._answer)

    def lie(self, how):
        with self._lock:
            self._how = how

    def _answer(self, method, path, _):
        if method not in ("GET", "HEAD"):
            self.writes.append((time.monotonic(), method, path))
            self.held.wait()
        where = urllib.parse.urlsplit(path).path
        with self._lock:
            said = self._lie_about(method, where)
            if said:
                self.first_lie = self.first_lie or time.monotonic()
                self.told[self._how] = self.told.get(self._how, 0) + 1
        return said

    def _lie_about(self, method, where):
        if self._how is None:
            return None
        if self._how == "broken":
            return TROUBLES[sum(self.told.values()) % len(TROUBLES)]
        if method != "GET":
            return None
        if where == INSTANCES:
            return (200, "application/json", empty_list()) if self._how == "empty" else None
        if where.startswith(INSTANCES + "/"):
            return 404, PROBLEM, retired(where)
        return None


def retired(where):
    return json.dumps({
        "type": "https://isthmus.dev/problems/instance-retired", "title": "Instance retired",
        "status": 404, "reason": "InstanceRetired", "instance": where + "#lie",
        "detail": "this machine is gone"}).encode()


def empty_list():
    return json.dumps({"kind": "InstanceList", "metadata": {"revision": 1000000},
                       "items": []}).encode()
