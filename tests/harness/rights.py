"""What the manager's user may do in the cluster."""

# All the manager asks of the API server, and no more, but for the Lease.
LEAST = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["services"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["services/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
]

_RBAC = "/apis/rbac.authorization.k8s.io/v1/"


def least(on_the_lease=("get", "watch", "create", "update")):
    """The rules of a role; verbs on the Lease as given."""
    return LEAST + [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
                     "verbs": list(on_the_lease)}]


def grant(k8s, rules):
    """These rules and no others to the user `isthmus`."""
    for kind in ("clusterrolebindings", "clusterroles"):
        k8s.client.request("DELETE", f"{_RBAC}{kind}/isthmus")
    k8s.create(_RBAC + "clusterroles", {"metadata": {"name": "isthmus"}, "rules": rules})
    group = "rbac.authorization.k8s.io"
    k8s.create(_RBAC + "clusterrolebindings", {
        "metadata": {"name": "isthmus"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "isthmus"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "isthmus"}]})
