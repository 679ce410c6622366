"""Who may ask the secure port: looked up at the real API server."""

import os
import subprocess
import time

import pytest

from harness import rest
from harness.isthmus import machine
from harness.wait import until

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


@pytest.fixture
def look_ups(apiserver):
    """Flags of a manager that asks the API server about its callers, as its own service account."""
    return _look_ups(apiserver.manager_kubeconfig)


def _look_ups(kubeconfig):
    return [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]


@pytest.fixture
def account(k8s):
    """account(name, *paths): the token of a service account that may get those paths."""
    made = []

    def make(name, *paths):
        k8s.create(_ACCOUNTS, {"metadata": {"name": name}})
        made.append(f"{_ACCOUNTS}/{name}")
        if paths:
            _grant(k8s, name, paths, made)
        answer = k8s.create(f"{_ACCOUNTS}/{name}/token", {"spec": {"expirationSeconds": 600}})
        return answer["status"]["token"]
    yield make
    for path in reversed(made):
        k8s.delete(path)


def _grant(k8s, name, paths, made):
    group = "rbac.authorization.k8s.io"
    k8s.create(_RBAC + "/clusterroles", {
        "metadata": {"name": name}, "rules": [{"nonResourceURLs": list(paths), "verbs": ["get"]}]})
    made.append(f"{_RBAC}/clusterroles/{name}")
    k8s.create(_RBAC + "/clusterrolebindings", {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]})
    made.append(f"{_RBAC}/clusterrolebindings/{name}")


def _get(manager, path, **arguments):
    return manager.operator.request("GET", path, **arguments)


def test_a_service_account_reads_what_its_role_says(account, look_ups, make_infra, make_manager):
    reader = account("metrics-reader", "/metrics", "/configz")
    other = account("no-reader")
    manager = make_manager(make_infra([machine("node1")]), *look_ups)

    # The API server's own authorizer may need a moment until it has seen the new role.
    answer = until(lambda: _ok(manager, "/metrics", reader), 30, "allowed to read metrics")
    assert "isthmus_loop_lag_seconds_bucket" in answer.text
    assert "cloudcontrollermanager.config.k8s.io" in _get(manager, "/configz", token=reader).json()
    assert _get(manager, "/metrics/slis", token=reader).status == 403

    refused = _get(manager, "/metrics", token=other)
    assert refused.status == 403
    status = refused.json()
    assert (status["kind"], status["reason"], status["code"]) == ("Status", "Forbidden", 403)
    assert 'User "system:serviceaccount:default:no-reader" cannot get path "/metrics"' in status["message"]


def _ok(manager, path, token):
    answer = _get(manager, path, token=token)
    return answer.status == 200 and answer


def test_strangers_may_probe_and_nothing_else(look_ups, make_infra, make_manager):
    manager = make_manager(make_infra([machine("node1")]), *look_ups)

    assert _get(manager, "/healthz").text == "ok"
    anonymous = _get(manager, "/metrics")
    assert anonymous.status == 403
    assert 'User "system:anonymous" cannot get' in anonymous.json()["message"]
    wrong = _get(manager, "/metrics", token="canary-4711")
    assert wrong.status == 401
    assert wrong.json()["reason"] == "Unauthorized"
    assert _get(manager, "/livez", token="canary-4711").status == 200
    with open(manager.process.log, encoding="utf-8") as log:
        assert "canary" not in log.read()


def test_masters_may_do_everything(k8s, look_ups, make_infra, make_manager):
    manager = make_manager(make_infra([machine("node1")]), *look_ups)
    admin = k8s.client.token

    assert _get(manager, "/metrics", token=admin).status == 200
    _get(manager, "/healthz")
    slis = _get(manager, "/metrics/slis", token=admin).text
    assert 'kubernetes_healthcheck{name="leaderElection",type="healthz"} 1' in slis
    reset = manager.operator.request("DELETE", "/metrics/slis", token=admin)
    assert reset.text == "metrics reset\n"
    assert "leaderElection" not in _get(manager, "/metrics/slis", token=admin).text
    assert _get(manager, "/version", token=admin).json()["gitVersion"].startswith("v")
    assert _get(manager, "/debug/pprof/", token=admin).status == 404


def test_prometheus_scrapes_with_its_token_over_verified_tls(
        account, look_ups, directory, make_infra, make_manager):
    """As a scrape_config with bearer_token_file and ca_file does, once for the whole exposition."""
    token = account("prometheus", "/metrics")
    certs = os.path.join(directory, "certs")
    os.mkdir(certs)
    manager = make_manager(make_infra([machine("node1")]), *look_ups, f"--cert-dir={certs}")
    until(lambda: _ok(manager, "/metrics", token), 30, "allowed to read metrics")

    scraped = subprocess.run(
        ["curl", "--silent", "--show-error", "--fail", "--compressed",
         "--cacert", os.path.join(certs, "cloud-controller-manager.crt"),
         "--header", f"Authorization: Bearer {token}",
         "--header", "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
         manager.operator.url + "/metrics"], capture_output=True, text=True, timeout=30, check=True)

    assert "# TYPE process_cpu_seconds_total counter" in scraped.stdout
    assert "kubernetes_build_info{" in scraped.stdout


