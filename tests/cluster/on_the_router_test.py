"""Services of a real cluster get load balancers on the nodes' router: driver nft.

kube-proxy masquerades what comes in for policy Cluster, so pods see the client's own address with
Local and sourceAddress keep only.
"""

import pytest

from cluster import ADDRESS, CLIENT, NODES, OTHER_CLIENT, clients_of, machines_of
from harness.isthmus import machine
from harness.kube import is_tainted
from harness.processes import Stage
from harness.wait import until
from manifests import PORTS, service
from road import FINALIZER, MADE_ANEW, OWNER, REFUSED, REPAIRED, Foreign, Road

KEEP = {"isthmus.dev/source-address": "keep"}
EVERYWHERE = {ADDRESS[name] for name in NODES}


@pytest.fixture(scope="module")
def foreign(cluster):
    with Stage() as stage:
        yield stage.add(Foreign(cluster.router, "front", CLIENT))


@pytest.fixture(scope="module")
def whole_road(cluster, foreign):
    with Stage() as stage:
        road = stage.add(Road(cluster, "router", cluster.router, driver="nft", interface="front",
                              ranges=["10.77.0.192/30"]))
        road.start()
        yield road


def test_three_machines_are_initialized(road):
    for name in NODES:
        node = road.cluster.node(name)
        assert not is_tainted(node)
        assert node["spec"]["providerID"] == "isthmus://" + machine(name)["uid"]
        assert "isthmus" in road.cluster.writers(name)


def test_pods_reach_each_other_by_routes_of_ours_alone(road):
    """No machine has a route but its way out, and the router has those that we made."""
    road.until_pods_reach_each_other()

    routes = road.kernel_routes()
    ranges = {name: road.cluster.node(name)["spec"]["podCIDR"] for name in NODES}
    assert routes == {ranges[name]: ADDRESS[name] for name in NODES}
    for name, namespace in road.cluster.nodes.items():
        elsewhere = [ranges[other] for other in NODES if other != name]
        assert not any(each in namespace.run("ip", "route") for each in elsewhere)
        (said,) = [each for each in road.cluster.node(name)["status"]["conditions"]
                   if each["type"] == "NetworkUnavailable"]
        assert (said["status"], said["reason"]) == ("False", "RouteCreated")


def test_cluster_reaches_pods_on_all_machines(road):
    road.cluster.apply(service("web"))

    address = road.address("web")

    assert FINALIZER in road.service("web")["metadata"]["finalizers"]
    assert road.bound() - {Foreign.ADDRESS} == {address}
    for udp, port in ((False, 80), (True, 53)):
        assert machines_of(road.answers(address, port, udp=udp, count=40)) == set(NODES)
        slots = road.rules().slots(address, "UDP" if udp else "TCP", port)
        assert set(slots) == EVERYWHERE
    # Who is behind the load balancer is answered, too.
    for name in NODES:
        machines_of(road.answers(address, inside=road.cluster.nodes[name]))


def test_who_is_outside_the_source_ranges_gets_no_answer(road):
    road.cluster.apply(service("web", loadBalancerSourceRanges=[CLIENT + "/32"]))

    address = road.address("web")

    road.answers(address)
    assert road.is_silent(address, source=OTHER_CLIENT)

    road.patch("web", loadBalancerSourceRanges=[CLIENT + "/32", OTHER_CLIENT + "/32"])
    road.answers(address, source=OTHER_CLIENT)


def test_local_reaches_machines_with_a_pod_and_shows_the_client(road):
    road.cluster.apply(service("near", of="single", externalTrafficPolicy="Local",
                               annotations=KEEP))

    address = road.address("near")

    for udp, port in ((False, 80), (True, 53)):
        until_only(road, "node2", address, port, udp)
    assert clients_of(road.answers(address, source=OTHER_CLIENT)) == {OTHER_CLIENT}

    # The pod moves; the health check node ports tell.
    road.start_pods(single="node3")
    until_only(road, "node3", address)
    road.start_pods(single="node2")


def until_only(road, node, address, port=80, udp=False):
    """Only this Node is sent to, by the kernel's word too, and its pod sees the client."""
    def holds():
        slots = road.rules().slots(address, "UDP" if udp else "TCP", port)
        assert set(slots) == {ADDRESS[node]}, slots
    until(holds, 30, f"only {node} serves {address}:{port}")
    answers = road.answers(address, port, udp=udp)
    assert machines_of(answers) == {node}
    assert clients_of(answers) == {CLIENT}


def test_rules_that_somebody_deletes_come_back(road):
    road.cluster.apply(service("web"))
    address = road.address("web")
    road.answers(address)
    repairs = road.backend_metric("infra_drift_repairs_total") or 0

    road.host.run("nft", "delete", "table", "inet", "isthmus")

    road.answers(address, seconds=60)
    assert set(road.rules().slots(address)) == EVERYWHERE
    assert road.address("web") == address
    until(lambda: road.balancer()["status"]["repairs"] >= 1, what="the status tells")
    assert road.backend_metric("infra_drift_repairs_total") > repairs
    road.until_told("web", REPAIRED)
    assert road.repairs("repaired") >= 1


def test_a_load_balancer_that_somebody_deletes_comes_back(road):
    road.cluster.apply(service("web"))
    address = road.address("web")
    road.answers(address)
    before = road.balancer()["metadata"]

    answer = road.infra.client.request(
        "DELETE", f"/v1/owners/{OWNER}/loadbalancers/" + before["name"])

    assert answer.status == 202, answer.text
    until(lambda: [each["metadata"]["name"] for each in road.balancers()] == [before["name"]]
          and road.balancer()["metadata"]["uid"] != before["uid"], 60, "it is made anew")
    road.answers(address, seconds=60)
    until(lambda: road.address("web") == address, 60, "its status has the address")
    road.until_told("web", MADE_ANEW)
    assert road.repairs("recreated") >= 1


def test_ports_change(road):
    road.cluster.apply(service("web"))
    address = road.address("web")
    road.answers(address)

    road.patch("web", ports=[PORTS[0] | {"port": 8000}, PORTS[1]])

    road.answers(address, 8000)
    until(lambda: road.is_silent(address), what="the old port is silent")
    road.answers(address, 53, udp=True)


def test_a_service_of_another_type_has_no_load_balancer(road):
    road.cluster.apply(service("web"))
    address = road.address("web")
    road.answers(address)

    road.patch("web", type="ClusterIP")

    until(lambda: FINALIZER not in road.service("web")["metadata"].get("finalizers", []),
          what="the finalizer goes")
    assert road.ingress("web") == []
    assert road.balancers() == []
    assert road.bound() == {Foreign.ADDRESS}
    assert road.rules().listeners() == set()
    assert road.is_silent(address)


def test_an_impossible_wish_waits_until_it_is_possible(road):
    wish = "10.77.0.210"
    road.cluster.apply(service("web", annotations={"isthmus.dev/addresses": wish}))

    messages = road.until_told("web", REFUSED)
    assert any(wish in message for message in messages), messages
    assert road.ingress("web") == []

    road.set_ranges("10.77.0.192/30", wish + "/32")

    assert road.address("web", 60) == wish
    road.answers(wish)


def test_nothing_of_ours_is_left(road, foreign):
    road.cluster.apply(service("web"),
                       service("near", of="single", externalTrafficPolicy="Local"))
    road.answers(road.address("web"))
    road.answers(road.address("near"), seconds=30)

    road.delete("web", "near")

    assert road.balancers() == []
    until(lambda: "held" not in road.addresses().values(), what="no address is held")
    until(road.must_be_empty)
    until(foreign.must_be_alone)
