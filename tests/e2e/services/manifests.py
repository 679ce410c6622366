"""Services as people write them, as short as tests need them."""

# By default a load balancer looks at its Nodes every five seconds; a test waits for it.
QUICK_CHECK = {"isthmus.dev/health-check-interval": "500ms",
               "isthmus.dev/health-check-timeout": "300ms"}

WEB = {"name": "web", "port": 80, "protocol": "TCP", "targetPort": 8080}
DNS = {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 8053}

# The listeners of a Service with both, and whether they are UDP.
LISTENERS = [(80, False), (53, True)]


def service(name, *, ports=(WEB,), dual=False, annotations=None, quick=True, finalizers=(), **spec):
    """A Service of type LoadBalancer. `dual`: of both families; `quick`: its Nodes are looked at
    often; `spec` adds to the spec or replaces parts of it."""
    return {
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "namespace": "default",
                     "annotations": {**(QUICK_CHECK if quick else {}), **(annotations or {})},
                     **({"finalizers": list(finalizers)} if finalizers else {})},
        "spec": {"type": "LoadBalancer", "selector": {"app": name}, "ports": list(ports),
                 **({"ipFamilyPolicy": "RequireDualStack"} if dual else {}), **spec},
    }
