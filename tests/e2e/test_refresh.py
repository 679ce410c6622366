"""A machine changes in the inventory, and its Node follows."""

from harness import kube
from harness.isthmus import OFTEN, machine
from harness.kube import addresses, labels
from harness.wait import never_during, until
from test_initialization import initialized


def test_rack_zone_and_addresses_follow_the_inventory(k8s, make_infra, make_manager):
    infra = make_infra([machine("node1", address="10.0.0.11", zone="rack-7",
                                labels={"rack": "7", "old": "x"})])
    make_manager(infra, OFTEN)
    k8s.register("node1", labels={"mine": "kept"})
    initialized(k8s, "node1")

    infra.set_machines([machine("node1", address="10.0.0.99", zone="rack-9",
                                labels={"rack": "9", "new": "y"})])

    def follows():
        node = k8s.node("node1")
        assert addresses(node) == [("InternalIP", "10.0.0.99"), ("Hostname", "node1")]
        assert labels(node)["rack"] == "9"
        assert labels(node)["new"] == "y"
        assert "old" not in labels(node)
        assert labels(node)["topology.kubernetes.io/zone"] == "rack-9"
        assert labels(node)["failure-domain.beta.kubernetes.io/zone"] == "rack-9"
        assert labels(node)["mine"] == "kept"
    until(follows)


def test_a_users_label_wins_over_the_machines(k8s, make_infra, make_manager):
    infra = make_infra([machine("node1", labels={"team": "cloud"})])
    make_manager(infra, OFTEN)
    k8s.register("node1", labels={"team": "user"})
    initialized(k8s, "node1")

    infra.set_machines([machine("node1", labels={"rack": "1"})])
    until(lambda: labels(k8s.node("node1")).get("rack") == "1")

    # The machine no longer has it, but it never was the machine's.
    assert labels(k8s.node("node1"))["team"] == "user"


def test_several_addresses_of_one_type_are_written_once(k8s, make_infra, make_manager):
    line = machine("node1", addresses=[
        {"type": "InternalIP", "address": "10.0.0.11"},
        {"type": "InternalIP", "address": "fd00::11"}])
    infra = make_infra([line])
    manager = make_manager(infra, OFTEN)
    k8s.register("node1")
    node = initialized(k8s, "node1")
    assert [address for _, address in addresses(node)] == ["10.0.0.11", "fd00::11", "node1"]

    def rounds():
        return manager.metric("isthmus_node_syncs_total", result="unchanged") or 0

    begin = rounds()
    until(lambda: rounds() >= begin + 3, what="three more rounds")
    assert k8s.node("node1")["metadata"]["resourceVersion"] == node["metadata"]["resourceVersion"]


def test_addresses_that_someone_overwrote_come_back(k8s, make_infra, make_manager):
    infra = make_infra([machine("node1", address="10.0.0.11")])
    make_manager(infra, OFTEN)
    k8s.register("node1")
    initialized(k8s, "node1")

    k8s.patch(f"{kube.NODES}/node1/status", {"status": {"addresses": [
        {"type": "InternalIP", "address": "203.0.113.1"},
        {"type": "Hostname", "address": "node1"}]}})

    until(lambda: addresses(k8s.node("node1"))[0] == ("InternalIP", "10.0.0.11"))


def test_a_machine_that_left_the_inventory_changes_nothing(k8s, make_infra, make_manager):
    line = machine("node1", address="10.0.0.11", labels={"rack": "7"})
    infra = make_infra([line])
    make_manager(infra, OFTEN)
    k8s.register("node1")
    node = initialized(k8s, "node1")

    infra.set_machines([])
    until(lambda: infra.client.request("GET", "/v1/instances/uid-node1").json()
          ["status"]["presence"] == "unknown")

    event = until(lambda: k8s.events("node1", kind="Warning"), what="a warning")[0]
    assert "uid-node1" in event["message"]
    version = node["metadata"]["resourceVersion"]
    never_during(lambda: k8s.node("node1")["metadata"]["resourceVersion"] != version, 2)
