"""How the programs start, stop and live through a missing backend."""

import json
import os
import signal
import subprocess

from harness import kube, programs, rights
from harness.isthmus import OFTEN, machine
from harness.kube import is_tainted
from harness.wait import never_during, until
from test_initialization import initialized

MACHINES = [machine(f"node{i}", address=f"10.0.0.{i}") for i in range(1, 5)]
STOP_SECONDS = 3


def test_sigterm_ends_the_manager_in_order_and_releases_the_lease(k8s, make_infra, make_manager):
    manager = make_manager(make_infra(MACHINES))
    until(k8s.holder, what="a leader")

    code, seconds = manager.process.terminate()

    assert code == 0, manager.process.output()
    assert seconds < STOP_SECONDS
    spec = k8s.get(kube.LEASE)["spec"]
    assert spec.get("holderIdentity", "") == ""
    assert spec["leaseDurationSeconds"] == 1


def test_sigterm_during_a_hanging_cloud_call_ends_in_time(k8s, slow_infra, make_manager):
    infra, wire = slow_infra(MACHINES)
    manager = make_manager(infra)
    until(k8s.holder, what="a leader")
    wire.hold()
    k8s.register("node1")
    until(lambda: wire.held > 0, what="a cloud call that hangs")

    code, seconds = manager.process.terminate()

    assert code == 0, manager.process.output()
    assert seconds < STOP_SECONDS
    assert is_tainted(k8s.node("node1"))


def test_the_event_of_the_last_moment_is_still_posted(k8s, make_infra, make_manager):
    manager = make_manager(make_infra(MACHINES))
    k8s.register("node1")
    initialized(k8s, "node1")

    manager.process.terminate()

    assert k8s.events("node1", "Synced")


def test_sigint_is_like_sigterm(k8s, make_infra, make_manager):
    manager = make_manager(make_infra(MACHINES))
    until(k8s.holder, what="a leader")
    manager.process.send(signal.SIGINT)
    assert manager.process.wait(STOP_SECONDS) == 0


def test_sigterm_ends_the_backend_in_order_under_an_open_watch(make_infra):
    infra = make_infra(MACHINES)
    _, watch = infra.client.stream("/v1/watch", query={"from": infra.revision()})
    with watch:
        code, seconds = infra.process.terminate()
        assert code == 0, infra.process.output()
        assert seconds < STOP_SECONDS
        until(lambda: watch.over)


def test_without_a_backend_nothing_is_written_and_then_it_recovers(
        k8s, make_infra, make_manager):
    infra = make_infra(MACHINES, start=False)
    manager = make_manager(infra)
    before = k8s.register("node1")
    until(lambda: k8s.events("node1", kind="Warning"), what="a warning")
    never_during(lambda: k8s.node("node1")["metadata"]["resourceVersion"]
                 != before["metadata"]["resourceVersion"], 2)
    assert manager.is_alive()

    infra.start()

    initialized(k8s, "node1", 90)


def test_a_backend_that_dies_changes_no_initialized_node(k8s, make_infra, make_manager):
    infra = make_infra(MACHINES)
    manager = make_manager(infra, OFTEN)
    k8s.register("node1")
    before = initialized(k8s, "node1")

    infra.process.kill()

    never_during(lambda: k8s.node("node1")["metadata"]["resourceVersion"]
                 != before["metadata"]["resourceVersion"], 3)
    infra.start()
    k8s.register("node2")
    initialized(k8s, "node2", 90)
    assert manager.process.running


def test_the_backend_remembers_what_it_was_told_after_a_crash(make_infra):
    infra = make_infra(MACHINES)
    before = infra.client.request("GET", "/v1/instances").json()
    infra.process.kill()
    infra.start()
    after = infra.client.request("GET", "/v1/instances").json()
    assert [item["metadata"] for item in after["items"]] == [
        item["metadata"] for item in before["items"]]
    assert after["metadata"]["revision"] >= before["metadata"]["revision"]


def test_a_forgotten_socket_file_is_in_nobodys_way(make_infra):
    infra = make_infra(MACHINES)
    infra.process.kill()
    infra.start()
    assert infra.client.request("GET", "/v1").status == 200


def test_two_backends_do_not_share_a_socket(make_infra):
    infra = make_infra(MACHINES)
    first = infra.process
    second = infra.launch()
    try:
        assert second.wait(10) != 0
        assert infra.client.request("GET", "/v1").status == 200
    finally:
        infra.process = first


def test_version_is_told_in_every_way():
    run = [programs.isthmus()]
    text = subprocess.run([*run, "version"], capture_output=True, text=True, check=True).stdout
    assert text.startswith("isthmus v") or text.startswith("isthmus 0")
    for flag in ("--version", "--version=true"):
        said = subprocess.run([*run, "run", flag], capture_output=True, text=True, check=True)
        assert said.stdout.split()[-1] in text


def test_under_upstreams_name_it_is_the_manager(directory):
    link = directory + "/cloud-controller-manager"
    os.symlink(programs.isthmus(), link)
    said = subprocess.run([link, "--help"], capture_output=True, text=True, check=True).stdout
    assert "--cloud-provider" in said
    version = subprocess.run([link, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.strip()


def test_a_port_that_is_taken_is_named(k8s, make_infra, make_manager):
    infra = make_infra(MACHINES)
    first = make_manager(infra, name="first")
    port = first.operator.url.rsplit(":", 1)[1]

    second = make_manager(infra, f"--secure-port={port}", name="second", start=False)

    assert second.launch().wait(10) == 1
    assert port in second.process.output()
    assert "in use" in second.process.output()
    assert first.is_alive()


def test_without_election_it_starts_and_stops_alone(k8s, make_infra, make_manager):
    manager = make_manager(make_infra(MACHINES), "--leader-elect=false")
    k8s.register("node1")
    initialized(k8s, "node1")
    assert k8s.holder() == ""
    code, seconds = manager.process.terminate()
    assert (code, seconds < STOP_SECONDS) == (0, True)


# A role that was made for upstream's manager lets its holder neither watch nor patch the Lease.
def test_without_a_right_to_watch_the_lease_everything_still_works(k8s, apiserver, make_infra,
                                                                   make_manager):
    rights.grant(k8s, rights.rules(without={("leases", "watch")}))
    manager = make_manager(make_infra(MACHINES), kubeconfig=apiserver.kubeconfig_of("isthmus"))
    k8s.register("node1")
    initialized(k8s, "node1")
    until(lambda: k8s.events("node1", "Synced"))
    assert manager.process.terminate()[0] == 0
    assert k8s.holder() == ""
    log = manager.process.output()
    assert "forbidden" not in log, log


def test_json_logs_are_json(k8s, make_infra, make_manager):
    manager = make_manager(make_infra(MACHINES), "--logging-format=json")
    k8s.register("node1")
    initialized(k8s, "node1")
    lines = manager.process.output().splitlines()
    assert lines
    for line in lines:
        assert json.loads(line)
