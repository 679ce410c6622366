"""Two managers, default lease times: one acts, the other takes over."""

import signal
import time

from harness import kube
from harness.isthmus import machine
from harness.kube import is_tainted
from harness.wait import never_during, until
from test_initialization import initialized

CRASH_SECONDS = 20
GRACEFUL_SECONDS = 3
MACHINES = [machine(f"node{i}", address=f"10.0.0.{i}") for i in range(1, 5)]


def pair(k8s, make_infra, make_manager):
    """(leader, standby)"""
    infra = make_infra(MACHINES)
    leader = make_manager(infra, name="first")
    until(k8s.holder, what="a leader")
    standby = make_manager(infra, name="second")
    k8s.register("node1")
    initialized(k8s, "node1")
    assert leader.metric("leader_election_master_status", name="cloud-controller-manager") == 1
    assert standby.metric("leader_election_master_status", name="cloud-controller-manager") == 0
    return leader, standby


def seconds_until_initialized(k8s, name, begin, limit):
    initialized(k8s, name, limit)
    return time.monotonic() - begin


def test_after_a_crash_the_standby_takes_over(k8s, make_infra, make_manager):
    leader, standby = pair(k8s, make_infra, make_manager)
    before = k8s.get(kube.LEASE)["spec"]

    leader.process.kill()
    begin = time.monotonic()
    k8s.register("node2")

    assert seconds_until_initialized(k8s, "node2", begin, CRASH_SECONDS) <= CRASH_SECONDS
    after = k8s.get(kube.LEASE)["spec"]
    assert after["holderIdentity"] not in ("", before["holderIdentity"])
    assert after["leaseTransitions"] == before["leaseTransitions"] + 1
    assert standby.metric("leader_election_master_status", name="cloud-controller-manager") == 1


def test_a_leader_that_leaves_in_order_hands_over_at_once(k8s, make_infra, make_manager):
    leader, _ = pair(k8s, make_infra, make_manager)
    first = k8s.holder()

    begin = time.monotonic()
    code, seconds = leader.process.terminate()
    k8s.register("node2")

    assert (code, seconds < 3) == (0, True), seconds
    assert seconds_until_initialized(k8s, "node2", begin, GRACEFUL_SECONDS) <= GRACEFUL_SECONDS
    assert k8s.holder() not in ("", first)


def test_a_frozen_leader_that_wakes_up_writes_nothing(k8s, make_infra, make_manager):
    """SIGSTOP: the leader is not dead, only late; the lease has passed on when it goes on."""
    leader, _ = pair(k8s, make_infra, make_manager)
    first = k8s.holder()
    leader.process.send(signal.SIGSTOP)
    until(lambda: k8s.holder() not in ("", first), CRASH_SECONDS)

    leader.process.send(signal.SIGCONT)

    assert leader.process.wait(20) == 1
    never_during(lambda: k8s.holder() == first, 1)


def test_a_standby_does_nothing(k8s, make_infra, make_manager):
    leader, standby = pair(k8s, make_infra, make_manager)
    leader.process.send(signal.SIGSTOP)
    k8s.register("node2")
    # Far less than the lease lasts, and far more than an initialization takes.
    never_during(lambda: not is_tainted(k8s.node("node2")), 2)
    leader.process.send(signal.SIGCONT)
    initialized(k8s, "node2")
    assert standby.process.running


def test_the_leader_says_so_on_the_lease(k8s, make_infra, make_manager):
    make_manager(make_infra(MACHINES))
    holder = until(k8s.holder)
    path = kube.EVENTS.replace("default", "kube-system")
    events = until(lambda: [event for event in k8s.items(path)
                            if event["reason"] == "LeaderElection" and holder in event["message"]])
    assert events[0]["message"] == f"{holder} became leader"
    assert events[0]["involvedObject"]["kind"] == "Lease"
