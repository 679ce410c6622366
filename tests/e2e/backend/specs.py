"""Specs of load balancers, as short as tests need them."""


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


# Quick enough for a test that waits for a verdict.
HTTP_CHECK = {"protocol": "HTTP", "path": "/healthz", "interval": "200ms", "timeout": "150ms",
              "rise": 1, "fall": 2}


def names(answers):
    """Which machines answered; an assertion error names what went wrong with any flow."""
    errors = [answer["error"] for answer in answers if "error" in answer]
    assert not errors, f"{len(errors)} of {len(answers)} failed: {errors[:5]}"
    return [answer["machine"] for answer in answers]
