"""A tainted Node becomes a member of the cluster."""

from harness import kube
from harness.isthmus import machine
from harness.kube import addresses, is_tainted, labels
from harness.wait import until

NODE1 = machine("node1", address="10.0.0.11", type="r640", region="home", zone="rack-7",
                labels={"rack": "7", "server": "u12"})


def initialized(k8s, name, seconds=20):
    """The Node once its taint is gone."""
    def look():
        node = k8s.node(name)
        return not is_tainted(node) and node
    return until(look, seconds, f"{name} initialized")


def test_a_tainted_node_gets_identity_addresses_and_labels(k8s, make_infra, make_manager):
    make_manager(make_infra([NODE1]))
    k8s.register("node1", labels={"mine": "kept"})

    node = initialized(k8s, "node1")

    assert node["spec"]["providerID"] == "isthmus://uid-node1"
    assert addresses(node) == [("InternalIP", "10.0.0.11"), ("Hostname", "node1")]
    expected = {
        "node.kubernetes.io/instance-type": "r640", "beta.kubernetes.io/instance-type": "r640",
        "topology.kubernetes.io/region": "home", "topology.kubernetes.io/zone": "rack-7",
        "failure-domain.beta.kubernetes.io/region": "home",
        "failure-domain.beta.kubernetes.io/zone": "rack-7",
        "rack": "7", "server": "u12", "mine": "kept", "kubernetes.io/hostname": "node1",
    }
    assert expected.items() <= labels(node).items()

    event = until(lambda: k8s.events("node1", "Synced"))[0]
    assert event["type"] == "Normal"
    assert event["message"] == "Node synced successfully"
    assert event["source"]["component"] == "cloud-node-controller"


def test_no_observer_ever_sees_the_node_without_taint_and_without_addresses(
        k8s, make_infra, make_manager):
    names = [f"node{i}" for i in range(20)]
    machines = [machine(name, address=f"10.0.1.{i}", zone="z") for i, name in enumerate(names)]
    make_manager(make_infra(machines))
    with k8s.watch(kube.NODES) as seen:
        for name in names:
            k8s.register(name)
        for name in names:
            initialized(k8s, name)
        until(lambda: {event["object"]["metadata"]["name"] for event in seen.seen
                       if not is_tainted(event["object"])} == set(names))
        versions = [event["object"] for event in seen.seen]

    for version in versions:
        if is_tainted(version):
            continue
        assert "InternalIP" in dict(addresses(version)), version["metadata"]["name"]
        assert version["spec"]["providerID"].startswith("isthmus://")
        assert labels(version)["topology.kubernetes.io/zone"] == "z"


def test_only_the_cloud_taint_goes(k8s, make_infra, make_manager):
    make_manager(make_infra([NODE1]))
    other = {"key": "example.com/gpu", "value": "yes", "effect": "NoExecute"}
    k8s.register("node1", other_taints=[other])

    taints = initialized(k8s, "node1")["spec"]["taints"]

    assert other in taints
    assert not any(taint["key"] == kube.TAINT for taint in taints)


def test_a_node_registered_before_the_manager_runs_is_found(k8s, make_infra, make_manager):
    k8s.register("node1")
    make_manager(make_infra([NODE1]))
    initialized(k8s, "node1")


def test_a_provider_id_that_the_kubelet_knew_is_kept(k8s, make_infra, make_manager):
    # The names differ, so nothing but the providerID can have led to the machine.
    make_manager(make_infra([machine("other", uid="abc", address="10.0.0.5", type="big")]))
    k8s.register("node1", provider_id="isthmus://abc")

    node = initialized(k8s, "node1")

    assert node["spec"]["providerID"] == "isthmus://abc"
    assert labels(node)["node.kubernetes.io/instance-type"] == "big"


