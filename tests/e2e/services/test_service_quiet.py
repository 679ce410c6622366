"""A noisy world: what is told to people, and what is written, stays little."""

import signal
import time

from harness import kube
from harness.rules import Rules
from harness.wait import until
from manifests import service

NOISE_SECONDS = 12

# Of one Service in all of that time. What it tells is its transitions, and there are few.
EVENTS_MAX = 8


def told(site, name):
    return sum(event.get("count", 1) for event in site.events(name))


def test_noise_is_followed_without_spam(routed):
    """Labels and heartbeats of Nodes, Services that others annotate, a machine that comes and goes,
    and a backend that is restarted."""
    addresses = [routed.serve(service(name))[4] for name in ("one", "two")]
    flapping = routed.net.machines[2]
    writes = {name: writes_of_ours(routed, name) for name in ("one", "two")}
    with routed.net.asking(addresses[0], 80) as load:
        end = time.monotonic() + NOISE_SECONDS
        turn = 0
        while time.monotonic() < end:
            make_noise(routed, flapping, turn)
            turn += 1
        flapping.make_well()
        assert load.stop()["failed"] < 20  # Those that the stopped machine had to answer.

    routed.until_well("one", {"machine1", "machine2", "machine3"})
    for name in ("one", "two"):
        assert told(routed, name) <= EVENTS_MAX, routed.tell(name)
        assert writes_of_ours(routed, name) == writes[name]


def writes_of_ours(site, name):
    """When and what the manager has written last, as the API server keeps it."""
    return [entry for entry in site.service(name)["metadata"]["managedFields"]
            if entry["manager"].startswith("isthmus")]


def make_noise(site, flapping, turn):
    kind = turn % 5
    if kind == 0:
        site.k8s.patch(f"{kube.NODES}/machine1", {"metadata": {"labels": {"noise": str(turn)}}})
    elif kind == 1:
        site.patch("one", {"metadata": {"annotations": {"example.com/noise": str(turn)}}})
        site.patch("two", {"metadata": {"labels": {"noise": str(turn)}}})
    elif kind == 2:
        flapping.process.send(signal.SIGSTOP if turn % 2 else signal.SIGCONT)
    elif kind == 3 and turn % 20 == 3:
        site.infra.process.kill()
        site.infra.start()
    else:
        site.net.ask(site.addresses("two")[4], 80, timeout=0.3)


def test_changes_that_do_not_matter_write_nothing(routed):
    address = routed.serve(service("web"))[4]
    routed.until_well("web", {"machine1", "machine2", "machine3"})
    before = routed.balancer("web")["metadata"]

    routed.patch("web", {"metadata": {"annotations": {"example.com/x": "1"},
                                      "labels": {"app": "x"}},
                         "spec": {"internalTrafficPolicy": "Local", "selector": {"app": "y"}}})
    routed.k8s.patch(f"{kube.NODES}/machine1", {
        "metadata": {"labels": {"x": "y"}}, "spec": {"unschedulable": True}})

    # What matters comes after it, and is all that is seen; of it the load balancer knows nothing.
    routed.join(routed.net.machines[3])
    until(lambda: len(Rules(routed.net).slots(address)) == 4)
    after = routed.balancer("web")["metadata"]
    assert (after["generation"], after["uid"]) == (before["generation"], before["uid"]) == (
        1, before["uid"])
    assert not routed.events("web", kind="Warning"), routed.tell("web")
