"""The Kubernetes API as a test speaks it: raw objects, and kubectl for what a person would do."""

import json
import subprocess

from . import programs, rest

TAINT = "node.cloudprovider.kubernetes.io/uninitialized"
NODES = "/api/v1/nodes"
SERVICES = "/api/v1/namespaces/default/services"
ALL_SERVICES = "/api/v1/services"
EVENTS = "/api/v1/namespaces/default/events"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager"

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


class Refused(Exception):
    """The API server answered with an error."""

    def __init__(self, method, path, answer):
        super().__init__(f"{method} {path}: {answer.status} {answer.text[:500]}")
        self.status = answer.status


class Kube:
    """One user's access to one API server."""

    def __init__(self, server, ca, token="admin-token"):
        self.client = rest.Client(server, token=token, ca=ca)

    def request(self, method, path, **arguments):
        answer = self.client.request(method, path, **arguments)
        if answer.status >= 300:
            raise Refused(method, path, answer)
        return answer.json()

    def get(self, path):
        return self.request("GET", path)

    def get_or_none(self, path):
        answer = self.client.request("GET", path)
        if answer.status == 404:
            return None
        if answer.status >= 300:
            raise Refused("GET", path, answer)
        return answer.json()

    def items(self, path, **query):
        return self.request("GET", path, query=query)["items"]

    def create(self, path, body):
        return self.request("POST", path, body=body)

    def put(self, path, body):
        return self.request("PUT", path, body=body)

    def patch(self, path, body, kind=MERGE):
        return self.request("PATCH", path, body=json.dumps(body).encode(),
                            headers={"Content-Type": kind})

    def delete(self, path):
        return self.request("DELETE", path)

    delete_all = delete  # Of a collection: everything in it.

    def watch(self, path, revision=None):
        """A rest.Lines of watch events from `revision` (default: now) on, for as long as any story
        takes: by itself a server ends it after half an hour or more."""
        revision = revision or self.revision(path)
        status, lines = self.client.stream(path, query={
            "watch": "1", "resourceVersion": revision, "timeoutSeconds": "7200"})
        assert status == 200, status
        return lines

    def revision(self, path=NODES):
        return self.get(path + "?limit=1")["metadata"]["resourceVersion"]

    # --- Nodes, Services, Events, the Lease -------------------------------------------------------

    def register(self, name, **arguments):
        """Does what a kubelet does first: see `node`."""
        return self.create(NODES, node(name, **arguments))

    def node(self, name):
        return self.get(f"{NODES}/{name}")

    def service(self, name):
        return self.get(f"{SERVICES}/{name}")

    def events(self, name, reason=None, kind=None, about="Node"):
        """The Events about Node (or Service) `name`, oldest first."""
        found = [event for event in self.items(EVENTS)
                 if event["involvedObject"].get("name") == name
                 and event["involvedObject"]["kind"] == about
                 and reason in (None, event["reason"]) and kind in (None, event["type"])]
        return sorted(found, key=lambda event: int(event["metadata"]["resourceVersion"]))

    def holder(self):
        """Who holds the manager's lease; empty: nobody."""
        lease = self.get_or_none(LEASE)
        return (lease or {}).get("spec", {}).get("holderIdentity") or ""

    def clean(self):
        """Forgets all that tests leave: Services, Nodes, Events, the lease."""
        self.remove_services()
        self.delete_all(NODES)
        self.delete_all(EVENTS)
        self.client.request("DELETE", LEASE)

    def remove_services(self):
        for service in self.items(ALL_SERVICES):
            self._remove_service(service["metadata"])

    def _remove_service(self, metadata):
        """Whoever else wants it to stay; but not the API server's own."""
        if (metadata["namespace"], metadata["name"]) == ("default", "kubernetes"):
            return
        path = f"/api/v1/namespaces/{metadata['namespace']}/services/{metadata['name']}"
        self.client.request("DELETE", path)
        self.client.request("PATCH", path, body=b'{"metadata": {"finalizers": null}}',
                            headers={"Content-Type": MERGE})


class Kubectl:
    """The real kubectl, for one kubeconfig."""

    def __init__(self, kubeconfig):
        self._argv = [programs.kubectl(), "--kubeconfig", str(kubeconfig)]

    def __call__(self, *arguments, input=None, check=True):
        """Standard output; AssertionError with standard error when it fails (unless not check)."""
        done = subprocess.run([*self._argv, *map(str, arguments)], input=input, text=True,
                              capture_output=True, timeout=60, check=False)
        assert not check or done.returncode == 0, f"kubectl {arguments}: {done.stderr}"
        return done.stdout


def node(name, *, tainted=True, provider_id=None, labels=None, annotations=None, addresses=None,
         system_uuid=None, other_taints=(), status=None, pod_cidrs=()):
    """A Node as a kubelet with --cloud-provider=external registers it: only a Hostname address."""
    taints = [*other_taints]
    if tainted:
        taints.append({"key": TAINT, "value": "true", "effect": "NoSchedule"})
    spec = {"taints": taints} if taints else {}
    if provider_id:
        spec["providerID"] = provider_id
    if pod_cidrs:
        spec |= {"podCIDR": pod_cidrs[0], "podCIDRs": list(pod_cidrs)}
    status = dict(status or {})
    status.setdefault("addresses", addresses or [{"type": "Hostname", "address": name}])
    if system_uuid:
        status["nodeInfo"] = node_info(system_uuid)
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "annotations": annotations or {}, "labels": {
            "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **(labels or {})}},
        "spec": spec, "status": status,
    }


def node_info(system_uuid):
    """status.nodeInfo, of which the API server wants every field."""
    fields = ("machineID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion",
              "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture")
    return {**{field: "test" for field in fields}, "systemUUID": system_uuid}


def is_tainted(object):
    return any(taint["key"] == TAINT for taint in object["spec"].get("taints", []))


def addresses(object):
    """[(type, address)] of a Node."""
    return [(each["type"], each["address"]) for each in object["status"].get("addresses", [])]


def labels(object):
    return object["metadata"].get("labels", {})
