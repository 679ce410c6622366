"""The role of deploy/manifests is what managers need, neither less nor more.

All stories run under it, and the API servers write down what they were asked for. The last test of
a run, here, compares the two.
"""

import os

import pytest

from harness import rights
from harness.rights import Right

LEASES = "coordination.k8s.io"


def test_a_right_is_compared_with_a_call_by_group_resource_verb_namespace_and_name():
    watch = Right("", "nodes", "watch")
    update = Right(LEASES, "leases", "update", "kube-system", "cloud-controller-manager")
    granted = {watch, update, Right("", "nodes", "delete")}

    for wrong in (Right("", "nodes/status", "watch"), Right("apps", "nodes", "watch"),
                  Right("", "nodes", "list"),
                  Right(LEASES, "leases", "update", "kube-system", "another"),
                  Right(LEASES, "leases", "update", "default", "cloud-controller-manager")):
        assert rights.missing({wrong}, granted) == {wrong}
        assert rights.unused({wrong}, granted) == granted
    asked = {Right("", "nodes", "watch", "", "node1"), update}
    assert rights.missing(asked, granted) == set()
    assert rights.unused(asked, granted) == {Right("", "nodes", "delete")}


def test_no_right_is_a_wildcard_and_none_reaches_secrets_or_tokens():
    for right in rights.granted_rights("rbac.yaml"):
        assert "*" not in (right.group, right.resource, right.verb, right.name), right
        assert right.resource not in ("secrets", "serviceaccounts", "serviceaccounts/token"), right


# conftest.py makes it the last one.
def test_the_whole_story_needs_exactly_the_role(all_audit_logs):
    asked = set().union(*(rights.calls(log) for log in all_audit_logs))
    granted = rights.granted_rights("rbac.yaml", "service-account-credentials.yaml")

    assert not rights.missing(asked, granted), f"too narrow: {told(rights.missing(asked, granted))}"
    if os.environ.get("ISTHMUS_E2E_PART") != "afterwards":
        pytest.skip("what is not needed is only known when tests/e2e/run has told the whole story")
    assert asked, "no call was written down"
    assert not rights.unused(asked, granted), f"too wide: {told(rights.unused(asked, granted))}"


def told(some):
    return ", ".join(map(str, sorted(some)))
