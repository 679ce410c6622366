"""The backend runs on a Kubernetes node itself: driver announce holds the address there, and that
node's kube-proxy balances.
"""

import pytest

from cluster import ADDRESS, CLIENT, NODES, OTHER_CLIENT, clients_of, machines_of
from harness.processes import Stage
from harness.wait import until
from manifests import service
from road import FINALIZER, NO_LOCAL_TARGET, REPAIRED, Foreign, Road

HOLDER = "node1"


@pytest.fixture(scope="module")
def foreign(cluster):
    with Stage() as stage:
        yield stage.add(Foreign(cluster.nodes[HOLDER], "eth0", ADDRESS["node2"]))


@pytest.fixture(scope="module")
def whole_road(cluster, foreign):
    with Stage() as stage:
        road = stage.add(Road(cluster, HOLDER, cluster.nodes[HOLDER], driver="announce",
                              interface="eth0", ranges=["192.168.50.192/28"], routes=False))
        road.start_routes()
        road.start()
        yield road


def test_cluster_reaches_pods_on_all_machines(road):
    road.cluster.apply(service("web"))

    address = road.address("web")

    assert FINALIZER in road.service("web")["metadata"]["finalizers"]
    assert road.bound() - {Foreign.ADDRESS} == {address}
    for udp, port in ((False, 80), (True, 53)):
        assert machines_of(road.answers(address, port, udp=udp, count=40)) == set(NODES)
    for name in NODES:
        machines_of(road.answers(address, inside=road.cluster.nodes[name]))
    assert not road.told("web", NO_LOCAL_TARGET)


def test_who_is_outside_the_source_ranges_gets_no_answer(road):
    road.cluster.apply(service("web", loadBalancerSourceRanges=[CLIENT + "/32"]))

    address = road.address("web")

    road.answers(address)
    assert road.is_silent(address, source=OTHER_CLIENT)


def test_local_reaches_pods_on_that_node_and_shows_the_client(road):
    road.cluster.apply(service("near", externalTrafficPolicy="Local"))

    address = road.address("near")

    for udp, port in ((False, 80), (True, 53)):
        answers = road.answers(address, port, udp=udp, count=20)
        assert machines_of(answers) == {HOLDER}
        assert clients_of(answers) == {CLIENT}


def test_local_without_a_pod_on_that_node_says_so(road):
    road.cluster.apply(service("near", of="single", externalTrafficPolicy="Local"))

    address = road.address("near")

    road.until_told("near", NO_LOCAL_TARGET, 30)
    assert road.is_silent(address)

    # A pod comes to the node, and the address is answered.
    road.start_pods(single=HOLDER)
    assert machines_of(road.answers(address, seconds=30)) == {HOLDER}
    road.start_pods(single="node2")


def test_an_address_that_somebody_deletes_comes_back(road):
    road.cluster.apply(service("web"))
    address = road.address("web")
    road.answers(address)
    repairs = road.backend_metric("infra_drift_repairs_total") or 0

    road.host.ip(f"address del {address}/32 dev eth0")

    until(lambda: address in road.bound(), 60, "the address is back")
    road.answers(address)
    assert road.address("web") == address
    until(lambda: road.balancer()["status"]["repairs"] >= 1, what="the status tells")
    assert road.backend_metric("infra_drift_repairs_total") > repairs
    road.until_told("web", REPAIRED)
    assert road.repairs("repaired") >= 1


def test_nothing_of_ours_is_left(road, foreign):
    road.cluster.apply(service("web"),
                       service("near", externalTrafficPolicy="Local"))
    road.answers(road.address("web"))
    road.answers(road.address("near"))

    road.delete("web", "near")

    assert road.balancers() == []
    until(lambda: "held" not in road.addresses().values(), what="no address is held")
    until(road.must_be_empty)
    until(foreign.must_be_alone)
