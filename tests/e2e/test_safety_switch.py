"""The ConfigMap by which people stop everything."""

import os

import pytest

from harness import kube, netns
from harness.cell import Cell
from harness.isthmus import machine
from harness.kube import is_tainted
from harness.wait import never_during, until
from test_initialization import initialized

SAFETY = "/api/v1/namespaces/kube-system/configmaps"
STOP_SECONDS = 5


@pytest.fixture(autouse=True)
def nothing_is_said(k8s):
    yield
    k8s.client.request("DELETE", f"{SAFETY}/isthmus-safety")


def say(k8s, **data):
    k8s.client.request("DELETE", f"{SAFETY}/isthmus-safety")
    k8s.create(SAFETY, {"metadata": {"name": "isthmus-safety"},
                        "data": {key.replace("_", "-"): value for key, value in data.items()}})


def told(k8s, reason):
    events = k8s.items(kube.EVENTS.replace("default", "kube-system"))
    return [event for event in events if event["reason"] == reason
            and event["involvedObject"]["kind"] == "ConfigMap"]


def test_nothing_is_changed_while_it_says_so_and_the_lease_is_kept(k8s, make_infra, make_manager):
    manager = make_manager(make_infra([machine("node1", address="10.0.0.1")]))
    holder = until(k8s.holder, what="a leader")

    say(k8s, stop_all_mutations="true")

    until(lambda: manager.metric("isthmus_mutations_stopped") == 1, STOP_SECONDS, "stopped")
    k8s.register("node1")
    never_during(lambda: not is_tainted(k8s.node("node1")), 20)
    assert k8s.holder() == holder
    assert manager.is_alive()
    event = until(lambda: told(k8s, "MutationsStopped"), what="an event")[0]
    assert (event["type"], event["count"]) == ("Warning", 1)

    k8s.delete(f"{SAFETY}/isthmus-safety")

    initialized(k8s, "node1", 130)
    assert until(lambda: told(k8s, "MutationsResumed"), what="an event")
    assert manager.metric("isthmus_mutations_stopped") == 0


def test_a_value_that_is_no_word_of_ours_is_told_and_stops(k8s, make_infra, make_manager):
    manager = make_manager(make_infra([machine("node1", address="10.0.0.1")]))
    until(k8s.holder, what="a leader")

    say(k8s, stop_all_mutations="flase", acknowlege="x")

    until(lambda: manager.metric("isthmus_mutations_stopped") == 1, STOP_SECONDS, "stopped")
    for word in ("flase", "acknowlege"):  # Each by an event of its own, one after the other.
        until(lambda: any(word in event["message"]
                          for event in told(k8s, "InvalidSafetySetting")), what=f"told of {word}")


def test_nothing_goes_to_the_cloud_either(directory, stage, apiserver):
    if reason := netns.why_not(os.geteuid() != 0):
        pytest.skip(f"no namespaces here: {reason}")
    cell = stage.add(Cell(os.path.join(directory, "cell"), 4, server=apiserver))
    manager = cell.start_manager()
    cell.join(*cell.names[:2])
    cell.serve()
    until(lambda: cell.targets() == {"node1", "node2"}, what="two targets")
    say(cell.k8s, stop_all_mutations="true")
    until(lambda: manager.metric("isthmus_mutations_stopped") == 1, STOP_SECONDS, "stopped")
    before = len(cell.liar.writes)

    # A Node that somebody removes, and a Service that is to go.
    cell.heartbeats.stop("node2")
    cell.k8s.delete(f"{kube.NODES}/node2")
    cell.k8s.delete(f"{kube.SERVICES}/web")

    never_during(lambda: cell.liar.writes[before:], 10)
    assert cell.targets() == {"node1", "node2"}
    say(cell.k8s, stop_all_mutations="false")
    until(lambda: cell.k8s.get_or_none(f"{kube.SERVICES}/web") is None, 150, "the Service gone")
    assert not cell.balancers()
