"""What managers may do in a cluster: the role of deploy/manifests, and users who have another one.

The API server's audit log says what they did (`calls`); `missing` and `unused` compare the two.
"""

import dataclasses
import functools
import json
import os

import yaml

from . import programs
from .kube import Refused
from .wait import until

MANIFESTS = os.path.join(programs.ROOT, "deploy/manifests")
NAMESPACE = "kube-system"
ACCOUNT = "isthmus"
# What the API server calls who has the account's token.
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_PATHS = {"ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
          "ClusterRole": _RBAC + "/clusterroles", "ClusterRoleBinding": _RBAC + "/clusterrolebindings",
          "Role": _RBAC + "/namespaces/{}/roles", "RoleBinding": _RBAC + "/namespaces/{}/rolebindings"}

# Only what our own user did, and when it was answered; a watch is told when it begins. Of Events
# all that they say.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Request", "users": [USER], "verbs": ["create"],
               "resources": [{"group": "", "resources": ["events"]}]},
              {"level": "Metadata", "users": [USER]}, {"level": "None"}]}


def manifest(name):
    """The objects of a file of deploy/manifests."""
    with open(os.path.join(MANIFESTS, name), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def install(k8s, *files):
    """What these files of deploy/manifests grant, as `kubectl apply` would; default: rbac.yaml."""
    for name in files or ("rbac.yaml",):
        for each in manifest(name):
            metadata = each["metadata"]
            path = _PATHS[each["kind"]].format(metadata.get("namespace"))
            # A server that has just started makes its namespaces within the first second.
            until(lambda path=path, each=each: _put(k8s, path, each), 30, f"{each['kind']} made")


def _put(k8s, path, each):
    one = f"{path}/{each['metadata']['name']}"
    try:
        there = k8s.get_or_none(one)
        return k8s.create(path, each) if there is None else k8s.patch(one, each)
    except Refused as refusal:
        assert refusal.status == 404, refusal
        return None


def token(k8s, account=ACCOUNT):
    """A day's token of a service account, as a pod gets one."""
    path = _PATHS["ServiceAccount"].format(NAMESPACE) + f"/{account}/token"
    return k8s.create(path, {"spec": {"expirationSeconds": 86400}})["status"]["token"]


def rules(*, without=()):
    """The rules of rbac.yaml as those of one ClusterRole. without: (resource, verb) that are left
    out."""
    kept = []
    for each in manifest("rbac.yaml"):
        for rule in each.get("rules", []):
            for resource in rule["resources"]:
                verbs = [verb for verb in rule["verbs"] if (resource, verb) not in without]
                kept += [{**rule, "resources": [resource], "verbs": verbs}] if verbs else []
    return kept


def grant(k8s, granted):
    """These rules and no others to the user `isthmus`."""
    for kind in ("clusterrolebindings", "clusterroles"):
        k8s.client.request("DELETE", f"{_RBAC}/{kind}/user-isthmus")
    group = "rbac.authorization.k8s.io"
    k8s.create(_RBAC + "/clusterroles", {"metadata": {"name": "user-isthmus"}, "rules": granted})
    k8s.create(_RBAC + "/clusterrolebindings", {
        "metadata": {"name": "user-isthmus"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "user-isthmus"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "isthmus"}]})


# --- What a role allows, and what was done ------------------------------------------------------------


@dataclasses.dataclass(frozen=True, order=True)
class Right:
    """One verb on one resource. Empty: any namespace, any name."""
    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""

    def allows(self, call):
        return ((self.group, self.resource, self.verb) == (call.group, call.resource, call.verb)
                and self.namespace in ("", call.namespace) and self.name in ("", call.name))

    def __str__(self):
        where = f" in {self.namespace}" if self.namespace else ""
        name = f" {self.name}" if self.name else ""
        return f"{self.verb} {self.resource}{'.' + self.group if self.group else ''}{name}{where}"


@functools.cache
def granted_rights(*files):
    """All that these files of deploy/manifests grant to the account."""
    objects = [each for file in files for each in manifest(file)]
    bound = {_role(each["roleRef"]["kind"], each["roleRef"]["name"], each) for each in objects
             if ACCOUNT in (subject["name"] for subject in each.get("subjects", []))}
    return frozenset(
        Right(group, resource, verb, each["metadata"].get("namespace", ""), name)
        for each in objects if _role(each["kind"], each["metadata"]["name"], each) in bound
        for rule in each["rules"] for group in rule["apiGroups"]
        for resource in rule["resources"] for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""]))


def _role(kind, name, each):
    return kind, name, each["metadata"].get("namespace", "")


def calls(log):
    """What was asked for, as Rights, by an audit log that may still grow. Granted or not: a server
    that has just started may refuse what it has not read yet that it should grant."""
    with open(log, encoding="utf-8") as file:
        return {_call(json.loads(line)) for line in file if line.endswith("\n")}


def events(log):
    """{(type, kind of the object, reason)} of the Events that were posted, by an audit log."""
    with open(log, encoding="utf-8") as file:
        made = [json.loads(line).get("requestObject") for line in file
                if line.endswith("\n") and '"requestObject"' in line]
    return {(each["type"], each["involvedObject"]["kind"], each["reason"]) for each in made}


def _call(event):
    ref = event.get("objectRef")
    if ref is None:
        return Right("", event["requestURI"].split("?")[0], event["verb"])
    resource = "/".join(filter(None, (ref["resource"], ref.get("subresource"))))
    return Right(ref.get("apiGroup", ""), resource, event["verb"], ref.get("namespace", ""),
                 ref.get("name", ""))


def missing(asked, granted):
    """Calls that no right allows."""
    return {call for call in asked if not any(right.allows(call) for right in granted)}


def unused(asked, granted):
    """Rights that no call needs."""
    return {right for right in granted if not any(right.allows(call) for call in asked)}
