"""Which machine a Node is, and what happens when that is not certain."""

from harness import kube
from harness.isthmus import OFTEN, machine
from harness.kube import is_tainted
from harness.wait import never_during, until
from test_initialization import initialized


def refusal(k8s, name):
    """The Warning that says why the Node is not initialized, which it must not be."""
    event = until(lambda: k8s.events(name, "FailedToInitialize"), what="a refusal")[0]
    assert event["type"] == "Warning"
    node = k8s.node(name)
    assert is_tainted(node)
    assert "providerID" not in node["spec"]
    return event["message"]


def internal(*texts):
    return [{"type": "InternalIP", "address": text} for text in texts]


def test_a_node_that_two_machines_match_is_refused_and_both_are_named(
        k8s, make_infra, make_manager):
    """One machine was written down twice, once for each of its addresses."""
    infra = make_infra([machine("left", uid="first", address="10.0.0.11"),
                        machine("right", uid="second", address="10.0.0.12")])
    make_manager(infra, OFTEN)
    k8s.register("node1", addresses=internal("10.0.0.11", "10.0.0.12"))

    message = refusal(k8s, "node1")

    assert "first" in message and "second" in message
    infra.set_machines([machine("left", uid="first",
                                addresses=internal("10.0.0.11", "10.0.0.12"))])
    assert initialized(k8s, "node1", 60)["spec"]["providerID"] == "isthmus://first"


def test_a_node_without_a_machine_is_refused_until_there_is_one(k8s, make_infra, make_manager):
    infra = make_infra([machine("node2")])
    make_manager(infra, OFTEN)
    k8s.register("node1")

    assert "node1" in refusal(k8s, "node1")

    infra.set_machines([machine("node1"), machine("node2")])
    initialized(k8s, "node1", 60)


def test_a_machine_that_another_node_holds_is_refused(k8s, make_infra, make_manager):
    make_manager(make_infra([machine("node1", uid="u1", address="10.0.0.11")]))
    k8s.register("node1")
    initialized(k8s, "node1")

    k8s.register("impostor", addresses=internal("10.0.0.11"))

    message = refusal(k8s, "impostor")
    assert "node1" in message and "u1" in message


def test_two_new_nodes_that_match_one_machine_never_both_get_it(k8s, make_infra, make_manager):
    for name in ("twin1", "twin2"):
        k8s.register(name, addresses=internal("10.0.0.11"))
    make_manager(make_infra([machine("node1", uid="u1", address="10.0.0.11")]))

    until(lambda: k8s.events("twin1", kind="Warning") or k8s.events("twin2", kind="Warning"))
    never_during(lambda: len([1 for node in k8s.items(kube.NODES)
                              if node["spec"].get("providerID")]) > 1, 2)


def test_a_retired_machine_initializes_nobody(k8s, make_infra, make_manager):
    make_manager(make_infra([machine("node1", uid="u1", state="retired")]))
    k8s.register("node1", provider_id="isthmus://u1")

    until(lambda: k8s.events("node1", "FailedToInitialize"))
    assert is_tainted(k8s.node("node1"))


def test_a_foreign_node_is_not_touched_and_one_event_says_so(k8s, make_infra, make_manager):
    make_manager(make_infra([machine("node1")]), OFTEN)
    before = k8s.register("node1", provider_id="aws:///eu-1/i-123")

    until(lambda: k8s.events("node1", "ForeignProviderID"))
    never_during(lambda: k8s.node("node1")["metadata"]["resourceVersion"]
                 != before["metadata"]["resourceVersion"], 3)
    events = k8s.events("node1")
    assert [(event["type"], event.get("count", 1)) for event in events] == [("Normal", 1)]
    assert "aws:///eu-1/i-123" in events[0]["message"]


def test_an_untainted_node_without_provider_id_is_not_touched(k8s, make_infra, make_manager):
    make_manager(make_infra([machine("node1", address="10.0.0.11")]), OFTEN)
    before = k8s.register("node1", tainted=False)

    until(lambda: k8s.events("node1", "NoProviderID"))
    never_during(lambda: k8s.node("node1")["metadata"]["resourceVersion"]
                 != before["metadata"]["resourceVersion"], 3)
    assert [event.get("count", 1) for event in k8s.events("node1")] == [1]
