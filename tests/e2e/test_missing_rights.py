"""What a manager may not do stops that one controller, which says so and does not storm the server."""

import time

import pytest

from harness import rights
from harness.isthmus import machine
from harness.kube import is_tainted
from harness.wait import until
from test_initialization import initialized

MACHINES = [machine(f"node{i}", address=f"10.0.0.{i}") for i in range(1, 4)]

# A watch that is refused backs off from about a second to half a minute, a denied write waits a
# minute; a handful of calls is far from a hot loop, which makes thousands.
CALLS_MAX = 25


@pytest.fixture
def without(k8s, apiserver, make_infra, make_manager):
    """without((resource, verb), …) starts a manager that has all rights but these."""
    def make(*missing, flags=()):
        rights.grant(k8s, rights.rules(without=set(missing)))
        return make_manager(make_infra(MACHINES), *flags,
                            kubeconfig=apiserver.kubeconfig_of("isthmus"))
    return make


def refused(manager, code="403"):
    return manager.metric("rest_client_requests_total", code=code) or 0


def rate_is_low(manager, code="403"):
    before = refused(manager, code)
    time.sleep(5)
    assert 0 < before <= CALLS_MAX
    assert refused(manager, code) - before <= CALLS_MAX


def ready(manager):
    answer = manager.operator.request("GET", "/readyz?verbose")
    return answer.status, answer.text


def test_services_that_may_not_be_read_stop_no_node(k8s, without):
    manager = without(("services", "list"), ("services", "watch"))
    until(k8s.holder, what="a leader")
    k8s.register("node1")
    initialized(k8s, "node1")

    status, text = ready(manager)
    assert status == 500
    assert "[-]watch-services" in text and "[+]watch-nodes" in text, text
    assert "services is forbidden" in manager.process.output()
    rate_is_low(manager)
    assert manager.is_alive()

    rights.grant(k8s, rights.rules())
    until(lambda: ready(manager)[0] == 200, 90, "a manager that has seen its new rights")


def test_a_write_that_is_not_allowed_is_told_and_tried_about_once_a_minute(k8s, without):
    manager = without(("nodes", "patch"))
    until(k8s.holder, what="a leader")
    for each in MACHINES:
        k8s.register(each["name"])
    until(lambda: refused(manager) >= len(MACHINES), what="refusals")

    rate_is_low(manager)
    assert is_tainted(k8s.node("node1"))
    assert "forbidden" in manager.process.output()
    assert manager.is_alive()


def test_who_is_nobody_to_the_server_stays_alive_and_quiet(
        directory, apiserver, make_infra, make_manager):
    with open(apiserver.kubeconfig, encoding="utf-8") as file:
        text = file.read().replace("admin-token", "no-such-token")
    path = directory + "/nobody.kubeconfig"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    manager = make_manager(make_infra(MACHINES), kubeconfig=path)
    until(lambda: refused(manager, "401") > 0, what="a refusal")

    rate_is_low(manager, "401")
    status, text = ready(manager)
    assert status == 500 and "[-]standby" in text, text
    assert manager.is_alive()
