"""The API server restarts, forgets its history, or is out of reach."""

from harness import kube, rights
from harness.isthmus import machine
from harness.kube import is_tainted
from harness.wait import until
from test_initialization import initialized

MACHINES = [machine(f"node{i}", address=f"10.0.0.{i}") for i in range(1, 9)]


def test_after_a_crash_of_the_api_server_work_goes_on(
        make_apiserver, make_infra, make_manager):
    server = make_apiserver()
    manager = make_manager(make_infra(MACHINES), kubeconfig=server.manager_kubeconfig)
    server.kube.register("node1")
    initialized(server.kube, "node1")

    server.kill()
    server.start()
    server.kube.register("node2")

    initialized(server.kube, "node2", 60)
    assert manager.process.running


def test_nodes_registered_and_removed_while_cut_off_are_made_up_for(
        k8s, apiserver, make_infra, make_manager, wired_kubeconfig):
    kubeconfig, wire = wired_kubeconfig(apiserver)
    manager = make_manager(make_infra(MACHINES), "--leader-elect=false", kubeconfig=kubeconfig)
    k8s.register("node1")
    initialized(k8s, "node1")

    lists = manager.metric("isthmus_watch_lists_total", resource="nodes")

    wire.cut()
    k8s.register("node2")
    k8s.delete(f"{kube.NODES}/node1")
    k8s.register("node3")
    wire.mend()

    initialized(k8s, "node2", 60)
    initialized(k8s, "node3", 60)
    # The watch was resumed, not begun anew.
    assert manager.metric("isthmus_watch_lists_total", resource="nodes") == lists


def test_a_history_compacted_while_cut_off_is_read_anew(
        make_apiserver, make_infra, make_manager, wired_kubeconfig):
    # Without its own memory of the past the API server answers from etcd, which forgets.
    server = make_apiserver(flags=["--watch-cache=false"])
    kubeconfig, wire = wired_kubeconfig(server)
    manager = make_manager(make_infra(MACHINES), "--leader-elect=false", kubeconfig=kubeconfig)
    server.kube.register("node1")
    server.kube.register("goner")
    initialized(server.kube, "node1")
    lists = manager.metric("isthmus_watch_lists_total", resource="nodes")

    wire.cut()
    server.kube.delete(f"{kube.NODES}/goner")
    server.kube.register("node2")
    server.compact(int(server.kube.register("node3")["metadata"]["resourceVersion"]))
    wire.mend()

    initialized(server.kube, "node2", 60)
    initialized(server.kube, "node3", 60)
    assert manager.metric("isthmus_watch_lists_total", resource="nodes") > lists
    # What was deleted unseen is gone for the manager, too: its name may come again.
    server.kube.register("node4")
    initialized(server.kube, "node4")
    assert manager.process.running


def test_a_leader_cut_off_stops_acting_before_its_lease_is_over(
        k8s, apiserver, make_infra, make_manager, wired_kubeconfig):
    kubeconfig, wire = wired_kubeconfig(apiserver)
    infra = make_infra(MACHINES)
    first = make_manager(infra, kubeconfig=kubeconfig, name="first")
    until(k8s.holder, what="a leader")
    second = make_manager(infra, name="second")

    wire.cut()
    k8s.register("node1")

    initialized(k8s, "node1", 25)
    # Losing the lease ends the process, as upstream's does; its supervisor starts it anew.
    assert first.process.wait(20) == 1
    assert second.process.running


def test_a_manager_may_start_before_the_api_server(make_apiserver, make_infra, make_manager):
    server = make_apiserver()
    server.kill()
    manager = make_manager(make_infra(MACHINES), kubeconfig=server.manager_kubeconfig)
    assert manager.operator.request("GET", "/readyz").status == 500

    server.start()
    server.kube.register("node1")

    initialized(server.kube, "node1", 60)
    until(lambda: manager.operator.request("GET", "/readyz").status == 200)


def test_a_malformed_token_is_refused_and_said(k8s, apiserver, directory, make_infra, make_manager):
    kubeconfig = directory + "/wrong.kubeconfig"
    with open(apiserver.kubeconfig, encoding="utf-8") as file:
        text = file.read().replace("admin-token", "wrong-token")
    with open(kubeconfig, "w", encoding="utf-8") as file:
        file.write(text)
    manager = make_manager(make_infra(MACHINES), kubeconfig=kubeconfig)
    k8s.register("node1")

    until(lambda: "401" in manager.process.output(), what="401 in the log")
    assert manager.operator.request("GET", "/readyz").status == 500
    assert "wrong-token" not in manager.process.output()
    assert is_tainted(k8s.node("node1"))


def test_without_rights_nothing_is_done_and_it_is_said(k8s, apiserver, make_infra, make_manager):
    # A user with no right at all: not even one to read the lease.
    rights.grant(k8s, [])
    manager = make_manager(make_infra(MACHINES), kubeconfig=apiserver.kubeconfig_of("isthmus"))
    k8s.register("node1")

    until(lambda: "forbidden" in manager.process.output(), what="forbidden in the log")
    assert "leases" in manager.process.output()
    assert manager.operator.request("GET", "/readyz").status == 500
    assert manager.operator.request("GET", "/livez").status == 200
    assert is_tainted(k8s.node("node1"))
