"""Somebody else writes the Node while its cloud call hangs."""

from harness import kube
from harness.isthmus import machine
from harness.kube import addresses, is_tainted, labels
from harness.wait import until
from test_initialization import initialized

NODE1 = machine("node1", uid="u1", address="10.0.0.11", labels={"rack": "7"})


def hanging(k8s, slow_infra, make_manager, machines=(NODE1,), **node):
    """(wire, the Node): a manager that has asked for the Node's machine and gets no answer yet."""
    infra, wire = slow_infra(machines)
    make_manager(infra)
    # Nothing has been asked about machines yet, so no memory of an answer can stand in for one.
    until(k8s.holder, what="a leader")
    wire.hold()
    node = k8s.register("node1", **node)
    until(lambda: wire.held > 0, what="a cloud call that hangs")
    assert is_tainted(k8s.node("node1"))
    return wire, node


def test_a_label_set_meanwhile_is_kept(k8s, slow_infra, make_manager):
    wire, _ = hanging(k8s, slow_infra, make_manager)
    k8s.patch(f"{kube.NODES}/node1", {"metadata": {"labels": {"fresh": "yes"}}})
    wire.release()

    node = initialized(k8s, "node1")

    assert labels(node)["fresh"] == "yes"
    assert labels(node)["rack"] == "7"


def test_a_taint_set_meanwhile_is_kept(k8s, slow_infra, make_manager):
    wire, node = hanging(k8s, slow_infra, make_manager)
    taint = {"key": "example.com/quarantine", "effect": "NoExecute"}
    k8s.patch(f"{kube.NODES}/node1", {"spec": {"taints": [*node["spec"]["taints"], taint]}})
    wire.release()

    assert taint in initialized(k8s, "node1")["spec"]["taints"]


def test_a_status_that_a_kubelet_wrote_meanwhile_is_kept(k8s, slow_infra, make_manager):
    wire, _ = hanging(k8s, slow_infra, make_manager)
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    k8s.patch(f"{kube.NODES}/node1/status", {"status": {"conditions": [condition]}},
              kube.STRATEGIC)
    wire.release()

    node = initialized(k8s, "node1")

    assert condition.items() <= node["status"]["conditions"][0].items()
    assert ("InternalIP", "10.0.0.11") in addresses(node)


def test_a_node_that_another_manager_initialized_meanwhile_is_left_as_it_is(
        k8s, slow_infra, make_manager):
    wire, _ = hanging(k8s, slow_infra, make_manager)
    k8s.patch(f"{kube.NODES}/node1",
              {"spec": {"taints": None, "providerID": "other://node1"}})
    wire.release()

    until(lambda: k8s.events("node1", "ForeignProviderID"))
    node = k8s.node("node1")
    assert node["spec"]["providerID"] == "other://node1"
    assert "rack" not in labels(node)


def test_a_node_deleted_meanwhile_is_forgotten(k8s, slow_infra, make_manager):
    wire, _ = hanging(k8s, slow_infra, make_manager)
    k8s.delete(f"{kube.NODES}/node1")
    wire.release()

    # The next one shows that the manager goes on.
    k8s.register("node1")
    initialized(k8s, "node1")


def test_a_node_recreated_under_its_name_is_initialized_as_itself(k8s, slow_infra, make_manager):
    """What was found out about the old Node must not be written to the new one."""
    machines = [machine("node1", uid="u1", address="10.0.0.11"),
                machine("spare", uid="u2", address="10.0.0.22")]
    wire, _ = hanging(k8s, slow_infra, make_manager, machines)
    k8s.delete(f"{kube.NODES}/node1")
    with k8s.watch(kube.NODES) as seen:
        new = k8s.register("node1", provider_id="isthmus://u2")
        wire.release()
        node = initialized(k8s, "node1")
        versions = [event["object"] for event in seen.seen]

    assert node["metadata"]["uid"] == new["metadata"]["uid"]
    assert node["spec"]["providerID"] == "isthmus://u2"
    assert ("InternalIP", "10.0.0.22") in addresses(node)
    for version in versions:
        assert ("InternalIP", "10.0.0.11") not in addresses(version)


def test_writers_that_never_rest_do_not_keep_a_node_out(k8s, make_infra, make_manager):
    make_manager(make_infra([NODE1]))
    k8s.register("node1")
    writes = 0
    while is_tainted(k8s.node("node1")):
        k8s.patch(f"{kube.NODES}/node1", {"metadata": {"annotations": {"beat": str(writes)}}})
        writes += 1
        assert writes < 2000
    assert k8s.node("node1")["spec"]["providerID"] == "isthmus://u1"
