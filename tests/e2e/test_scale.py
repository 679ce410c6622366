"""Many Nodes at once."""

import concurrent.futures

from harness import kube
from harness.isthmus import machine
from harness.kube import addresses, is_tainted
from harness.wait import until

COUNT = 1000


def test_a_thousand_nodes_at_once(k8s, make_infra, make_manager):
    machines = [machine(f"node{i}", address=f"10.1.{i // 250}.{i % 250}", zone=f"rack-{i % 10}")
                for i in range(COUNT)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: k8s.register(f"node{i}"), range(COUNT)))
    make_manager(make_infra(machines))

    def all_done():
        left = sum(is_tainted(node) for node in k8s.items(kube.NODES))
        assert left == 0, f"{left} tainted"
    until(all_done, 60)

    nodes = {node["metadata"]["name"]: node for node in k8s.items(kube.NODES)}
    for line in machines:
        node = nodes[line["name"]]
        assert node["spec"]["providerID"] == "isthmus://" + line["uid"]
        assert addresses(node)[0] == ("InternalIP", line["addresses"][0]["address"])

    def all_told():
        told = {event["involvedObject"]["name"] for event in k8s.items(kube.EVENTS)
                if event["reason"] == "Synced"}
        assert len(told) == COUNT, f"{len(told)} events"
    until(all_told, 60)
