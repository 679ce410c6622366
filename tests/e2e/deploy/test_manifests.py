"""deploy/manifests, as the API server sees them; how they run is told by tests/cluster."""

import os
import re
import subprocess

import pytest
import yaml

from harness import programs, rights

FILES = ("rbac.yaml", "service-account-credentials.yaml", "config.yaml", "deployment.yaml",
         "daemonset.yaml")
POD_SECURITY = "pod-security.kubernetes.io/enforce"


def pod(name):
    """The pod that a file's workload makes."""
    return rights.manifest(name)[0]["spec"]["template"]["spec"]


@pytest.mark.parametrize("name", FILES)
def test_the_api_server_takes_each_file_as_it_is(kubectl, name):
    kubectl("apply", "--dry-run=server", "--validate=strict", "-f",
            os.path.join(rights.MANIFESTS, name))


def test_no_object_stands_there_twice():
    """The second would take the place of the first."""
    names = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
             for name in FILES for each in rights.manifest(name)]
    assert {each for each in names if names.count(each) > 1} == set()


def test_kustomize_brings_all_that_a_cluster_needs(kubectl):
    made = list(yaml.safe_load_all(kubectl("kustomize", rights.MANIFESTS)))
    kinds = [each["kind"] for each in made]
    for kind in ("ServiceAccount", "ClusterRole", "ConfigMap", "Secret", "Deployment",
                 "PodDisruptionBudget"):
        assert kinds.count(kind) == 1, kinds
    assert {each["metadata"].get("namespace", "kube-system") for each in made} == {
        "kube-system", "kube-node-lease"}


def test_the_pods_of_both_files_are_alike(kubectl):  # pylint: disable=unused-argument
    several, everywhere = pod("deployment.yaml"), pod("daemonset.yaml")
    assert several.pop("affinity") != everywhere.pop("affinity")
    assert several == everywhere


def test_a_pod_has_no_more_power_than_it_needs():
    spec = pod("deployment.yaml")
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {"allowPrivilegeEscalation": False,
                                            "readOnlyRootFilesystem": True,
                                            "capabilities": {"drop": ["ALL"]}}
    assert all(volume["readOnly"] for volume in container["volumeMounts"])
    for forbidden in ("hostPID", "hostIPC"):
        assert forbidden not in spec


def test_only_the_hosts_network_keeps_it_from_the_restricted_standard(k8s):
    """With a pod network it would be admitted where the strictest rules are enforced."""
    name = "restricted"
    k8s.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": {
        POD_SECURITY: "restricted"}}})
    spec = pod("deployment.yaml")
    del spec["hostNetwork"], spec["serviceAccountName"]
    for container in spec["containers"]:
        for port in container["ports"]:
            del port["hostPort"], port["hostIP"]
        # It is the host's loopback that they ask.
        for probe in ("livenessProbe", "readinessProbe"):
            del container[probe]["httpGet"]["host"]
    k8s.create("/api/v1/namespaces/restricted/serviceaccounts", {"metadata": {"name": "default"}})

    k8s.create("/api/v1/namespaces/restricted/pods", {"metadata": {"name": "isthmus"}, "spec": {
        **spec, "priorityClassName": None}})

    k8s.client.request("DELETE", f"/api/v1/namespaces/{name}")


def test_the_image_is_the_one_of_this_version():
    version = subprocess.run([programs.isthmus(), "version"], capture_output=True, text=True,
                             check=True).stdout.split("v")[1].strip()
    for name in ("deployment.yaml", "daemonset.yaml"):
        assert pod(name)["containers"][0]["image"] == f"isthmus.dev/isthmus:{version}"


def test_probes_ask_where_the_program_listens():
    (container,) = pod("deployment.yaml")["containers"]
    flags = dict(flag.removeprefix("--").split("=") for flag in container["args"][1:])
    (port,) = container["ports"]
    assert port["containerPort"] == port["hostPort"] == int(flags["secure-port"])
    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["host"] == flags["bind-address"] == port["hostIP"]
        assert container[probe]["httpGet"]["port"] == port["name"]


def test_every_flag_that_a_manifest_gives_is_known(tmp_path):
    """With files that are not there, the program complains of these and of nothing else."""
    args = pod("deployment.yaml")["containers"][0]["args"]
    done = subprocess.run([programs.isthmus(), *args, f"--kubeconfig={tmp_path}/none"],
                          capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode != 0
    named = set(re.findall(r"--[a-z-]+", done.stderr))
    assert named == {"--kubeconfig", "--cloud-config"}, done.stderr
