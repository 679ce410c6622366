"""Whose Services are served: those of our class, those of none, each switchable, and no others."""

import pytest

from harness import kube
from harness.site import CLASS, FINALIZER
from harness.wait import never_during
from manifests import service

FOREIGN = "example.com/other"


def is_untouched(site, before):
    """No write, no event, no load balancer."""
    name = before["metadata"]["name"]
    return (site.service(name)["metadata"]["resourceVersion"]
            == before["metadata"]["resourceVersion"]
            and not site.events(name) and not site.balancer(name))


def created(site, manifest):
    site.apply(manifest)
    return site.service(manifest["metadata"]["name"])


def test_a_foreign_class_is_never_touched(routed):
    one = created(routed, service("one", loadBalancerClass=FOREIGN))
    # Another implementation uses the very same finalizer, and is not done yet.
    created(routed, service("two", loadBalancerClass=FOREIGN, finalizers=[FINALIZER]))
    routed.k8s.delete(f"{kube.SERVICES}/two")
    two = routed.service("two")

    routed.serve(service("ours"))

    never_during(lambda: not is_untouched(routed, one) or not is_untouched(routed, two), 1)


@pytest.mark.parametrize("flags, served, not_served", [
    ([], [None, CLASS], [FOREIGN]),
    (["--serve-unclassed-services=false"], [CLASS], [None, FOREIGN]),
    (["--load-balancer-classes="], [None], [CLASS, FOREIGN]),
    ([f"--load-balancer-classes={CLASS},{FOREIGN}"], [CLASS, FOREIGN], []),
], ids=["default", "no unclassed", "no class", "two classes"])
def test_flags_say_which_are_served(make_site, flags, served, not_served):
    site = make_site(flags=flags, joined=1)
    others = [created(site, of_class(f"other{i}", each)) for i, each in enumerate(not_served)]

    for number, each in enumerate(served):
        site.serve(of_class(f"ours{number}", each))

    for other in others:
        assert is_untouched(site, other)


def of_class(name, value):
    return service(name, **({"loadBalancerClass": value} if value else {}))


@pytest.mark.parametrize("flag", ["--controllers=*,-service-lb-controller", "--controllers=*,-service",
                                  "--controllers=cloud-node-controller"])
def test_a_controller_that_is_off_does_nothing(make_site, flag):
    site = make_site(flags=[flag], joined=1)
    web = created(site, service("web"))
    never_during(lambda: not is_untouched(site, web), 1)


@pytest.mark.parametrize("flag", ["--controllers=service-lb-controller", "--controllers=service"])
def test_the_service_controller_alone_serves_nodes_of_others(make_site, flag):
    """As in a cluster whose kubelets run without an external cloud provider: Nodes with their
    addresses, without the taint and without a provider's id."""
    site = make_site(flags=[flag], joined=0)
    machine = site.net.machines[0]
    site.kubelets.join(machine, tainted=False, addresses=[
        {"type": "InternalIP", "address": machine.v4}])
    before = site.k8s.node(machine.name)

    site.serve(service("web"))

    site.until_well("web", {machine.name})
    after = site.k8s.node(machine.name)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
