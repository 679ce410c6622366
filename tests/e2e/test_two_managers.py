"""Two managers that both lead, under Leases of different names, and do not want the same."""

from harness import kube
from harness.isthmus import OFTEN, machine
from harness.kube import labels
from harness.wait import never_during, until
from test_initialization import initialized

ZONE = "topology.kubernetes.io/zone"
ZONES = {"one": "rack-1", "two": "rack-2"}


def test_two_managers_on_one_cluster_end_in_a_message_and_not_in_flapping(
        k8s, apiserver, make_infra, make_manager):
    managers = []
    for name, zone in ZONES.items():
        infra = make_infra([machine("node1", uid="u1", address="10.0.0.1", zone=zone)], name=name)
        # Our role knows one Lease.
        managers.append(make_manager(infra, OFTEN, f"--leader-elect-resource-name={name}", name=name,
                                     kubeconfig=apiserver.kubeconfig))
    for manager, name in zip(managers, ZONES):
        until(lambda manager=manager, name=name: manager.metric(
            "leader_election_master_status", name=name) == 1, what=f"{name} leads")
    k8s.register("node1")
    initialized(k8s, "node1")

    event = until(lambda: [event for event in k8s.events("node1", "FieldContested")
                           if f"metadata.labels[{ZONE}]" in event["message"]], 60, "a message")[0]

    assert event["type"] == "Warning"
    assert "another manager works on this cluster under another Lease" in event["message"]
    # Once one of them rests, what the other has written stands.
    version = k8s.node("node1")["metadata"]["resourceVersion"]
    never_during(lambda: k8s.node("node1")["metadata"]["resourceVersion"] != version, 15)
    assert labels(k8s.node("node1"))[ZONE] in ZONES.values()
    assert sum(manager.metric("isthmus_fields_parked_total") for manager in managers) >= 1


def test_a_label_that_somebody_keeps_taking_away_is_left_to_them_by_name(
        k8s, make_infra, make_manager):
    make_manager(make_infra([machine("node1", address="10.0.0.1", zone="rack-1")]))
    k8s.register("node1")
    initialized(k8s, "node1")

    def change():
        if labels(k8s.node("node1")).get(ZONE) == "rack-1":
            k8s.client.request(
                "PATCH", f"{kube.NODES}/node1?fieldManager=somebodys-script",
                body=b'{"metadata": {"labels": {"topology.kubernetes.io/zone": "theirs"}}}',
                headers={"Content-Type": kube.MERGE})
        return k8s.events("node1", "FieldContested")

    event = next(event for event in until(change, 30, "a message")
                 if f"metadata.labels[{ZONE}]" in event["message"])
    assert '"somebodys-script" (Update at ' in event["message"], event["message"]
    assert labels(k8s.node("node1"))[ZONE] == "theirs"
