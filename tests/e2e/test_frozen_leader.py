"""A leader that was frozen for longer than its lease and goes on in the middle of its work.

Two witnesses: the audit log of the API server, and who stands between the manager and the backend.
"""

import json
import os
import signal
import time

import pytest

from harness import kube, netns
from harness.apiserver import ApiServer
from harness.cell import Cell
from harness.wait import until

FROZEN_SECONDS = 60
WRITES = ("create", "update", "patch", "delete", "deletecollection")

POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
          "rules": [{"level": "Metadata", "users": ["old"], "verbs": list(WRITES)}, {"level": "None"}]}


@pytest.fixture
def cell(directory, stage):
    if reason := netns.why_not(os.geteuid() != 0):
        pytest.skip(f"no namespaces here: {reason}")
    policy = os.path.join(directory, "policy.yaml")
    with open(policy, "w", encoding="utf-8") as file:
        json.dump(POLICY, file)
    state = os.path.join(directory, "apiserver")
    os.makedirs(state)
    server = stage.add(ApiServer(state, users=["old:system:masters"], flags=[
        f"--audit-policy-file={policy}", f"--audit-log-path={directory}/audit.log"]))
    return stage.add(Cell(os.path.join(directory, "cell"), 60, server=server))


def asked(cell):
    """What the old leader asked for, as the API server has it: [(verb, resource, name, code)]."""
    with open(os.path.join(os.path.dirname(cell.directory), "audit.log"), encoding="utf-8") as file:
        events = [json.loads(line) for line in file if line.endswith("\n")]
    return [(event["verb"], event["objectRef"]["resource"], event["objectRef"].get("name"),
             event["responseStatus"]["code"]) for event in events]


def written(events):
    """Those that changed something.

    Between the last look at the clock and the kernel lie some microseconds in which a process may
    be frozen as well. Such a request names the version that it is about, and is refused.
    """
    return [event for event in events if event[3] < 400]


def test_a_leader_that_was_frozen_for_a_minute_writes_nothing_when_it_goes_on(cell):
    old = cell.start_manager(name="old", kubeconfig=cell.server.kubeconfig_of("old"))
    cell.join(*cell.names[:10])
    cell.serve()
    until(lambda: cell.targets() == set(cell.names[:10]), what="ten targets")
    until(lambda: asked(cell), what="writes in the audit log")
    first = cell.k8s.holder()
    others = cell.make_liar("others")
    cell.start_manager(name="new", liar=others)

    # Frozen in the middle of its work: a write to the cloud is held up on its way, and more of both
    # kinds is to be done.
    cell.liar.held.clear()
    count = len(cell.liar.writes)
    cell.join(*cell.names[10:12])
    until(lambda: len(cell.liar.writes) > count, what="a write to the cloud that is under way")
    for name in cell.names[12:]:
        cell.register(name)
    old.process.send(signal.SIGSTOP)
    time.sleep(0.5)  # For what it had sent before to arrive.
    frozen = time.monotonic()
    to_cloud = len(cell.liar.writes)
    cell.initialized(*cell.names, seconds=40)
    # Not at once where the old one had done all of it in its last half second.
    until(lambda: cell.k8s.holder() not in ("", first), 40, "another leader")
    until(lambda: cell.targets() == set(cell.names), 30, "all targets, by the new leader")
    time.sleep(max(0, frozen + FROZEN_SECONDS - time.monotonic()))
    to_cluster = len(asked(cell))
    nodes = {each["metadata"]["name"]: each["metadata"]["resourceVersion"]
             for each in cell.k8s.items(kube.NODES)}

    old.process.send(signal.SIGCONT)
    cell.liar.held.set()

    assert old.process.wait(20) == 1
    assert written(asked(cell)[to_cluster:]) == []
    assert cell.liar.writes[to_cloud:] == []
    assert cell.targets() == set(cell.names)
    assert nodes == {each["metadata"]["name"]: each["metadata"]["resourceVersion"]
                     for each in cell.k8s.items(kube.NODES)}
