"""The secure port: /healthz, /livez, /readyz, /metrics."""

from harness.isthmus import Manager, machine
from harness.wait import until
from test_initialization import initialized


def test_the_probes_answer_as_a_kubernetes_component_does(k8s, make_infra, make_manager):
    manager = make_manager(make_infra([machine("node1")]))
    for path in ("/healthz", "/livez", "/readyz"):
        answer = until(lambda path=path: _ok(manager, path), what=path)
        assert answer.text == "ok"
        assert answer.headers["Content-Type"].startswith("text/plain")
    verbose = manager.operator.request("GET", "/healthz?verbose").text
    assert "[+]leaderElection ok" in verbose
    assert "[+]cloud-node-controller ok" in verbose
    assert verbose.endswith("check passed\n")
    assert manager.operator.request("GET", "/livez/leaderElection").status == 200
    assert manager.operator.request("GET", "/nothing").status == 404
    assert manager.operator.request("POST", "/healthz").status == 405


def _ok(manager, path):
    answer = manager.operator.request("GET", path)
    return answer.status == 200 and answer


def test_a_standby_is_healthy(k8s, make_infra, make_manager):
    infra = make_infra([machine("node1")])
    make_manager(infra, name="first")
    until(k8s.holder)
    standby = make_manager(infra, name="second")
    for path in ("/healthz", "/livez", "/readyz"):
        until(lambda path=path: _ok(standby, path), what=path)


def test_metrics_have_upstreams_names(k8s, make_infra, make_manager):
    manager = make_manager(make_infra([machine("node1")]))
    k8s.register("node1")
    initialized(k8s, "node1")

    text = manager.operator.request("GET", "/metrics").text

    for name in ("node_controller_cloud_provider_taint_removal_delay_seconds_bucket",
                 "node_controller_initial_node_sync_delay_seconds_bucket",
                 'leader_election_master_status{name="cloud-controller-manager"} 1',
                 'workqueue_depth{name="Nodes"}', 'workqueue_adds_total{name="Nodes"}',
                 'workqueue_queue_duration_seconds_bucket{name="Nodes"',
                 "rest_client_requests_total{", "running_managed_controllers{",
                 "process_resident_memory_bytes", "process_start_time_seconds"):
        assert name in text, f"{name} is missing"
    assert "# TYPE node_controller_initial_node_sync_delay_seconds histogram" in text


def test_port_zero_serves_nothing(k8s, directory, stage, apiserver, make_infra):
    infra = make_infra([machine("node1")])
    manager = stage.add(Manager(directory, apiserver.manager_kubeconfig, infra.cloud_config,
                                "--secure-port=0", start=False))
    manager.launch()
    k8s.register("node1")
    initialized(k8s, "node1")
    try:
        manager.operator.request("GET", "/livez")
        served = True
    except OSError:
        served = False
    assert not served