def test_a_node_is_found_by_its_system_uuid(k8s, make_infra, make_manager):
    uuid = "4c4c4544-0044-4210-8031-c2c04f445831"
    make_manager(make_infra([machine("some-other-name", uid="u1", systemUUID=uuid)]))
    k8s.register("node1", system_uuid=uuid.upper())
    assert initialized(k8s, "node1")["spec"]["providerID"] == "isthmus://u1"


def test_a_node_is_found_by_its_internal_address(k8s, make_infra, make_manager):
    make_manager(make_infra([machine("some-other-name", uid="u1", address="10.0.0.77")]))
    k8s.register("node1", addresses=[{"type": "InternalIP", "address": "10.0.0.77"},
                                     {"type": "Hostname", "address": "node1"}])
    assert initialized(k8s, "node1")["spec"]["providerID"] == "isthmus://u1"


def test_the_provided_node_ip_comes_first_and_alone_of_its_type(k8s, make_infra, make_manager):
    line = machine("node1", addresses=[
        {"type": "InternalIP", "address": "10.0.0.11"},
        {"type": "InternalIP", "address": "10.9.0.11"},
        {"type": "ExternalIP", "address": "192.0.2.11"}])
    make_manager(make_infra([line]))
    k8s.register("node1", annotations={"alpha.kubernetes.io/provided-node-ip": "10.9.0.11"})

    node = initialized(k8s, "node1")

    assert addresses(node) == [
        ("InternalIP", "10.9.0.11"), ("ExternalIP", "192.0.2.11"), ("Hostname", "node1")]


def test_a_provided_node_ip_that_the_machine_lacks_is_refused_and_said(
        k8s, make_infra, make_manager):
    make_manager(make_infra([NODE1]))
    k8s.register("node1", annotations={"alpha.kubernetes.io/provided-node-ip": "10.66.0.1"})

    event = until(lambda: k8s.events("node1", kind="Warning"))[0]

    assert event["reason"] == "NodeIPNotFound"
    assert "10.66.0.1" in event["message"]
    assert is_tainted(k8s.node("node1"))

    k8s.patch(f"{kube.NODES}/node1", {"metadata": {"annotations": {
        "alpha.kubernetes.io/provided-node-ip": "10.0.0.11"}}})
    initialized(k8s, "node1")


def test_an_illegal_label_is_left_out_and_said_but_keeps_no_node_out(
        k8s, make_infra, make_manager):
    line = machine("node1", address="10.0.0.11", labels={"kubernetes.io/role": "x", "rack": "7"})
    make_manager(make_infra([line]))
    k8s.register("node1")

    node = initialized(k8s, "node1")

    assert labels(node)["rack"] == "7"
    assert "kubernetes.io/role" not in labels(node)
    event = until(lambda: k8s.events("node1", "LabelsSkipped"))[0]
    assert event["type"] == "Warning"
    assert "kubernetes.io/role" in event["message"]


def test_nothing_of_the_node_that_is_unknown_to_us_is_lost(k8s, make_infra, make_manager):
    make_manager(make_infra([NODE1]))
    status = {
        "capacity": {"cpu": "4", "example.com/fpga": "2"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "images": [{"names": ["registry.test/a:1"], "sizeBytes": 1234}],
        "volumesInUse": ["kubernetes.io/csi/x"],
        "runtimeHandlers": [{"name": "runc", "features": {"recursiveReadOnlyMounts": True}}],
    }
    before = k8s.register("node1", status=status, annotations={"note": "kept"})

    after = initialized(k8s, "node1")

    unchanged = {key: value for key, value in before["status"].items() if key != "addresses"}
    assert {key: after["status"][key] for key in unchanged} == unchanged
    assert after["metadata"]["annotations"]["note"] == "kept"


def test_delays_are_measured_as_upstream_does(k8s, make_infra, make_manager):
    manager = make_manager(make_infra([NODE1]))
    k8s.register("node1")
    initialized(k8s, "node1")
    for name in ("node_controller_cloud_provider_taint_removal_delay_seconds_count",
                 "node_controller_initial_node_sync_delay_seconds_count"):
        until(lambda name=name: manager.metric(name) == 1, what=name)
