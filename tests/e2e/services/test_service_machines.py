"""The story, line 3: machines come, go, and die, and what flows do meanwhile."""

import contextlib
import signal

import pytest

from harness.isthmus import OFTEN
from harness.kubelets import PROXY_PORT
from harness.rules import Rules
from harness.site import EXCLUDED, inventory_line
from harness.topology import names
from harness.wait import until
from manifests import DNS, LISTENERS, WEB, service

THREE = {"machine1", "machine2", "machine3"}
OTHERS = {"machine1", "machine3"}  # Than the one that something happens to.

# What a label, a new Node or a health check takes: debouncing, and two checks of half a second.
FOLLOWS_SECONDS = 30


def answering(site, address, port=80, udp=False, count=40):
    return set(names(site.net.ask(address, port, udp=udp, count=count)))


def until_answering(site, address, machines, port=80, udp=False):
    until(lambda: answering(site, address, port, udp) == machines, FOLLOWS_SECONDS,
          f"answers of {machines} only")


@contextlib.contextmanager
def talk_with(site, name, address, port=80, udp=False):
    """A flow that stays and has reached this machine."""
    with contextlib.ExitStack() as tries:
        for _ in range(40):
            talk = tries.enter_context(site.net.talk(address, port, udp=udp))
            if talk.say().get("machine") == name:
                yield talk
                return
    raise AssertionError(f"no flow of 40 has reached {name}")


def test_a_fourth_machine_joins_and_takes_traffic(site):
    address = site.serve(service("web", ports=[WEB, DNS]))[4]

    with site.net.asking(address, 80) as load:
        site.join(site.net.machines[3])

        for port, udp in LISTENERS:
            until_answering(site, address, {f"machine{i}" for i in range(1, 5)}, port, udp)
        assert load.stop()["failed"] == 0


def test_an_excluded_machine_gets_no_new_flows_and_keeps_its_connections(site):
    addresses = site.serve(service("web", ports=[WEB, DNS], dual=True))
    with contextlib.ExitStack() as flows:
        streams = [flows.enter_context(talk_with(site, "machine2", address))
                   for address in addresses.values()]
        datagrams = [flows.enter_context(talk_with(site, "machine2", address, 53, True))
                     for address in addresses.values()]
        load = flows.enter_context(site.net.asking(addresses[4], 80))

        site.kubectl("label", "node", "machine2", f"{EXCLUDED}=")

        for address in addresses.values():
            for port, udp in LISTENERS:
                until_answering(site, address, OTHERS, port, udp)
        for talk in streams:
            assert talk.say()["machine"] == "machine2"
        for talk in datagrams:
            assert talk.say()["machine"] in OTHERS
        assert load.stop()["failed"] == 0

    site.kubectl("label", "node", "machine2", f"{EXCLUDED}-")

    for address in addresses.values():
        until_answering(site, address, THREE)


@pytest.mark.parametrize("fault", ["link cut", "process stopped"])
def test_a_machine_that_dies_loses_its_new_flows_until_it_is_well(site, fault):
    address = site.serve(service("web", ports=[WEB, DNS]))[4]
    site.until_well("web", THREE)
    broken = site.net.machines[1]

    if fault == "link cut":
        broken.cut()
    else:
        broken.process.send(signal.SIGSTOP)

    site.until_well("web", OTHERS)
    for port, udp in LISTENERS:
        assert answering(site, address, port, udp) == OTHERS

    broken.make_well()

    site.until_well("web", THREE)
    until_answering(site, address, THREE)


def test_a_dead_machine_is_left_within_the_default_checks_time(routed):
    """Two checks of two seconds, five seconds apart, and what comes before the first."""
    address = routed.serve(service("web", quick=False))[4]
    routed.until_well("web", THREE)

    routed.net.machines[1].cut()

    routed.until_well("web", OTHERS, 15)
    assert answering(routed, address) == OTHERS


def test_a_node_that_is_deleted_is_no_target_any_more(site):
    address = site.serve(service("web"))[4]

    site.kubelets.leave(site.net.machines[0])

    until_answering(site, address, {"machine2", "machine3"})


