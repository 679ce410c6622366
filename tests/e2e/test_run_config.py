"""Flags from a file, flags without an effect, and clients with accounts of their own."""

import json
import os

import pytest

from harness import rights
from harness.apiserver import ApiServer
from harness.isthmus import machine
from harness.wait import until
from test_initialization import initialized

MACHINES = [machine("node1", address="10.0.0.1")]


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def test_a_file_says_what_flags_say_and_the_command_line_counts_before_it(
        k8s, directory, make_infra, make_manager):
    config = write(directory + "/run.yaml", """\
leader-elect: false
controllers: ["*", "-service-lb-controller"]
logging-format: text
allocate-node-cidrs: true
feature-gates: {ContextualLogging: true}
""")
    manager = make_manager(make_infra(MACHINES), f"--config={config}", "--logging-format=json",
                           "--kube-api-content-type=application/vnd.kubernetes.protobuf")
    k8s.register("node1")
    initialized(k8s, "node1")

    assert k8s.holder() == ""
    assert manager.metric("running_managed_controllers", name="service") is None
    records = [json.loads(line) for line in manager.process.output().splitlines()]
    told = [record for record in records if "--allocate-node-cidrs" in json.dumps(record)]
    assert len(told) == 1
    assert "--kube-api-content-type" in json.dumps(told)
    assert len([record for record in records if "ContextualLogging" in json.dumps(record)]) == 1


def recorded(log):
    """[(user, last word of the user agent, verb, resource, code)] of an audit log that may still
    grow."""
    with open(log, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    return [(line["user"]["username"], line.get("userAgent", "").rsplit(" ", 1)[-1], line["verb"],
             line["objectRef"]["resource"], line["responseStatus"]["code"])
            for line in lines if "objectRef" in line]


@pytest.fixture
def audited(directory, stage):
    """(API server, log) with all that is asked for."""
    path = os.path.join(directory, "audited")
    os.makedirs(path)
    policy = write(path + "/policy.yaml", json.dumps({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata"}]}))
    log = path + "/audit.log"
    server = stage.add(ApiServer(path, flags=[f"--audit-policy-file={policy}",
                                              f"--audit-log-path={log}"]))
    return server, log


def test_each_client_has_a_user_agent_of_its_own(audited, directory, make_infra, make_manager):
    server, log = audited
    make_manager(make_infra(MACHINES), kubeconfig=server.kubeconfig)
    server.kube.register("node1")
    initialized(server.kube, "node1")

    seen = {agent: set() for agent in ("leader-election", "shared-informers", "node-controller")}
    for _, agent, verb, resource, _ in recorded(log):
        seen.setdefault(agent, set()).add((verb, resource))
    assert ("patch", "nodes") in seen["node-controller"]
    assert ("watch", "nodes") in seen["shared-informers"]
    assert any(resource == "leases" for _, resource in seen["leader-election"])
    assert ("patch", "nodes") not in seen["shared-informers"]


def test_each_controller_may_be_a_service_account(audited, make_infra, make_manager):
    server, log = audited
    rights.install(server.kube, "service-account-credentials.yaml")
    make_manager(make_infra(MACHINES), "--use-service-account-credentials",
                 "--cluster-cidr=10.244.0.0/16", kubeconfig=server.manager_kubeconfig)
    server.kube.register("node1")
    initialized(server.kube, "node1")
    needed = {(account("node-controller"), "patch", "nodes"),
              (account("service-controller"), "get", "namespaces"),
              (account("route-controller"), "get", "namespaces")}
    until(lambda: needed <= done_by_accounts(log), what="each account at work")

    # An account that calls itself something else, or is not allowed what it needs.
    assert all(user == agent for user, agent, *_ in recorded(log) if "serviceaccount:" in agent)
    assert not [call for call in recorded(log) if "serviceaccount:" in call[1] and call[4] == 403]
    # Everything else stays the manager's own.
    leases = {user for user, agent, _, resource, _ in recorded(log)
              if resource == "leases" and agent == "leader-election"}
    assert leases == {rights.USER}


def account(name):
    return f"system:serviceaccount:kube-system:{name}"


def done_by_accounts(log):
    return {(user, verb, resource) for user, agent, verb, resource, _ in recorded(log)
            if user == agent}
