"""The manifests of deploy/manifests as pods of the cluster they manage.

All Nodes are tainted, and nobody but these pods will change that: both replicas must come to run in
spite of it. The backend is reached as they do it, by https with a token.
"""

import glob
import os
import subprocess

import pytest

from cluster import ADDRESS, CLUSTER_CIDR, MACHINES, NODES, machines_of
from harness import certificates, programs, rights
from harness.kube import TAINT, is_tainted
from harness.processes import Stage
from harness.wait import until
from manifests import service
from road import TOKEN, Road

ROUTER = "192.168.50.1"
BACKEND_PORT = 10280
LABEL = "app.kubernetes.io/name=isthmus"
KUBE_SYSTEM = "--namespace=kube-system"
# In /proc/PID/status: Uid, CapBnd, NoNewPrivs, Seccomp (2: a filter).
CONFINED = (65532, 0, 1, 2)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    path = tmp_path_factory.mktemp("image") / "isthmus.tar"
    subprocess.run([os.path.join(programs.ROOT, "tools/image"), programs.isthmus(), path],
                   check=True, capture_output=True)
    return str(path)


@pytest.fixture(scope="module")
def cluster(clusters, image):  # pylint: disable=unused-argument
    """One that no manager has ever been in."""
    return clusters("external", "pods")


@pytest.fixture(scope="module")
def road(cluster, image):
    """The backend runs and the image is on the Nodes; nothing of deploy/manifests is there but the
    role, and what everybody has to fill in."""
    with Stage() as stage:
        road = stage.add(Road(cluster, "router", cluster.router, driver="nft", interface="front",
                              ranges=["10.77.0.192/30"]))
        key, certificate = certificates.self_signed(road.infra.directory, ROUTER)
        config = road.infra.read_config()
        config["listen"].append(f"https://{ROUTER}:{BACKEND_PORT}")
        road.infra.write_config({**config, "tls": {"certFile": certificate, "keyFile": key}})
        road.infra.start()
        cluster.import_image(image)
        cluster.apply(*filled_in(cluster, certificate))
        yield road


def filled_in(cluster, certificate):
    """config.yaml, as the operator of this cluster would have edited it."""
    config, secret = rights.manifest("config.yaml")
    host, port = cluster.server.removeprefix("https://").split(":")
    config["data"] |= {"apiServerHost": host, "apiServerPort": port}
    cloud = config["data"]["cloud.yaml"]
    with open(certificate, encoding="utf-8") as file:
        config["data"]["ca.crt"] = file.read()
    config["data"]["cloud.yaml"] = cloud.replace("lb1.example", ROUTER)
    secret["stringData"]["token"] = TOKEN
    return config, secret


def pods(cluster):
    return cluster.items("pods", KUBE_SYSTEM, "--selector", LABEL)


def workload(name):
    """The first object of a file, told the range of the pods: routes to them are wanted here."""
    made = rights.manifest(name)[0]
    made["spec"]["template"]["spec"]["containers"][0]["args"].append(
        f"--cluster-cidr={CLUSTER_CIDR}")
    return made


def rolled_out(cluster, workload):
    cluster.kubectl("rollout", "status", workload, KUBE_SYSTEM, "--timeout=90s")


def scrape(cluster, node, name):
    """A metric of the replica on this Node; None: there is none."""
    text = cluster.nodes[node].run("curl", "-sSk", "-H", "Authorization: Bearer admin-token",
                                   "https://127.0.0.1:10258/metrics", check=False)
    values = [line.rsplit(" ", 1)[1] for line in text.splitlines() if line.startswith(name)]
    return float(values[0]) if values else None


def leaders(cluster):
    """The Nodes whose replica leads."""
    return [pod["spec"]["nodeName"] for pod in pods(cluster)
            if pod["spec"].get("nodeName") and scrape(
                cluster, pod["spec"]["nodeName"], "leader_election_master_status") == 1]


