"""A cluster whose kubelets wait for no cloud: Nodes are theirs alone, no inventory names them, and
the service controller by itself gives Services their addresses.
"""

import pytest

from cluster import ADDRESS, NODES, clients_of, machines_of
from harness.kube import addresses, is_tainted
from harness.processes import Stage
from harness.wait import until
from manifests import service
from road import Road


@pytest.fixture(scope="module")
def cluster(clusters):
    return clusters("none")


@pytest.fixture(scope="module")
def road(cluster):
    with Stage() as stage:
        road = stage.add(Road(cluster, "router", cluster.router, driver="nft", interface="front",
                              ranges=["10.77.0.192/28"], machines=None,
                              flags=["--controllers=service-lb-controller,"
                                     "node-route-controller"]))
        road.start()
        yield road
        road.delete("web", "near")


def test_the_kubelets_wait_for_nobody(cluster):
    for name in NODES:
        node = cluster.node(name)
        assert not is_tainted(node)
        assert addresses(node) == [("InternalIP", ADDRESS[name]), ("Hostname", name)]


def test_pods_reach_each_other_by_the_addresses_of_their_nodes(road):
    road.until_pods_reach_each_other()

    assert set(road.kernel_routes().values()) == set(ADDRESS.values())


def test_services_get_addresses_and_answer(road):
    road.cluster.apply(
        service("web"),
        service("near", of="single", externalTrafficPolicy="Local",
                annotations={"isthmus.dev/source-address": "keep"}))

    web, near = road.address("web"), road.address("near")

    for udp, port in ((False, 80), (True, 53)):
        assert machines_of(road.answers(web, port, udp=udp, count=40)) == set(NODES)
    until(lambda: set(road.rules().slots(near)) == {ADDRESS["node2"]}, 30, "only node2 serves")
    answers = road.answers(near)
    assert machines_of(answers) == {"node2"}
    assert clients_of(answers) == {"10.77.0.10"}


def test_a_service_goes(road):
    road.delete("web", "near")

    assert road.balancers() == []
    assert road.bound() == set()


def test_no_node_was_written(road):
    for name in NODES:
        assert "isthmus" not in road.cluster.writers(name)
        assert "providerID" not in road.cluster.node(name)["spec"]
