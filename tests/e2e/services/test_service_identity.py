"""Whose load balancer is whose: Services that vanish, come again under a name, or lose it all."""

import os
import signal

from harness import kube
from harness.site import BALANCERS, FINALIZER
from harness.topology import names
from harness.wait import never_during, until
from manifests import service


def remove_by_force(site, name):
    """As somebody who has read on the Internet how to get rid of a Service that hangs."""
    site.k8s.delete(f"{kube.SERVICES}/{name}")
    site.k8s.client.request("PATCH", f"{kube.SERVICES}/{name}",
                            body=b'{"metadata": {"finalizers": null}}',
                            headers={"Content-Type": kube.MERGE})
    until(lambda: site.k8s.get_or_none(f"{kube.SERVICES}/{name}") is None)


def lose(site, *names):
    """As an API server whose store is an older copy: no deletion is ever announced."""
    site.manager.process.send(signal.SIGSTOP)
    for name in names:
        site.k8s.patch(f"{kube.SERVICES}/{name}", {"metadata": {"finalizers": None}})
        site.k8s.delete(f"{kube.SERVICES}/{name}")
    site.manager.process.send(signal.SIGCONT)


def test_a_service_that_is_recreated_has_a_load_balancer_of_its_own(routed):
    for _ in range(3):
        routed.serve(service("web"))
        first = routed.balancer("web")["metadata"]["name"]
        routed.k8s.delete(f"{kube.SERVICES}/web")
        until(lambda: routed.k8s.get_or_none(f"{kube.SERVICES}/web") is None)

        again = routed.serve(service("web"))[4]

        assert routed.balancer("web")["metadata"]["name"] != first
        assert names(routed.net.ask(again, 80, count=3))
        until(lambda a=again: routed.net.bound() == {a})
        routed.delete("web")


def test_a_service_that_is_replaced_by_force_loses_nothing_but_the_old_one(routed):
    routed.serve(service("web"))
    remove_by_force(routed, "web")

    again = routed.serve(service("web"))[4]

    assert names(routed.net.ask(again, 80, count=3))
    until(lambda: len(routed.balancers()) == 1 and routed.net.bound() == {again})
    assert routed.service("web")["metadata"]["finalizers"] == [FINALIZER]


def test_a_service_without_its_finalizer_is_released_all_the_same(routed):
    kept = routed.serve(service("kept"))[4]
    routed.serve(service("web"))

    remove_by_force(routed, "web")

    until(lambda: routed.net.bound() == routed.held() == {kept})


def test_what_vanished_while_the_manager_was_down_is_released_after_a_grace(routed):
    kept = [routed.serve(service(f"kept{i}"))[4] for i in range(3)]
    routed.serve(service("web"))
    routed.manager.end()
    remove_by_force(routed, "web")

    routed.manager.start()

    until(lambda: routed.net.bound() == set(kept), 40)
    for address in kept:
        assert names(routed.net.ask(address, 80, count=3))


def test_many_that_vanished_at_once_are_kept_and_told(routed):
    """More than three and more than a third: rather something is wrong with what we see."""
    addresses = {routed.serve(service(f"web{i}"))[4] for i in range(5)}
    routed.manager.end()
    for i in range(5):
        remove_by_force(routed, f"web{i}")

    routed.manager.start()

    until(lambda: routed.manager.metric("isthmus_load_balancer_orphans") == 5, 40, "all known")
    never_during(lambda: routed.net.bound() != addresses, 3)
    for each in routed.balancers():
        routed.infra.client.request("DELETE", f"{BALANCERS}/{each['metadata']['name']}")


def test_many_that_vanish_under_a_running_manager_are_kept_and_told(routed):
    addresses = {routed.serve(service(f"web{i}"))[4] for i in range(5)}

    lose(routed, *(f"web{i}" for i in range(5)))

    [event] = until(lambda: routed.k8s.events("kube-system", "LoadBalancerReleaseWithheld",
                                              about="Namespace"), what="the event")
    assert "they are too many at once" in event["message"]
    until(lambda: routed.manager.metric("isthmus_load_balancer_releases_withheld") == 5, what="five")
    never_during(lambda: routed.net.bound() != addresses, 3)
    for each in routed.balancers():
        routed.infra.client.request("DELETE", f"{BALANCERS}/{each['metadata']['name']}")


def test_a_backend_that_lost_its_store_gives_everybody_his_address_again(routed):
    addresses = {name: routed.serve(service(name, dual=True)) for name in ("one", "two", "three")}
    routed.infra.process.kill()
    for name in os.listdir(routed.infra.directory):
        if name.startswith("infra.db"):
            os.unlink(routed.infra.path(name))
    # They come in another order than they were made in, which gives others' addresses away.
    routed.infra.start()

    until(lambda: len(routed.balancers()) == 3, 60, "three load balancers again")
    for name, had in addresses.items():
        until(lambda n=name: routed.balancer(n)["status"]["addresses"], what=f"{name} allocated")
        assert set(routed.balancer(name)["status"]["addresses"]) == set(had.values())
        assert routed.ready(name) == had
        assert names(routed.net.ask(had[4], 80, count=3))


def test_an_address_in_the_status_is_kept_as_if_it_had_been_asked_for(routed):
    """A Service that another implementation has served: its status names a free address of ours."""
    had = routed.net.vip(33)
    routed.manager.end()
    routed.apply(service("web"))
    routed.k8s.patch(f"{kube.SERVICES}/web/status", {"status": {"loadBalancer": {
        "ingress": [{"ip": had}]}}})

    routed.manager.start()

    until(lambda: routed.net.bound() == {had}, 40)
    assert routed.ready("web") == {4: had}