def test_verdicts_outlive_the_api_server_for_a_while_and_nobody_waits_for_ever(
        apiserver, account, wired_kubeconfig, make_infra, make_manager):
    token = account("metrics-reader", "/metrics")
    kubeconfig, wire = wired_kubeconfig(apiserver)
    manager = make_manager(
        make_infra([machine("node1")]), *_look_ups(kubeconfig),
        "--authentication-token-webhook-cache-ttl=4s",
        "--authorization-webhook-cache-authorized-ttl=4s")
    until(lambda: _ok(manager, "/metrics", token), 30, "allowed to read metrics")

    wire.cut()
    assert _get(manager, "/metrics", token=token).status == 200
    refused = until(lambda: _unavailable(manager, token), 10, "the verdict is old")
    assert refused.headers["Retry-After"] == "1"
    assert refused.json()["reason"] == "ServiceUnavailable"
    assert _get(manager, "/livez").status == 200

    wire.mend()
    until(lambda: _ok(manager, "/metrics", token), 20, "allowed again")
    wire.hold()
    before = time.monotonic()
    assert until(lambda: _unavailable(manager, "another"), 20, "no answer").status == 503
    assert time.monotonic() - before < 15
    wire.release()


def _unavailable(manager, token):
    answer = _get(manager, "/metrics", token=token)
    return answer.status == 503 and answer


def _authority(directory, name):
    """(certificate file, key file) of a certificate authority."""
    files = tuple(os.path.join(directory, f"{name}.{kind}") for kind in ("crt", "key"))
    _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-subj", f"/CN={name}", "-out", files[0], "-keyout", files[1])
    return files


def _client(directory, authority, name, subject):
    """(certificate file, key file) of a client."""
    crt, key, csr = (os.path.join(directory, f"{name}.{kind}") for kind in ("crt", "key", "csr"))
    _openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-subj", subject, "-out", csr, "-keyout", key)
    _openssl("x509", "-req", "-in", csr, "-CA", authority[0], "-CAkey", authority[1],
             "-CAcreateserial", "-out", crt)
    return crt, key


def _openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=30)


def test_client_certificates_count_by_the_authority_that_the_api_server_publishes(
        directory, make_apiserver, make_infra, make_manager):
    ours, theirs = _authority(directory, "ours"), _authority(directory, "theirs")
    server = make_apiserver(flags=[f"--client-ca-file={ours[0]}"])
    manager = make_manager(make_infra([machine("node1")]), *_look_ups(server.manager_kubeconfig),
                           kubeconfig=server.manager_kubeconfig)

    def get(path, certificate):
        client = rest.Client(manager.operator.url, certificate=certificate)
        return client.request("GET", path)

    admin = _client(directory, ours, "admin", "/O=system:masters/CN=admin")
    until(lambda: get("/metrics", admin).status == 200, 30, "the authority is known")
    somebody = _client(directory, ours, "somebody", "/CN=somebody")
    assert 'User "somebody" cannot get' in get("/metrics", somebody).json()["message"]
    forged = _client(directory, theirs, "forged", "/O=system:masters/CN=admin")
    assert get("/metrics", forged).status == 401
    assert get("/livez", forged).status == 200
    assert "[+]client-ca ok" in _get(manager, "/readyz?verbose").text


def test_a_manager_that_cannot_look_the_authority_up_is_not_ready_unless_told_otherwise(
        directory, apiserver, make_infra, make_manager):
    nobody = os.path.join(directory, "nobody.kubeconfig")
    with open(apiserver.kubeconfig, encoding="utf-8") as file:
        text = file.read().replace("admin-token", "no-such-token")
    with open(nobody, "w", encoding="utf-8") as file:
        file.write(text)
    infra = make_infra([machine("node1")])
    strict = make_manager(infra, f"--authentication-kubeconfig={nobody}", name="strict")
    tolerant = make_manager(infra, f"--authentication-kubeconfig={nobody}",
                            "--authentication-tolerate-lookup-failure", name="tolerant")

    assert "[-]client-ca failed: reason withheld" in _get(strict, "/readyz").text
    assert _get(strict, "/livez").status == 200
    assert "client-ca" not in _get(tolerant, "/readyz?verbose").text
    until(lambda: _get(tolerant, "/readyz").status == 200, 20, "ready")


def test_old_tls_is_refused_where_only_the_newest_is_wanted(make_infra, make_manager):
    manager = make_manager(make_infra([machine("node1")]), "--tls-min-version=VersionTLS13",
                           "--tls-curve-preferences=29,23")
    refused = subprocess.run(["curl", "--insecure", "--silent", "--tls-max", "1.2",
                              manager.operator.url + "/livez"], timeout=30, check=False)
    assert refused.returncode == 35  # The TLS handshake failed.
    taken = subprocess.run(["curl", "--insecure", "--silent", "--curves", "P-256",
                            manager.operator.url + "/livez"],
                           capture_output=True, text=True, timeout=30, check=True)
    assert taken.stdout == "ok"
