"""What a Service may say that is not to be had: it gets its event, and all others go on."""

import json
import os

import pytest

from harness import isthmus, kube
from harness.meddler import Meddler
from harness.site import FINALIZER
from harness.topology import names
from harness.wait import never_during, until
from manifests import WEB, service


def annotated(**annotations):
    return {"annotations": {"isthmus.dev/" + name.replace("_", "-"): value
                            for name, value in annotations.items()}}


# What is wrong with a Service, the reason of its event, and a word of it that helps.
REFUSED = {
    "misspelt": (annotated(poool="public"), "InvalidAnnotation", "isthmus.dev/pool"),
    "reserved": (annotated(proxy_protocol="v2"), "InvalidAnnotation", "proxy-protocol"),
    "no-pool-name": (annotated(pool="../../etc\n\u0000\u202e"), "InvalidAnnotation", "pool"),
    "huge": (annotated(addresses="1," * 50000), "InvalidAnnotation", "addresses"),
    "no-address": (annotated(addresses="300.1.1.1"), "InvalidAnnotation", "addresses"),
    "no-source": (annotated(source_address="both"), "InvalidAnnotation", "masquerade"),
    "no-duration": (annotated(health_check_interval="-1s"), "InvalidAnnotation", "interval"),
    "two-mistakes": (annotated(pool="", source_address="x"), "InvalidAnnotation", "source-address"),
    "too-slow": (annotated(health_check_interval="1s", health_check_timeout="2s"),
                 None, "timeout"),
    "local-by-node": ({**annotated(health_check_node="kubelet"), "externalTrafficPolicy": "Local"},
                      None, "health-check-node"),
    "two-wishes": ({**annotated(addresses="10.77.0.201"), "loadBalancerIP": "10.77.0.202"},
                   None, "10.77.0.20"),
    "wrong-family": (annotated(addresses="fd77::c9"), None, "fd77::c9"),
    "loopback": (annotated(addresses="127.0.0.1"), None, "127.0.0.1"),
    "foreign": (annotated(addresses="203.0.113.1"), None, "203.0.113.1"),
    "no-pool": (annotated(pool="elsewhere"), None, "there is no pool elsewhere"),
    "sctp": ({"ports": [{**WEB, "protocol": "SCTP"}]}, "UnsupportedProtocol", "SCTP"),
    "no-node-port": ({"allocateLoadBalancerNodePorts": False}, "NoNodePort",
                     "allocateLoadBalancerNodePorts"),
    "500-ports": ({"ports": [{"name": f"p{i}", "port": 1000 + i} for i in range(500)]},
                  "TooManyPorts", "500"),
    "600-sources": ({"loadBalancerSourceRanges": [f"192.0.{i // 250}.{i % 250}/32"
                                                  for i in range(600)]},
                    "InvalidSourceRanges", "600"),
}


def test_each_gets_its_event_and_all_others_are_served(routed):
    routed.apply(service("before"))
    for name, (wish, _, _) in REFUSED.items():
        routed.apply(service(name, quick=name not in ("no-duration", "too-slow"), **wish))

    addresses = [routed.serve(service("after"))[4], routed.ready("before")[4]]

    for name, (_, reason, word) in REFUSED.items():
        event = routed.warned(name, word, reason=reason)
        assert len(event["message"]) <= 1024, event
    for address in addresses:
        assert names(routed.net.ask(address, 80, count=10))
    assert routed.net.bound() == routed.held() == set(addresses)
    for name in REFUSED:
        assert not routed.addresses(name), name
        told = sum(event.get("count", 1) for event in routed.events(name, kind="Warning"))
        assert told <= 2, routed.tell(name)


def test_whoever_puts_it_right_is_served_and_whoever_breaks_it_keeps_what_he_had(routed):
    routed.apply(service("web", annotations={"isthmus.dev/poool": "public"}))
    routed.warned("web")

    routed.patch("web", {"metadata": {"annotations": {"isthmus.dev/poool": None}}})
    address = routed.ready("web")[4]
    routed.patch("web", {"metadata": {"annotations": {"isthmus.dev/algorithm": "random"}}})

    routed.warned("web", "algorithm")
    never_during(lambda: routed.addresses("web") != {4: address}, 1)
    assert names(routed.net.ask(address, 80, count=3))
    routed.delete("web")
    until(lambda: not routed.balancers() and not routed.net.bound())


