"""Pods on different machines reach each other through the backend's host, by the routes that the
manager asks for."""

import os
import time

from harness import kube
from harness.isthmus import machine as inventory_machine
from harness.site import inventory_line
from harness.wait import until

from routed import FLAGS


def reach_each_other(site, *numbers):
    for source in numbers:
        for target in numbers:
            if source != target:
                site.pods.must_talk(source, target)


def test_pods_on_different_machines_reach_each_other(site):
    site.start_manager(*FLAGS)
    site.join(*site.net.machines[:3])
    site.until_routed(*site.net.machines[:3])
    reach_each_other(site, 1, 2, 3)
    assert len(site.kernel_routes()) == 6
    assert site.events_of(site.net.machines[0]) == []
    assert site.manager.metric("isthmus_routes", state="applied") == 6
    assert site.manager.metric("route_controller_route_sync_total", outcome="changed") >= 1


def test_a_machine_that_joins_is_reached_within_seconds(cluster):
    fourth = cluster.net.machines[3]
    cluster.pods.must_not_talk(4, 1, 4)
    cluster.join(fourth)
    cluster.until_routed(fourth, seconds=10)
    reach_each_other(cluster, 1, 4)


def test_a_link_that_flaps_is_repaired_and_the_condition_follows_both_ways(cluster):
    first = cluster.net.machines[0]
    cluster.net.host.write_settings({"ipv6/conf/eth1/keep_addr_on_down": 1})
    cluster.net.host.ip("link set eth1 down")
    cluster.until_condition(first, "True", "NoRouteCreated")
    assert len(cluster.events_of(first, "FailedToCreateRoute")) >= 1
    cluster.net.host.ip("link set eth1 up")
    cluster.until_routed(*cluster.net.machines[:3])
    reach_each_other(cluster, 1, 2)


def test_a_backend_that_is_killed_leaves_packets_flowing_and_comes_back(cluster):
    cluster.infra.process.kill()
    reach_each_other(cluster, 1, 2, 3)
    cluster.kubelets.join(cluster.net.machines[3], pod_cidrs=[
        cluster.pods.network(4, family) for family in (4, 6)])
    cluster.infra.start()
    cluster.until_routed(*cluster.net.machines, seconds=60)
    reach_each_other(cluster, 1, 4)


def test_a_backend_that_lost_its_store_keeps_every_route_that_a_node_may_need(cluster):
    """And what no Node has goes as if its Node had just left."""
    before = cluster.kernel_routes()
    cluster.infra.process.terminate()
    for name in os.listdir(cluster.infra.directory):
        if name.startswith("infra.db"):
            os.unlink(cluster.infra.path(name))
    cluster.net.host.ip(
        f"route add 10.244.77.0/24 via {cluster.net.machines[2].v4} proto 66 metric 66")
    cluster.infra.start()
    until(cluster.tables, 60, "the table is asked for again")
    lost_at = time.monotonic()
    assert cluster.kernel_routes().items() > before.items()
    reach_each_other(cluster, 1, 2, 3)
    until(lambda: cluster.kernel_routes() == before, 240, "what no Node has is gone")
    assert time.monotonic() - lost_at >= 60
    assert cluster.manager.metric("isthmus_routes_removed_total") == 1


def test_a_manager_that_is_killed_leaves_the_routes_and_the_next_writes_nothing(cluster):
    generation = cluster.tables()[0]["metadata"]["generation"]
    version = cluster.k8s.node("machine1")["status"]["conditions"]
    cluster.crash_manager()
    reach_each_other(cluster, 1, 2)
    cluster.start_manager(*FLAGS, name="second")
    until(lambda: cluster.manager.metric("isthmus_routes", state="applied") == 6,
          what="the next manager knows the routes")
    assert cluster.tables()[0]["metadata"]["generation"] == generation
    said = [each for each in cluster.k8s.node("machine1")["status"]["conditions"]
            if each["type"] == "NetworkUnavailable"]
    assert said == [each for each in version if each["type"] == "NetworkUnavailable"]


def test_a_foreign_route_keeps_its_place_and_is_told(site):
    first, second = site.net.machines[:2]
    foreign = site.pods.network(1, 4)
    site.net.host.ip(f"route add {foreign} via {second.v4} proto static metric 66")
    site.start_manager(*FLAGS)
    site.join(first, second)
    site.until_routed(second)
    site.until_condition(first, "True", "NoRouteCreated")
    [event] = site.events_of(first, "FailedToCreateRoute")
    assert foreign in event["message"] and "ForeignRoute" in event["message"], event
    assert f"{foreign} via {second.v4}" in site.net.host.run("ip", "route", "show", "proto", "static")
    site.net.host.ip(f"route del {foreign} via {second.v4} proto static metric 66")
    site.until_routed(first, seconds=60)
    reach_each_other(site, 1, 2)


def test_a_route_that_other_hands_delete_comes_back(cluster):
    network = cluster.pods.network(2, 4)
    cluster.net.host.ip(f"route del {network} proto 66")
    until(lambda: network in cluster.kernel_routes(), 40, "the route is back")
    reach_each_other(cluster, 1, 2)


