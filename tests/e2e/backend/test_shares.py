"""Weights: which share of new flows each of 3, 100 and 1,000 targets gets."""

import collections
import math

import pytest

from harness.rules import Rules
from specs import inline

SLOTS = 128
# So many that chi square means something where a target owns a single slot.
FLOWS = 25 * SLOTS


@pytest.fixture
def net(make_net, rootless):
    return make_net(rootless=rootless)


def assert_shares(flows, slots):
    """That flows come as slots are owned, by chi square; chance fails it once in a million times
    (the bound of Laurent and Massart: more than d + 2 sqrt(d t) + 2 t in one of e^t)."""
    expected = {target: sum(flows.values()) * owned / SLOTS for target, owned in slots.items()}
    square = sum((flows[target] - share) ** 2 / share for target, share in expected.items())
    degrees, t = len(slots) - 1, 14
    assert square < degrees + 2 * math.sqrt(degrees * t) + 2 * t, (square, flows)


@pytest.mark.parametrize("protocol, family", [("TCP", 4), ("UDP", 6)])
@pytest.mark.parametrize("targets", [3, 100, 1000])
def test_flows_come_in_the_shares_of_the_weights(net, make_backend, protocol, family, targets):
    addresses = net.many(targets, family)
    weights = [6, 2, 0] if targets == 3 else [1 + i % 2 * 2 for i in range(targets)]
    backend = make_backend(net)
    spec = inline(net, protocol=protocol, family=family)
    spec["targetGroups"][0]["targets"] = [
        {"address": address, "port": net.PORT, "weight": weight}
        for address, weight in zip(addresses, weights)]

    said = backend.serve("web", spec)

    address = said["status"]["addresses"][0]
    slots = Rules(net).slots(address, protocol)
    judge_slots(slots, dict(zip(addresses, weights)))
    assert said["status"]["targets"]["serving"] == len(slots)
    assert said["status"]["targets"]["total"] == targets
    answers = net.ask(address, 80, udp=protocol == "UDP", count=FLOWS)
    assert not [answer for answer in answers if "error" in answer]
    flows = collections.Counter(answer["local"] for answer in answers)
    assert flows.keys() == slots.keys()
    assert_shares(flows, slots)


def judge_slots(slots, weights):
    """Every target of a weight owns a slot, as long as there are slots, and equal weights differ
    by at most one."""
    usable = {target: weight for target, weight in weights.items() if weight}
    assert sum(slots.values()) == SLOTS
    assert slots.keys() <= usable.keys() and len(slots) == min(len(usable), SLOTS)
    if len(usable) > SLOTS:
        assert set(slots.values()) == {1}
        return
    for weight in set(usable.values()):
        owned = {slots[target] for target in usable if usable[target] == weight}
        assert max(owned) - min(owned) <= 1, (weight, owned)
    heavy, light = max(usable.values()), min(usable.values())
    by_weight = {w: sum(slots[t] for t in usable if usable[t] == w) for w in (heavy, light)}
    assert by_weight[heavy] > by_weight[light]
    if len(usable) == 2:
        assert by_weight == {6: 96, 2: 32}


def test_with_more_targets_than_slots_one_that_fails_is_replaced(net, make_backend):
    backend = make_backend(net)
    addresses = net.many(200)
    spec = inline(net)

    def put(targets):
        spec["targetGroups"][0]["targets"] = [{"address": a, "port": net.PORT} for a in targets]
        return backend.serve("web", spec)["status"]["addresses"][0]

    address = put(addresses)
    before = Rules(net).slots(address)
    gone = set(list(before)[:10])
    put([a for a in addresses if a not in gone])

    after = Rules(net).slots(address)
    assert len(after) == SLOTS and not gone & after.keys()
    assert before.keys() - gone <= after.keys()  # Whoever served and stays, serves.
