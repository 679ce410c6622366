"""The story, lines 1 and 2: machines join, a Service gets its addresses, and packets arrive."""

import pytest

from harness import kube
from harness.rules import Rules
from harness.site import CLASS, FINALIZER
from harness.topology import names
from harness.wait import until
from manifests import DNS, LISTENERS, WEB, service

THREE = {"machine1", "machine2", "machine3"}


def test_machines_that_join_are_nodes_with_their_addresses(site):
    columns = ("NAME:.metadata.name,ID:.spec.providerID,"
               "IP:.status.addresses[?(@.type=='InternalIP')].address,TAINTS:.spec.taints[*].key")
    rows = site.kubectl("get", "nodes", "-o", "custom-columns=" + columns).splitlines()[1:]

    assert len(rows) == 3
    for row, machine in zip(sorted(rows), site.net.machines):
        assert row.split()[:2] == [machine.name, f"isthmus://uid-{machine.name}"]
        assert row.split()[2] == f"{machine.v4},{machine.v6}"
        assert kube.TAINT not in row


def test_a_service_is_given_addresses_that_every_machine_answers_at(site):
    addresses = site.serve(service("web", ports=[WEB, DNS], dual=True), 10)

    for family, address in addresses.items():
        client = site.net.clients[family][0]
        seen = site.net.host_address(family) if site.net.flat else client
        for port, udp in LISTENERS:
            answers = site.net.ask(address, port, udp=udp, count=60, sources=[client])
            assert set(names(answers)) == THREE
            # Kept where the way back leads through the host, else the host's.
            assert {answer["client"] for answer in answers} == {seen}


def test_the_kernel_holds_what_the_service_says_and_nothing_else(site):
    addresses = set(site.serve(service("web", ports=[WEB, DNS], dual=True)).values())

    targets = {machine.address(family) for machine in site.net.machines[:3] for family in (4, 6)}
    until(lambda: site.targets("web") == targets)
    rules = Rules(site.net)
    listeners = {(address, protocol, port) for address in addresses
                 for protocol, port in (("TCP", 80), ("UDP", 53))}
    assert rules.listeners() == listeners
    assert rules.masqueraded() == (listeners if site.net.flat else set())
    assert rules.guarded() == site.net.bound() == addresses
    for address in addresses:
        family = 6 if ":" in address else 4
        for protocol, port in (("TCP", 80), ("UDP", 53)):
            assert rules.slots(address, protocol, port).keys() == {
                machine.address(family) for machine in site.net.machines[:3]}


def test_kubectl_shows_the_address_and_kube_proxy_may_take_the_short_cut(site):
    addresses = site.serve(service("web", dual=True))

    made = site.service("web")
    external = site.kubectl("get", "service", "web", "--no-headers").split()[3]
    assert set(external.split(",")) == set(addresses.values())
    assert [each["ipMode"] for each in made["status"]["loadBalancer"]["ingress"]] == ["VIP", "VIP"]
    assert made["metadata"]["finalizers"] == [FINALIZER]
    assert until(lambda: site.events("web", "EnsuredLoadBalancer"))
    assert not site.events("web", kind="Warning")


def test_a_machine_that_calls_the_address_itself_is_answered(site):
    addresses = site.serve(service("web", ports=[WEB, DNS], dual=True))

    for address in addresses.values():
        for port, udp in LISTENERS:
            for namespace in (site.net.machines[0].namespace, site.net.host):
                answers = site.net.ask(address, port, udp=udp, count=40, namespace=namespace)
                assert set(names(answers)) == THREE


def test_a_client_outside_the_source_ranges_hears_nothing(site):
    four, six = site.net.clients[4], site.net.clients[6]
    addresses = site.serve(service("web", ports=[WEB, DNS], dual=True, loadBalancerSourceRanges=[
        four[0] + "/32", six[0] + "/128"]))

    for family, address in addresses.items():
        inside, outside = site.net.clients[family][:2]
        for port, udp in LISTENERS:
            names(site.net.ask(address, port, udp=udp, count=2, sources=[inside]))
            (answer,) = site.net.ask(address, port, udp=udp, sources=[outside], timeout=0.5)
            assert answer.get("error") == "timed out", answer

    site.patch("web", {"spec": {"loadBalancerSourceRanges": None}})

    for family, address in addresses.items():
        until(lambda a=address, f=family: names(
            site.net.ask(a, 80, sources=[site.net.clients[f][1]], timeout=0.5)))


@pytest.mark.parametrize("kind", [{"flat": False, "shares": False}, {"flat": True, "shares": True}],
                         ids=["routed and inline", "flat and shared"])
def test_the_other_halves_of_both_networks(make_site, kind):
    site = make_site(**kind)

    for address in site.serve(service("web", ports=[WEB, DNS], dual=True)).values():
        for port, udp in LISTENERS:
            assert set(names(site.net.ask(address, port, udp=udp, count=60))) == THREE


def test_affinity_keeps_a_client_at_one_machine(routed):
    address = routed.serve(service("web", sessionAffinity="ClientIP"))[4]

    sources = routed.net.clients[4]
    got = names(routed.net.ask(address, 80, count=4, sources=sources))
    chosen = [set(got[4 * i:4 * i + 4]) for i in range(len(sources))]
    assert all(len(one) == 1 for one in chosen), chosen
    assert len(set.union(*chosen)) > 1

    routed.patch("web", {"spec": {"sessionAffinity": "None"}})

    until(lambda: len(set(names(routed.net.ask(address, 80, count=20, sources=sources[:1])))) > 1)


def test_a_service_of_our_class_and_with_wishes_has_them_granted(routed):
    wished = routed.net.vip(7)
    addresses = routed.serve(service(
        "web", loadBalancerClass=CLASS, annotations={
            "isthmus.dev/addresses": wished, "isthmus.dev/pool": "public",
            "isthmus.dev/source-address": "masquerade"}))

    assert addresses == {4: wished}
    answers = routed.net.ask(wished, 80, count=10)
    assert {answer["client"] for answer in answers} == {routed.net.host_address(4)}


def test_load_balancer_ip_is_honoured(routed):
    wished = routed.net.vip(9)
    assert routed.serve(service("web", loadBalancerIP=wished)) == {4: wished}


def test_the_whole_works_in_a_user_namespace(make_site):
    """Nobody has to be root for it; as another user than root all tests are this one."""
    site = make_site(rootless=True)

    address = site.serve(service("web"))[4]

    assert set(names(site.net.ask(address, 80, count=60))) == THREE
