"""Packets between networks that lie behind machines, through the backend's host."""

import pytest

from specs import inline, names
from tables import ours, with_owners


@pytest.fixture
def net(make_net, rootless):
    return make_net(rootless=rootless)


@pytest.fixture
def backend(net, make_backend, directory):
    """Its client is the owner `one`, and it knows the machines."""
    return with_owners(net, make_backend, directory)


def test_packets_reach_what_lies_behind_a_machine(net, pods, backend, tables):
    """Also where load balancers are served, whose rules leave these packets alone."""
    pods.must_not_talk(4)
    pods.must_not_talk(6)
    address = backend.serve("web", inline(net))["status"]["addresses"][0]

    table = tables.apply(pods.routes())

    pods.must_talk(1, 2)
    pods.must_talk(3, 1)
    names(net.ask(address, 80))
    assert {route["state"] for route in table["status"]["routes"]} == {"applied"}
    assert ours(net) == {pods.network(number, family): machine.address(family)
                         for number, machine in enumerate(net.machines, 1)
                         for family in (4, 6)}
    assert backend.metric("infra_routes", state="applied") == 6


def test_a_pod_is_a_target_and_a_client_of_a_load_balancer(net, pods, backend, tables):
    tables.apply(pods.routes())
    spec = inline(net)
    spec["targetGroups"][0]["targets"] = [{"address": pods.pod(2, 4), "port": net.PORT}]
    address = backend.serve("web", spec)["status"]["addresses"][0]
    assert names(net.ask(address, 80)) == ["machine2"]
    assert names(net.ask(address, 80, sources=[pods.pod(1, 4)],
                         namespace=net.machines[0].namespace)) == ["machine2"]