def test_a_hundred_ports_are_served(routed):
    ports = [{"name": f"p{i}", "port": 1000 + i} for i in range(100)]

    address = routed.serve(service("web", ports=ports))[4]

    for port in (1000, 1050, 1099):
        assert names(routed.net.ask(address, port, count=3))


def test_a_finalizer_of_somebody_else_keeps_the_service_but_not_the_load_balancer(routed):
    theirs = "example.com/keep"
    routed.serve(service("web", finalizers=[theirs]))
    assert set(routed.service("web")["metadata"]["finalizers"]) == {theirs, FINALIZER}

    routed.k8s.delete(f"{kube.SERVICES}/web")

    until(lambda: routed.service("web")["metadata"]["finalizers"] == [theirs])
    until(lambda: not routed.balancers() and not routed.net.bound())
    assert not routed.events("web", kind="Warning")
    # Its annotations may change still, and nobody gives it a finalizer, which is forbidden now.
    routed.patch("web", {"metadata": {"annotations": {"isthmus.dev/pool": "public"}}})
    never_during(lambda: routed.events("web", kind="Warning") or routed.balancers(), 1)
    routed.patch("web", {"metadata": {"finalizers": None}})
    assert routed.k8s.get_or_none(f"{kube.SERVICES}/web") is None


def _json(document):
    return 200, "application/json", json.dumps(document).encode()


def _balancer(**changes):
    return {"kind": "LoadBalancer", "metadata": {
        "owner": "local", "name": "someone", "uid": "u", "generation": 1, "revision": 1,
        **changes.pop("metadata", {})}, "spec": {}, "status": {"addresses": ["10.77.0.250"]},
        **changes}


NONSENSE = {
    "html": (200, "text/html", b"<html>Welcome to the proxy</html>"),
    "html-404": (404, "text/html", b"<html>not here</html>"),
    "crash": (500, "text/plain", b"oops"),
    "nothing": (200, "application/json", b""),
    "another-kind": _json({"kind": "Weather"}),
    "another-name": _json(_balancer()),
    "no-addresses": _json(_balancer(status={"addresses": [7, None, {"x": []}]})),
    "half": (200, "application/json", json.dumps(_balancer()).encode()[:-9]),
    "without-end": (200, "application/json", b" " * (20 << 20)),
    "problem-of-no-type": (418, "application/problem+json", b'{"status": 418}'),
}


@pytest.fixture
def meddled(routed, stage):
    """The site, its manager behind a meddler: what is PUT for the Service "victim" gets the answer
    `meddler.lie` names, and `meddler.lies` counts."""
    def meddle(method, _, body):
        if method != "PUT" or not meddler.lie:
            return None
        labels = json.loads(body).get("metadata", {}).get("labels", {})
        if labels.get("isthmus.dev/service-name") != "victim":
            return None
        meddler.lies += 1
        return NONSENSE[meddler.lie]
    path = os.path.join(routed.directory, "meddler.sock")
    meddler = stage.add(Meddler(path, routed.infra.socket, meddle))
    meddler.lie, meddler.lies = "html", 0
    routed.manager.end()
    routed.start_manager(*routed.flags, name="meddled", cloud_config=isthmus.write_cloud_config(
        os.path.join(routed.directory, "meddled.yaml"), "unix://" + path))
    routed.meddler = meddler
    return routed


def test_a_backend_that_answers_nonsense_for_one_keeps_no_other_waiting(meddled):
    meddled.apply(service("victim"))
    address = meddled.serve(service("web"))[4]
    for number, lie in enumerate(NONSENSE):
        meddled.meddler.lie, before = lie, meddled.meddler.lies
        meddled.patch("victim", {"metadata": {"annotations": {
            "isthmus.dev/health-check-fall": str(3 + number)}}})
        until(lambda b=before: meddled.meddler.lies > b, 30, f"asked, to say {lie}")

        port = 81 + number
        meddled.patch("web", {"spec": {"ports": [{**WEB, "port": port}]}})

        until(lambda p=port: names(meddled.net.ask(address, p, timeout=0.3)), what=lie)

    assert meddled.warned("victim")
    assert not meddled.addresses("victim"), meddled.tell("victim")
    assert meddled.service("victim")["metadata"]["finalizers"] == [FINALIZER]
    assert meddled.manager.process.memory("VmHWM") < 200e6
    assert meddled.net.bound() == {address}

    meddled.meddler.lie = None
    meddled.patch("victim", {"metadata": {"annotations": {"isthmus.dev/health-check-fall": None}}})

    assert meddled.ready("victim")
