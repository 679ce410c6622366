"""The story, lines 6 and 7: a Service changes, gets its wish later, and ends without a trace."""

import pytest

from harness import kube
from harness.rules import Rules
from harness.topology import names
from harness.wait import never_during, until
from manifests import DNS, WEB, service

SOON_SECONDS = 30

# One address.
SMALL = {"name": "public", "ranges": ["10.77.0.200/32"], "coolDown": "2s", "sourceAddress": "keep"}


def test_ports_and_protocols_change_and_the_address_stays(site):
    address = site.serve(service("web", ports=[WEB, DNS]))[4]
    with site.net.talk(address, 80) as talk:
        first = talk.say()
        site.apply(service("web", ports=[WEB, {**WEB, "name": "more", "port": 81},
                                         {**DNS, "protocol": "TCP"}]))

        for port in (80, 81, 53):
            until(lambda port=port: names(site.net.ask(address, port, count=3, timeout=0.5)))
        until(lambda: Rules(site.net).listeners() == {
            (address, "TCP", port) for port in (80, 81, 53)})
        assert talk.say() == first
    assert site.ready("web") == {4: address}


def test_a_second_family_and_back(site):
    address = site.serve(service("web"))[4]

    site.patch("web", {"spec": {"ipFamilyPolicy": "RequireDualStack"}})
    both = site.ready("web")
    assert both[4] == address
    assert names(site.net.ask(both[6], 80, count=3))

    site.patch("web", {"spec": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"],
                                "clusterIPs": site.service("web")["spec"]["clusterIPs"][:1]}})

    until(lambda: site.addresses("web") == {4: address} and site.net.bound() == {address})


def test_another_type_takes_everything_away_and_the_finalizer_last(site):
    site.serve(service("web", ports=[WEB, DNS], dual=True))

    site.patch("web", {"spec": {"type": "ClusterIP"}})

    until(lambda: "finalizers" not in site.service("web")["metadata"])
    until(lambda: not site.balancers() and not site.held() and not site.net.bound())
    assert not Rules(site.net).listeners() and not Rules(site.net).guarded()
    assert not site.addresses("web")
    assert site.events("web", "DeletedLoadBalancer")

    site.patch("web", {"spec": {"type": "LoadBalancer"}})

    for address in site.ready("web").values():
        assert names(site.net.ask(address, 80, count=3))


def test_an_impossible_wish_waits_and_is_granted_once_it_is_possible(site):
    """An address that is in no pool; then the pool is enlarged."""
    wish = f"{site.net.prefix4}.190"
    other = site.serve(service("other"))[4]
    site.apply(service("web", annotations={"isthmus.dev/addresses": wish}))
    site.warned("web", wish)
    never_during(lambda: site.addresses("web"), 1)

    pool = site.pool()
    site.set_pools({**pool, "ranges": [*pool["ranges"], wish + "/32"]})

    assert site.ready("web", SOON_SECONDS) == {4: wish}
    assert names(site.net.ask(wish, 80, count=3)) and names(site.net.ask(other, 80, count=3))


def test_an_exhausted_pool_is_named_and_a_larger_one_is_enough(make_site):
    site = make_site(pools=[SMALL])
    site.serve(service("first"))
    site.apply(service("second"))
    event = site.warned("second", "public")
    assert "isthmus.dev/" in event["message"] or "pool" in event["message"], event

    site.set_pools({**SMALL, "ranges": ["10.77.0.200/31"]})

    assert site.ready("second", SOON_SECONDS) == {4: "10.77.0.201"}


def test_an_address_that_becomes_free_goes_to_who_waits_for_it(make_site):
    site = make_site(pools=[SMALL])
    site.serve(service("first"))
    site.apply(service("second"))
    site.warned("second")

    site.delete("first")

    assert site.ready("second", SOON_SECONDS) == {4: "10.77.0.200"}


def test_an_address_of_somebody_else_is_named_with_its_holder(routed):
    address = routed.serve(service("first"))[4]
    routed.apply(service("second", annotations={"isthmus.dev/addresses": address}))

    routed.warned("second", address)

    routed.patch("second", {"metadata": {"annotations": {"isthmus.dev/addresses": None}}})
    assert routed.ready("second")[4] != address


@pytest.mark.parametrize("services", [1, 5])
def test_in_the_end_nothing_of_ours_is_left_and_all_that_is_not_ours(site, services):
    host = site.net.host
    host.run("nft", "-f", "-", stdin="table inet theirs { chain input { "
             "type filter hook input priority 5; tcp dport 4711 counter drop; }; }\n")
    host.ip("address add 192.0.2.77/32 dev eth0", "route add 198.51.100.0/24 via "
            + site.net.machines[0].v4)
    foreign = _foreign(site)
    try:
        for number in range(services):
            site.apply(service(f"web{number}", ports=[WEB, DNS], dual=True))
        for number in range(services):
            site.ready(f"web{number}")
        assert _foreign(site) == foreign

        for number in range(services):
            site.k8s.delete(f"{kube.SERVICES}/web{number}")

        until(lambda: [each["metadata"]["name"] for each in site.k8s.items(kube.SERVICES)]
              == ["kubernetes"])
        until(lambda: site.net.bound() == {"192.0.2.77"})
        assert not site.balancers() and not site.held()
        assert not Rules(site.net).listeners() and not Rules(site.net).notes()
        assert _foreign(site) == foreign
    finally:
        host.ip("address del 192.0.2.77/32 dev eth0", "route del 198.51.100.0/24")


def _foreign(site):
    """What others have put into the kernel, as it is printed."""
    host = site.net.host
    return (host.run("nft", "-a", "list", "table", "inet", "theirs"),
            host.run("ip", "-4", "-o", "address", "show", "to", "192.0.2.77"),
            host.run("ip", "-4", "route", "show", "198.51.100.0/24"))
