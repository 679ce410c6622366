"""The story, line 4: what somebody changes by hand comes back, with the same address, and is told.

It comes back within a minute at the latest; the backend and its watch are much quicker.
"""

import pytest

from harness import kube
from harness.rules import Rules
from harness.site import BALANCERS
from harness.topology import names
from harness.wait import until
from manifests import service

BACK_SECONDS = 60


def until_served(site, address):
    def served():
        assert address in site.net.bound()
        assert names(site.net.ask(address, 80, count=6, timeout=0.5))
    until(served, BACK_SECONDS, f"{address} served")


def test_rules_that_were_deleted_are_back_and_everybody_says_so(site):
    address = site.serve(service("web"))[4]
    assert not site.balancer("web")["status"]["repairs"]

    site.net.host.run("nft", "delete", "table", "inet", "isthmus")

    until_served(site, address)
    assert site.ready("web") == {4: address}
    until(lambda: site.balancer("web")["status"]["repairs"] >= 1)
    assert site.infra_metric("infra_drift_repairs_total") >= 1
    until(lambda: site.events("web", "LoadBalancerRepaired"), what=site.tell("web"))


def test_an_address_that_was_unbound_is_bound_again(routed):
    address = routed.serve(service("web"))[4]

    routed.net.host.ip(f"address del {address} dev eth0")

    until_served(routed, address)
    until(lambda: routed.events("web", "LoadBalancerRepaired"), what=routed.tell("web"))


def test_a_load_balancer_that_was_deleted_is_made_again_with_its_address(site):
    address = site.serve(service("web"))[4]
    other = site.serve(service("other"))[4]
    name = site.balancer("web")["metadata"]["name"]
    uid = site.balancer("web")["metadata"].get("uid")
    with site.net.asking(other, 80) as load:
        answer = site.infra.client.request("DELETE", f"{BALANCERS}/{name}")
        assert answer.status == 202, answer.text
        until(lambda: (site.balancer("web") or {"metadata": {"uid": uid}})["metadata"].get("uid")
              != uid, BACK_SECONDS, "a new load balancer")

        until_served(site, address)
        assert site.ready("web") == {4: address}
        assert load.stop()["failed"] == 0
    assert site.balancer("web")["metadata"]["name"] == name
    until(lambda: site.events("web", "LoadBalancerRecreated"), what=site.tell("web"))
    assert site.manager.metric(
        "isthmus_load_balancer_repairs_total", kind="recreated") == 1


def test_a_load_balancer_that_was_edited_is_put_right(site):
    address = site.serve(service("web"))[4]
    before = site.balancer("web")
    edited = {**before["spec"], "allowedSources": ["192.0.2.1/32"]}

    answer = site.infra.client.request(
        "PUT", f"{BALANCERS}/{before['metadata']['name']}",
        body={"metadata": {"labels": before["metadata"]["labels"]}, "spec": edited})
    assert answer.status == 200, answer.text

    until(lambda: site.balancer("web")["spec"] == before["spec"], BACK_SECONDS)
    until_served(site, address)
    assert Rules(site.net).notes() == {
        f"local/{before['metadata']['name']} {before['metadata']['generation'] + 2}"}
    until(lambda: site.events("web", "LoadBalancerChanged"), what=site.tell("web"))


@pytest.mark.parametrize("status", [None, [{"ip": "203.0.113.66"}], [{"hostname": "x.example"}]],
                         ids=["cleared", "another address", "a host name"])
def test_a_status_written_by_somebody_else_is_put_right(routed, status):
    address = routed.serve(service("web"))[4]

    routed.k8s.patch(f"{kube.SERVICES}/web/status", {"status": {"loadBalancer": {
        "ingress": status}}})

    until(lambda: routed.service("web")["status"]["loadBalancer"].get("ingress") == [
        {"ip": address, "ipMode": "VIP"}], BACK_SECONDS)


def test_a_finalizer_that_was_taken_away_is_back(routed):
    routed.serve(service("web"))
    finalizers = routed.service("web")["metadata"]["finalizers"]

    routed.patch("web", {"metadata": {"finalizers": None}})

    until(lambda: routed.service("web")["metadata"].get("finalizers") == finalizers, BACK_SECONDS)


def test_a_target_set_that_was_edited_is_put_right(make_site):
    routed = make_site(flags=["--load-balancer-drift-period=2s"])
    address = routed.serve(service("web"))[4]
    path = "/v1/owners/local/targetsets"
    (before,) = routed.infra.client.request("GET", path).json()["items"]
    slots = Rules(routed.net).slots(address)

    answer = routed.infra.client.request(
        "PUT", f"{path}/{before['metadata']['name']}", body={
            "metadata": {"labels": before["metadata"].get("labels", {})}, "spec": {"targets": []}})
    assert answer.status == 200, answer.text

    def is_back():
        (after,) = routed.infra.client.request("GET", path).json()["items"]
        return after["spec"] == before["spec"]
    until(is_back, BACK_SECONDS)
    until(lambda: Rules(routed.net).slots(address).keys() == slots.keys())
