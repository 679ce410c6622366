"""Fixtures of the backend's end-to-end tests: real packets in namespaces, no Kubernetes."""

import os

import pytest
import yaml

from harness import isthmus, programs, wait
from harness.openapi import CheckedClient, Contract
from harness.pods import Pods
from specs import condition
from tables import Tables


@pytest.fixture(scope="session")
def contract():
    path = os.path.join(programs.ROOT, "isthmus/infra/api/openapi.yaml")
    with open(path, encoding="utf-8") as file:
        return Contract(yaml.safe_load(file))


@pytest.fixture(params=["root", "userns"])
def rootless(request):
    """Every test that takes it runs as root and in a user namespace; root's half is left out where
    nobody is root."""
    wanted = request.param == "userns"
    if not wanted and os.geteuid() != 0:
        pytest.skip("needs root")
    return wanted


@pytest.fixture
def make_backend(directory, stage, contract):
    """make_backend(net, **config): a Backend on the net's host, with the net's pool."""
    def make(net, *, name="infra", start=True, pool=None, **config):
        config.setdefault("host", {"name": "lb1", "driver": "nft"})
        config.setdefault("pools", [net.pool(**(pool or {}))])
        infra = stage.add(isthmus.Infra(os.path.join(directory, name), inside=net.host,
                                        start=start, **config))
        return Backend(infra, contract)
    return make


@pytest.fixture
def net(make_net):
    """The routed network; a test of more than that has a `net` of its own."""
    return make_net()


@pytest.fixture
def backend(net, make_backend):
    return make_backend(net)


@pytest.fixture
def pods(net):
    return Pods(net)


@pytest.fixture
def tables(backend):
    """Route tables; the test's `backend` is one that may hold some (tables.with_owners)."""
    return Tables(backend)


class Backend:
    """What people do with a backend, each answer checked against the OpenAPI document.

    Attributes: infra (isthmus.Infra), client (checked), owner.
    """

    def __init__(self, infra, contract, owner="local"):
        self.infra = infra
        self.owner = owner
        self.client = CheckedClient(infra.client, contract)

    def path(self, kind, name=None):
        return f"/v1/owners/{self.owner}/{kind}" + (f"/{name}" if name else "")

    def put(self, name, spec, *, query=None, status=None, headers=None, **metadata):
        """The load balancer as answered."""
        answer = self.client.request(
            "PUT", self.path("loadbalancers", name), query=query, headers=headers,
            body={"metadata": metadata, "spec": spec})
        assert answer.status in ([status] if status else [200, 201]), answer.text
        return answer.json()

    def put_set(self, name, targets, *, status=None):
        answer = self.client.request("PUT", self.path("targetsets", name),
                                     body={"metadata": {}, "spec": {"targets": targets}})
        assert answer.status in ([status] if status else [200, 201]), answer.text
        return answer.json()

    def get(self, name):
        answer = self.client.request("GET", self.path("loadbalancers", name))
        assert answer.status == 200, answer.text
        return answer.json()

    def delete(self, name):
        answer = self.client.request("DELETE", self.path("loadbalancers", name))
        assert answer.status in (202, 404), answer.text
        return answer

    def remove(self, name):
        """DELETE, and gone."""
        assert self.delete(name).status == 202
        wait.until(lambda: self.is_gone(name), what=f"{name} gone")

    def is_gone(self, name):
        return self.client.request("GET", self.path("loadbalancers", name)).status == 404

    def ready(self, name, generation=1, seconds=20):
        """The load balancer once it is ready in that generation; asks the server to wait."""
        answer = self.client.request(
            "GET", self.path("loadbalancers", name),
            query={"waitFor": "Ready", "generation": generation, "timeout": f"{seconds}s"})
        assert answer.status == 200, answer.text
        seen = answer.json()
        said = condition(seen, "Ready")
        assert said["status"] == "True" and said["observedGeneration"] >= generation, seen["status"]
        return seen

    def serve(self, name, spec, **metadata):
        """PUT, and ready: the load balancer."""
        put = self.put(name, spec, **metadata)
        return self.ready(name, put["metadata"]["generation"])

    def restart(self):
        self.infra.process.terminate()
        self.infra.start()

    def crash(self):
        """SIGKILL, and started again."""
        self.infra.process.kill()
        self.infra.start()

    def until_condition(self, name, kind, status, reason=None, seconds=20):
        def holds():
            said = condition(self.get(name), kind)
            assert said and said["status"] == status and reason in (None, said["reason"]), said
        wait.until(holds, seconds, f"{name}: {kind} {status} {reason or ''}")

    def metric(self, name, **labels):
        return isthmus.metric(self.infra.client.request("GET", "/metrics").text, name, **labels)