def test_the_route_of_a_deleted_node_stays_a_minute_and_goes(cluster):
    third = cluster.net.machines[2]
    cluster.kubelets.leave(third)
    deleted_at = time.monotonic()
    networks = {cluster.pods.network(3, family) for family in (4, 6)}
    until(lambda: not networks & cluster.kernel_routes().keys(), 150, "the routes are gone")
    assert time.monotonic() - deleted_at >= 60
    reach_each_other(cluster, 1, 2)
    assert cluster.manager.metric("isthmus_routes_removed_total") == 2


def test_while_no_node_is_seen_no_route_goes_and_an_event_says_so(cluster):
    for each in cluster.net.machines[:3]:
        cluster.kubelets.leave(each)

    [event] = until(lambda: cluster.k8s.events("kube-system", "RouteRemovalWithheld",
                                               about="Namespace"), what="the event")

    assert "6 routes without a Node are kept: no Node is seen" in event["message"]
    assert cluster.manager.metric("isthmus_route_removals_withheld") == 6
    reach_each_other(cluster, 1, 2, 3)


def test_a_cidr_that_moves_to_another_machine_moves_with_its_packets(cluster):
    third, fourth = cluster.net.machines[2:4]
    networks = [cluster.pods.network(3, family) for family in (4, 6)]
    cluster.kubelets.leave(third)
    cluster.join(fourth, cidrs=networks)
    cluster.until_routed(fourth)
    routes = cluster.kernel_routes()
    assert routes[networks[0]] == fourth.v4 and routes[networks[1]] == fourth.v6, routes


def test_two_hundred_nodes_are_one_table_and_few_puts(site):
    lines = [inventory_line(each) for each in site.net.machines]
    lines += [inventory_machine(f"far{i}", addresses=[
        {"type": "InternalIP", "address": f"10.88.0.{50 + i}"}]) for i in range(200)]
    site.infra.set_machines(lines)
    until(lambda: site.infra.client.request("GET", "/v1/instances/uid-far199").status == 200,
          what="the inventory is read")
    for i in range(200):
        site.k8s.register(f"far{i}", pod_cidrs=[f"10.244.{i}.0/24"])
    site.start_manager(*FLAGS)
    until(lambda: len(site.kernel_routes()) == 200, 60, "two hundred routes")
    until(lambda: sum(site.condition(f"far{i}") == ("False", "RouteCreated")
                      for i in range(0, 200, 20)) == 10, 60, "their conditions")
    assert site.tables()[0]["metadata"]["generation"] <= 5


def test_a_node_of_nobody_is_reached_at_its_address_and_not_written(cluster):
    fourth = cluster.net.machines[3]
    cluster.kubelets.join(fourth, tainted=False, pod_cidrs=[cluster.pods.network(4, 4)],
                          addresses=[{"type": "InternalIP", "address": fourth.v4}])

    until(lambda: cluster.pods.ask(1, 4, 4).get("machine") == "machine4", what="its pods answer")

    assert cluster.kernel_routes()[cluster.pods.network(4, 4)] == fourth.v4
    assert cluster.condition(fourth.name) is None
    assert "providerID" not in cluster.k8s.node(fourth.name)["spec"]


def test_a_bad_cidr_is_one_nodes_trouble(cluster):
    fourth = cluster.net.machines[3]
    cluster.join(fourth, cidrs=["192.168.50.0/24"])
    [event] = until(lambda: cluster.events_of(fourth, "PodCIDROutsideClusterCIDR"),
                    what="the event")
    assert "192.168.50.0/24" in event["message"] and "--cluster-cidr" in event["message"]
    reach_each_other(cluster, 1, 2)


def test_a_network_plugin_keeps_its_condition_and_one_event_says_what_that_means(site):
    machines = site.net.machines[:2]
    for i, each in enumerate(machines, 1):
        site.kubelets.join(each, pod_cidrs=[site.pods.network(i, 4)])
        site.k8s.request("PATCH", f"{kube.NODES}/{each.name}/status", body={
            "status": {"conditions": [{
                "type": "NetworkUnavailable", "status": "False", "reason": "CalicoIsUp",
                "message": "calico", "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]}},
            headers={"Content-Type": kube.STRATEGIC})
    site.start_manager(*FLAGS)
    until(lambda: len(site.kernel_routes()) == 2, what="the routes")

    def told():
        events = [event for each in machines for event in site.events_of(each)]
        assert [event["reason"] for event in events] == ["RoutesProbablyNotNeeded"], events
        assert "--configure-cloud-routes=false" in events[0]["message"]
    until(told, what="one event")
    time.sleep(3)
    told()
    for each in machines:
        assert site.condition(each.name) == ("False", "CalicoIsUp")


def test_without_a_cluster_cidr_or_with_routes_off_all_else_goes_on(site):
    for number, flags in enumerate((["--cluster-cidr="], [*FLAGS, "--configure-cloud-routes=false"])):
        manager = site.start_manager(*flags, name=f"manager{number}")
        each = site.net.machines[number]
        site.join(each)
        assert "no routes are made" in manager.process.output()
        assert site.condition(each.name) is None
        assert site.tables() == []
        site.crash_manager()
