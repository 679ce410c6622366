"""What tests of route tables have in common: networks behind machines, and tables that route
them."""

import json

from harness import isthmus
from harness.wait import until
from specs import condition

TOKENS = {"one": "one-secret-token", "two": "two-secret-token", "admin": "admin-secret-token"}
CIDRS = ["10.244.0.0/16", "fd00:10:244::/48"]


class Tables:
    """What an owner does with its route tables."""

    def __init__(self, backend):
        self.backend = backend

    def request(self, method, name="pods", owner=None, **more):
        return self.backend.client.request(
            method, f"/v1/owners/{owner or self.backend.owner}/routetables/{name}", **more)

    def put(self, routes, cidrs=None, *, name="pods", status=None, **metadata):
        answer = self.request("PUT", name, body={
            "metadata": metadata, "spec": {"clusterCIDRs": cidrs or CIDRS, "routes": routes}})
        assert answer.status in ([status] if status else [200, 201]), answer.text
        return answer.json()

    def get(self, name="pods"):
        answer = self.request("GET", name)
        assert answer.status == 200, answer.text
        return answer.json()

    def until(self, status="True", reason="Ready", name="pods", seconds=20):
        """The table once its Ready condition says this of what was put last."""
        def holds():
            seen = self.get(name)
            said = condition(seen, "Ready")
            generation = seen["metadata"]["generation"]
            assert (said["status"], said["reason"]) == (status, reason), said
            assert said["observedGeneration"] == generation, said
            return seen
        return until(holds, seconds, f"{name}: Ready {status} {reason}")

    def apply(self, routes, *arguments, **more):
        self.put(routes, *arguments, **more)
        return self.until(name=more.get("name", "pods"))

    def states(self, name="pods"):
        """Of the routes that are not applied: {destination: reason}."""
        return {route["destination"]: route["reason"]
                for route in self.get(name)["status"]["routes"] if route["state"] != "applied"}


def kernel_routes(net, *which):
    """What the host's kernel says by another road than ours: {destination: next hop}."""
    return {route["dst"]: route.get("gateway")
            for family in ("-4", "-6")
            for route in json.loads(net.host.run("ip", "-j", family, "route", "show", *which))}


def ours(net):
    return kernel_routes(net, "proto", "66", "metric", "66")


def with_owners(net, make_backend, directory):
    for name, token in TOKENS.items():
        with open(f"{directory}/{name}.token", "w", encoding="utf-8") as file:
            file.write(token + "\n")
    backend = make_backend(
        net, adminTokenFile=f"{directory}/admin.token",
        owners=[{"name": "one", "tokenFile": f"{directory}/one.token",
                 "routes": {"destinations": ["10.244.0.0/15", "fd00:10:244::/48"]}},
                {"name": "two", "tokenFile": f"{directory}/two.token"}])
    backend.infra.set_machines(isthmus.machine(machine.name, addresses=[
        {"type": "InternalIP", "address": machine.v4},
        {"type": "InternalIP", "address": machine.v6}]) for machine in net.machines)
    backend.owner = "one"
    backend.infra.client.token = TOKENS["one"]
    return backend
