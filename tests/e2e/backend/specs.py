"""Specs of load balancers, as short as tests need them, and what tests look for in answers."""

from harness.topology import names  # noqa: F401 (one of the words of the tests)

# Every protocol and family a listener can have.
CELLS = [("TCP", 4), ("TCP", 6), ("UDP", 4), ("UDP", 6)]

# Quick enough for a test that waits for a verdict.
HTTP_CHECK = {"protocol": "HTTP", "path": "/healthz", "interval": "200ms", "timeout": "150ms",
              "rise": 1, "fall": 2}


def inline(net, *, family=4, protocol="TCP", port=80, machines=None, check=None, weights=None,
           drained=(), **spec):
    """One listener to machines by address. `spec` adds to the spec or replaces parts of it."""
    machines = net.machines if machines is None else machines
    group = {"name": "web", "targets": [
        {"address": machine.address(family), "port": net.PORT,
         **({"weight": weights[i]} if weights else {}),
         **({"drain": True} if machine in drained else {})}
        for i, machine in enumerate(machines)]}
    if check:
        group["healthCheck"] = check
    return {"families": ["IPv4" if family == 4 else "IPv6"],
            "listeners": [{"protocol": protocol, "port": port, "targetGroup": "web"}],
            "targetGroups": [group], **spec}


def serve_cells(backend, net, cells=CELLS, **spec):
    """A load balancer for each cell, all ready: {cell: its address}."""
    cell_name = "{0[0]}{0[1]}".format
    for cell in cells:
        protocol, family = cell
        backend.put(cell_name(cell).lower(), inline(net, protocol=protocol, family=family, **spec))
    return {cell: backend.ready(cell_name(cell).lower())["status"]["addresses"][0]
            for cell in cells}


def problem(answer, status, kind):
    """The document of an answer that must be this problem."""
    assert answer.status == status, answer.text
    said = answer.json()
    assert said["type"] == "https://isthmus.dev/problems/" + kind, said
    return said


def condition(balancer, kind):
    return next((c for c in balancer["status"]["conditions"] if c["type"] == kind), None)