def test_while_no_node_is_seen_the_targets_stay_and_an_event_says_so(routed):
    address = routed.serve(service("web"))[4]
    for each in routed.net.machines[:3]:
        routed.kubelets.leave(each)

    [event] = until(lambda: routed.k8s.events("kube-system", "TargetRemovalWithheld",
                                              about="Namespace"), what="the event")

    assert "no Node is seen at all" in event["message"]
    kept = routed.manager.metric("isthmus_target_removals_withheld")
    assert len(answering(routed, address)) == kept > 0


def test_local_goes_to_machines_with_pods_only(site):
    site.kubelets.has_pods = {"machine1"}
    addresses = site.serve(service("web", ports=[WEB, DNS], dual=True,
                                   externalTrafficPolicy="Local"))
    site.until_well("web", {"machine1"})

    for family, address in addresses.items():
        client = site.net.clients[family][0]
        for port, udp in LISTENERS:
            answers = site.net.ask(address, port, udp=udp, count=20, sources=[client])
            assert set(names(answers)) == {"machine1"}
            assert {answer["client"] for answer in answers} == {
                site.net.host_address(family) if site.net.flat else client}

    site.kubelets.has_pods = {"machine2", "machine3"}

    for address in addresses.values():
        for port, udp in LISTENERS:
            until_answering(site, address, {"machine2", "machine3"}, port, udp)


def test_the_policy_can_change_and_the_address_stays(routed):
    routed.kubelets.has_pods = {"machine3"}
    address = routed.serve(service("web"))[4]
    assert answering(routed, address) == THREE

    routed.patch("web", {"spec": {"externalTrafficPolicy": "Local"}})

    until(lambda: names(routed.net.ask(address, 80, count=20, timeout=0.5)) == 20 * ["machine3"])
    assert routed.ready("web") == {4: address}


def test_where_kube_proxy_answers_on_loopback_only_the_kubelet_tells_who_is_well(make_site):
    site = make_site(joined=0)
    site.kubelets.proxy = "loopback"
    site.join(*site.net.machines[:3])

    address = site.serve(service("web", ports=[WEB, DNS]))[4]

    event = until(lambda: site.events("web", "NodeHealthFromKubelet"), 30)[0]
    assert str(PROXY_PORT) in event["message"], event
    site.until_well("web", THREE)
    site.net.machines[1].cut()
    site.until_well("web", OTHERS)
    for port, udp in LISTENERS:
        assert answering(site, address, port, udp) == OTHERS
    assert sum(each.get("count", 1) for each in site.events("web", "NodeHealthFromKubelet")) == 1


@pytest.mark.parametrize("how", ["flag", "annotation"])
def test_who_tells_whether_nodes_are_well_can_be_said(make_site, how):
    """With kube-proxy's word alone, a Node whose proxy does not answer is not well."""
    site = make_site(flags=["--lb-node-health=kubelet"] if how == "flag" else [])
    site.settle()
    site.kubelets.proxy = "nowhere"

    site.serve(service("web", annotations={} if how == "flag" else {
        "isthmus.dev/health-check-node": "kubelet"}))

    site.until_well("web", THREE)
    assert not site.events("web", kind="Warning"), site.tell("web")


def test_a_changed_address_of_a_machine_is_followed(make_site):
    site = make_site(flags=[OFTEN])
    address = site.serve(service("web"))[4]
    machine = site.net.machines[0]
    machine.namespace.ip("address add 10.88.0.99/24 dev eth0")
    try:
        lines = [inventory_line(each) for each in site.net.machines]
        lines[0]["addresses"][0]["address"] = "10.88.0.99"
        site.infra.set_machines(lines)

        until(lambda: Rules(site.net).slots(address).keys() == {
            "10.88.0.99", "10.88.0.12", "10.88.0.13"}, FOLLOWS_SECONDS)
        assert answering(site, address) == THREE
    finally:
        machine.namespace.ip("address del 10.88.0.99/24 dev eth0")
