"""Initialization, as only real kubelets can tell it.

Three kubelets register with the uninitialized taint and a Hostname address, and write nodes/status
every second. The manager initializes them meanwhile; whatever the kubelets wrote must survive.
"""

import json
import os

import pytest

from cluster import MACHINES, NODES
from harness.isthmus import Infra
from harness.kube import addresses, is_tainted, labels
from harness.processes import Stage
from harness.wait import until


@pytest.fixture(scope="module")
def story(cluster):
    """(nodes before, nodes after, every version between): the initialization of all."""
    with Stage() as stage:
        before = {name: settled(cluster, name) for name in NODES}
        infra = stage.add(Infra(os.path.join(cluster.directory, "infra"), MACHINES))
        watch = stage.add(cluster.watch_nodes())
        until(lambda: len(versions(watch)) >= len(NODES), what="the first versions")
        stage.add(cluster.manager(infra))
        until(lambda: not any(is_tainted(cluster.node(name)) for name in NODES), 30)
        since = len(versions(watch))
        # The kubelets go on writing; three rounds of all must leave our addresses alone.
        until(lambda: len(versions(watch)) >= since + 3 * len(NODES), 30)
        yield before, {name: cluster.node(name) for name in NODES}, versions(watch)


def settled(cluster, name):
    """The Node once its kubelet has said all there is to say."""
    def look():
        node = cluster.node(name)
        ready = {each["type"]: each["status"] for each in node["status"].get("conditions", [])}
        return ready.get("Ready") == "True" and len(node["status"].get("images", [])) >= 2 and node
    return until(look, 60, f"{name} Ready")


def versions(watch):
    """The Nodes in kubectl's output so far, which may end in the middle of one."""
    text, found, position = watch.output(), [], 0
    decoder = json.JSONDecoder()
    while position < len(text):
        try:
            event, position = decoder.raw_decode(text, position)
        except ValueError:
            break
        found.append(event["object"])
        while position < len(text) and text[position].isspace():
            position += 1
    return found


def test_the_kubelets_registered_without_a_cloud(story):
    before, _, _ = story
    for name in NODES:
        assert is_tainted(before[name])
        assert addresses(before[name]) == [("Hostname", name)]
        assert "providerID" not in before[name]["spec"]


def test_all_nodes_are_initialized_and_keep_their_addresses(story):
    _, after, _ = story
    for line in MACHINES:
        node = after[line["name"]]
        assert node["spec"]["providerID"] == "isthmus://" + line["uid"]
        assert addresses(node) == [("InternalIP", line["addresses"][0]["address"]),
                                   ("Hostname", line["name"])]
        assert labels(node)["rack"] == line["labels"]["rack"]
        assert labels(node)["topology.kubernetes.io/zone"] == line["zone"]


def test_nothing_the_kubelets_wrote_is_lost(story):
    before, after, _ = story
    for name in NODES:
        old, new = before[name], after[name]
        for key in set(old["status"]) - {"addresses", "conditions"}:
            assert new["status"][key] == old["status"][key], f"{name} status.{key}"
        assert ({each["type"] for each in old["status"]["conditions"]}
                <= {each["type"] for each in new["status"]["conditions"]})
        assert old["spec"]["podCIDRs"] == new["spec"]["podCIDRs"]
        assert labels(old).items() <= labels(new).items()
        assert (old["metadata"].get("annotations", {}).items()
                <= new["metadata"].get("annotations", {}).items())


def test_the_kubelets_wrote_all_the_time(story):
    _, _, seen = story
    for name in NODES:
        of_node = [node for node in seen if node["metadata"]["name"] == name]
        assert len({heartbeat(node) for node in of_node if is_tainted(node)}) >= 1
        assert len({heartbeat(node) for node in of_node if not is_tainted(node)}) >= 2


def heartbeat(node):
    return max(each.get("lastHeartbeatTime") or "" for each in node["status"]["conditions"])


def test_no_version_lacks_both_taint_and_addresses(story):
    _, _, seen = story
    for node in seen:
        assert is_tainted(node) or "InternalIP" in dict(addresses(node))
