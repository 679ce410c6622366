"""Machines that are really gone, or only stopped, and what people may say about them.

With the shortest settings there are, and with the defaults by `tests/e2e/lies/run --hour`.
"""

import os
import re
import time

import pytest

from harness import kube, netns, rights
from harness.cell import Cell
from harness.isthmus import OFTEN
from harness.wait import never_during, until
from lie_settings import FLAGS, MIN_AGE_SECONDS, SEEN_AGE_SECONDS

SHUTDOWN = "node.cloudprovider.kubernetes.io/shutdown"
SAFETY = "/api/v1/namespaces/kube-system/configmaps"

# From the death of a machine whose Node is old enough.
REMOVED_SECONDS = 360

pytestmark = pytest.mark.skipif(netns.why_not(os.geteuid() != 0), reason="no namespaces here")


def in_time(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def confirm_gone(cell, name):
    uid = cell.k8s.node(name)["metadata"]["uid"]
    cell.k8s.patch(f"{kube.NODES}/{name}", {"metadata": {"annotations": {
        "isthmus.dev/node-confirmed-gone": f"{uid}@{in_time(600)}"}}})


def has_shutdown_taint(cell, name):
    return any(taint["key"] == SHUTDOWN for taint in cell.k8s.node(name)["spec"].get("taints", []))


@pytest.fixture
def cell(directory, stage, apiserver):
    made = stage.add(Cell(os.path.join(directory, "cell"), 30, server=apiserver))
    yield made
    made.k8s.client.request("DELETE", f"{SAFETY}/isthmus-safety")


def test_what_is_gone_goes_what_is_stopped_gets_its_taint_and_what_is_protected_stays(cell):
    gone, protected, confirmed, stopped, held = cell.names[:5]
    manager = cell.start_manager(*FLAGS)
    unborn = time.monotonic()
    cell.join(*cell.names)
    born = time.monotonic()
    cell.k8s.patch(f"{kube.NODES}/{protected}", {"metadata": {"annotations": {
        "isthmus.dev/node-protect": "true"}}})
    others = set(cell.names) - {gone, confirmed, held}

    # Stopped is not gone.
    cell.set_power(stopped, "stopped")
    cell.die(stopped)
    until(lambda: has_shutdown_taint(cell, stopped), 120, "the shutdown taint")
    cell.set_power(stopped, "running")
    cell.heartbeats.start(stopped)
    cell.say_ready(True, stopped)
    until(lambda: not has_shutdown_taint(cell, stopped), 60, "the taint is gone again")

    # One by one: two that die together are many for so small a cluster.
    cell.retire(protected)
    cell.die(protected)
    cell.retire(gone)
    cell.die(gone)
    died = time.monotonic()
    until(lambda: gone not in cell.there(), MIN_AGE_SECONDS + REMOVED_SECONDS, f"{gone} removed")
    removed = time.monotonic()
    assert removed - unborn >= SEEN_AGE_SECONDS
    assert removed - max(died, born + MIN_AGE_SECONDS) <= REMOVED_SECONDS
    until(lambda: cell.told("DeletingNode"), what="an event about the removed Node")

    # Somebody says so: nobody needs to be sure of it, unless everything is stopped.
    say(cell, "stop-all-mutations", "true")
    until(lambda: manager.metric("isthmus_mutations_stopped") == 1, 5, "stopped")
    cell.retire(held)
    cell.die(held)
    confirm_gone(cell, held)
    never_during(lambda: held not in cell.there(), 20)
    say(cell, "stop-all-mutations", "false")
    until(lambda: held not in cell.there(), 180, f"{held} removed")
    cell.retire(confirmed)
    cell.die(confirmed)
    confirm_gone(cell, confirmed)
    until(lambda: confirmed not in cell.there(), 60, f"{confirmed} removed")

    assert cell.there() == others
    events = [event["message"] for event in cell.told("NodeDeletionWithheld")
              if event["involvedObject"]["name"] == protected]
    assert any("isthmus.dev/node-protect" in message for message in events), events
    assert not has_shutdown_taint(cell, protected)


def say(cell, key, value):
    cell.k8s.client.request("DELETE", f"{SAFETY}/isthmus-safety")
    cell.k8s.create(SAFETY, {"metadata": {"name": "isthmus-safety"}, "data": {key: value}})


def test_many_at_once_are_held_until_somebody_acknowledges_it(cell):
    """More than a tenth of the cluster, spread over the zones."""
    manager = cell.start_manager(*FLAGS)
    cell.join(*cell.names)
    many = cell.names[:8]
    cell.retire(*many)
    cell.die(*many)

    breaker = until(lambda: breaker_in(cell), MIN_AGE_SECONDS + REMOVED_SECONDS, "a breaker's id")

    assert breaker.startswith("node-deletion/cluster/"), breaker
    never_during(lambda: cell.there() != set(cell.names), 20)
    assert manager.metric("isthmus_node_deletion_breakers", kind="cluster") == 1
    say(cell, "acknowledge", f"{breaker}@{in_time(0)}")
    until(lambda: cell.there() != set(cell.names), MIN_AGE_SECONDS + REMOVED_SECONDS, "one removed")
    until(lambda: any("slow_pace" in event["message"]
                      for event in cell.told("NodeDeletionWithheld")), what="the others wait")
    left = set(cell.names) - cell.there()
    assert len(left) == 1 and left < set(many), left


def breaker_in(cell):
    """The id of the breaker that holds deletions, as the events name it."""
    for event in cell.told("NodeDeletionWithheld"):
        found = re.search(r"node-deletion/[^\s,;)\"]+", event["message"])
        if found:
            return found.group().rstrip(".")
    return ""


def test_without_the_right_to_delete_it_is_told_and_the_node_stays(cell, apiserver):
    rights.grant(cell.k8s, [*rights.rules(without={("nodes", "delete")})])
    cell.start_manager(*FLAGS, OFTEN, kubeconfig=apiserver.kubeconfig_of("isthmus"))
    gone = cell.names[0]
    cell.join(*cell.names)
    cell.retire(gone)
    cell.die(gone)

    confirm_gone(cell, gone)

    event = until(lambda: cell.told("NodeDeletionDenied"), 60, "an event")[0]
    assert (event["type"], event["involvedObject"]["name"]) == ("Warning", gone)
    never_during(lambda: gone not in cell.there(), 5)