def test_without_the_toleration_no_replica_comes_to_run(road):
    cluster = road.cluster
    deployment = workload("deployment.yaml")
    spec = deployment["spec"]["template"]["spec"]
    spec["tolerations"] = [each for each in spec["tolerations"] if each["key"] != TAINT]
    cluster.apply(deployment)

    def unschedulable():
        found = [condition for pod in pods(cluster)
                 for condition in pod["status"].get("conditions", [])
                 if condition.get("reason") == "Unschedulable"]
        assert len(found) == 2, pods(cluster)
        assert all("3 node(s) had untolerated taint" in each["message"] for each in found), found
    until(unschedulable, 30, "both wait for a Node without the taint")
    assert {pod["status"]["phase"] for pod in pods(cluster)} == {"Pending"}
    assert all(is_tainted(cluster.node(name)) for name in NODES)
    cluster.kubectl("delete", "deployment", "isthmus", KUBE_SYSTEM, "--timeout=60s")


def test_both_replicas_run_on_tainted_machines_and_initialize_all(road):
    cluster = road.cluster
    cluster.apply(workload("deployment.yaml"), rights.manifest("deployment.yaml")[1])

    rolled_out(cluster, "deployment/isthmus")

    assert len({pod["spec"]["nodeName"] for pod in pods(cluster)}) == 2
    until(lambda: not any(is_tainted(cluster.node(name)) for name in NODES), 30, "none is tainted")
    for line in MACHINES:
        node = cluster.node(line["name"])
        assert node["spec"]["providerID"] == "isthmus://" + line["uid"]
        assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == line["zone"]
    until(lambda: len(leaders(cluster)) == 1, what="one of them leads")


def test_the_kernel_holds_a_replica_to_what_its_manifest_says(road):
    seen = []
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path, encoding="utf-8") as file:
                status = dict(line.split(":\t", 1) for line in file if ":\t" in line)
            with open(os.path.dirname(path) + "/cgroup", encoding="utf-8") as file:
                cgroup = file.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if status["Name"].strip() == "isthmus" and "k8s.io" in cgroup:
            seen.append((int(status["Uid"].split()[0]), int(status["CapBnd"], 16),
                         int(status["NoNewPrivs"]), int(status["Seccomp"])))
    assert seen == [CONFINED] * 2


def test_a_service_gets_its_address_from_a_pod(road):
    road.start_pods()
    road.cluster.apply(service("web"))

    address = road.address("web", 30)

    assert machines_of(road.answers(address, count=40)) == set(NODES)
    assert set(road.rules().slots(address, "TCP", 80)) == set(ADDRESS.values())


def test_when_the_leader_is_deleted_the_other_one_leads(road):
    cluster = road.cluster
    (leader,) = leaders(cluster)
    (pod,) = [each["metadata"]["name"] for each in pods(cluster)
              if each["spec"]["nodeName"] == leader]

    cluster.kubectl("delete", "pod", pod, KUBE_SYSTEM, "--wait=false")

    until(lambda: leaders(cluster) not in ([], [leader]), 15, "the other one leads")
    road.patch("web", ports=[{"name": "http", "port": 81, "targetPort": 8080, "protocol": "TCP"}])
    machines_of(road.answers(road.address("web"), 81))
    rolled_out(cluster, "deployment/isthmus")


def test_on_control_planes_one_runs_on_each_of_them(road):
    cluster = road.cluster
    cluster.kubectl("delete", "deployment", "isthmus", KUBE_SYSTEM, "--timeout=60s")
    planes = NODES[:2]
    for name in planes:
        cluster.kubectl("label", "node", name, "node-role.kubernetes.io/control-plane=true")
        cluster.kubectl("taint", "node", name, "node-role.kubernetes.io/control-plane=:NoSchedule")

    cluster.apply(workload("daemonset.yaml"))

    rolled_out(cluster, "daemonset/isthmus")
    until(lambda: leaders(cluster), 30, "one of them leads")
    assert {pod["spec"]["nodeName"] for pod in pods(cluster)
            if pod["status"]["phase"] == "Running"} == set(planes)
    road.delete("web")
    assert road.bound() == set()


def test_no_replica_was_refused_anything_or_had_to_start_again(road):
    for pod in pods(road.cluster):
        assert [each["restartCount"] for each in pod["status"]["containerStatuses"]] == [0]
        log = road.cluster.kubectl("logs", pod["metadata"]["name"], KUBE_SYSTEM)
        assert "became leader" in log or "leader seen" in log, log
        assert "forbidden" not in log, log
