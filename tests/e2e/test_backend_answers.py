"""The ways to the backend, and a backend that answers what it should not."""

import json
import os
import socket
import subprocess

import pytest

from harness import rest
from harness.isthmus import machine, write_cloud_config
from harness.kube import is_tainted
from harness.processes import free_port
from harness.unix_server import Handler, UnixServer
from harness.wait import never_during, until
from test_initialization import initialized

TOKEN = "token-of-the-owner"


@pytest.fixture
def https(directory, make_infra):
    """A cloud configuration as a dict, for a backend on HTTPS that knows node1 and node2."""
    key, cert = directory + "/tls.key", directory + "/tls.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=infra",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    token = write(directory + "/token", TOKEN + "\n")
    port = free_port()
    make_infra([machine("node1", address="10.0.0.11"), machine("node2")], listen=[
        f"unix:{directory}/infra/infra.sock", f"https://127.0.0.1:{port}"],
        tls={"certFile": cert, "keyFile": key}, owners=[{"name": "prod", "tokenFile": token}],
        adminTokenFile=write(directory + "/admin", "token-of-the-admin"))
    return {"url": f"https://127.0.0.1:{port}", "caFile": cert, "tokenFile": token}


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def test_over_https_with_a_token(k8s, directory, https, make_manager):
    make_manager(write_cloud_config(directory + "/cloud.yaml", **https))
    k8s.register("node1")
    initialized(k8s, "node1")


def test_another_certificate_is_not_believed(k8s, apiserver, directory, https, make_manager):
    https["caFile"] = apiserver.ca
    manager = make_manager(write_cloud_config(directory + "/cloud.yaml", **https))
    refused(k8s, manager)


def test_a_wrong_token_gets_nothing_and_is_never_shown(k8s, directory, https, make_manager):
    https["tokenFile"] = write(directory + "/wrong", "a-wrong-token")
    manager = make_manager(write_cloud_config(directory + "/cloud.yaml", **https))
    refused(k8s, manager)
    assert "a-wrong-token" not in manager.process.output()


def test_a_new_token_is_read_without_a_restart(k8s, directory, https, make_manager):
    write(https["tokenFile"], "not-yet-the-token")
    manager = make_manager(write_cloud_config(directory + "/cloud.yaml", **https))
    refused(k8s, manager)

    write(https["tokenFile"], TOKEN)

    # node1 is asked for again after a minute; a new one at once.
    k8s.register("node2")
    initialized(k8s, "node2", 90)


def refused(k8s, manager):
    """node1 is registered and nothing happens to it but a Warning."""
    before = k8s.register("node1")
    until(lambda: k8s.events("node1", kind="Warning"), what="a warning")
    after = k8s.node("node1")
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    until(lambda: manager.operator.request("GET", "/readyz").status == 500, what="not ready")
    assert manager.operator.request("GET", "/livez").status == 200


def test_a_machine_put_through_the_api_is_as_good_as_a_line(k8s, directory, make_infra,
                                                            make_manager):
    token = write(directory + "/admin", "token-of-the-admin")
    infra = make_infra([], adminTokenFile=token)
    make_manager(infra)
    k8s.register("node1")
    until(lambda: k8s.events("node1", "FailedToInitialize"))

    rest.Client(infra.url, token="token-of-the-admin").request(
        "PUT", "/v1/instances/u1", body={"metadata": {"name": "node1"}, "spec": {
            "addresses": [{"type": "InternalIP", "address": "10.0.0.11"}]}})

    assert initialized(k8s, "node1", 90)["spec"]["providerID"] == "isthmus://u1"


class Liar(UnixServer):
    """A backend that is what it should be, except that questions about machines get `answer`."""

    def __init__(self, path, status, kind, body, truncated=False):
        info = json.dumps({"kind": "ServerInfo", "protocolVersion": "v1",
                           "providerName": "isthmus", "providerIDScheme": "isthmus",
                           "capabilities": ["instances"]}).encode()
        liar = self
        self.asked = 0

        class Lying(Handler):
            def do_GET(self):  # pylint: disable=invalid-name
                if self.path == "/v1":
                    return self.answer(200, "application/json", info, len(info))
                liar.asked += 1
                return self.answer(status, kind, body, len(body) + (100 if truncated else 0))

            def answer(self, status, kind, body, length):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = True

        super().__init__(path, Lying)


def instance_list(*items, **more):
    return json.dumps({"kind": "InstanceList", "metadata": {"revision": 1},
                       "items": list(items), **more}).encode()


def instance(name, **metadata):
    return {"kind": "Instance", "spec": {},
            "metadata": {"uid": "u1", "name": name, "revision": 1, "generation": 1, **metadata},
            "status": {"power": "running", "presence": "present"}}


HTML = b"<html><body>Welcome to the proxy</body></html>"
PROBLEM = "application/problem+json"
LIES = {
    "html": (200, "text/html", HTML),
    "html that says it is json": (200, "application/json", HTML),
    "html 404": (404, "text/html", HTML),
    "html 401": (401, "text/html", HTML),
    "html 403": (403, "text/html", HTML),
    "a crash": (500, "text/plain", b"oops"),
    "nothing": (200, "application/json", b""),
    "another kind": (200, "application/json", b'{"kind": "Weather", "items": []}'),
    "an item without its uid": (200, "application/json", instance_list(instance("node1", uid=""))),
    "a uid that no providerID should carry": (
        200, "application/json", instance_list(instance("node1", uid="../../x"))),
    "a uid without end": (200, "application/json", instance_list(instance("node1", uid="u" * 5000))),
    "a redirect": (302, "text/html", b""),
    "a problem of no known type": (
        418, PROBLEM, b'{"type": "about:blank", "title": "?", "status": 418}'),
    "a list that breaks off": (200, "application/json", instance_list(instance("node1"))[:-20]),
    "a list without end": (200, "application/json", b" " * (80 << 20)),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_backend_that_answers_nonsense_changes_nothing(k8s, directory, stage, make_manager, lie):
    path = directory + "/liar.sock"
    liar = stage.add(Liar(path, *LIES[lie]))
    manager = make_manager(write_cloud_config(directory + "/cloud.yaml", "unix://" + path))

    before = k8s.register("node1")

    event = until(lambda: k8s.events("node1", kind="Warning"), what="a warning")[0]
    assert event["reason"] in ("FailedToInitialize", "CloudUnavailable"), event["reason"]
    assert liar.asked > 0
    assert k8s.node("node1")["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert manager.process.memory("VmHWM") < 200e6
    assert manager.is_alive()


def test_a_truncated_answer_changes_nothing(k8s, directory, stage, make_manager):
    path = directory + "/liar.sock"
    stage.add(Liar(path, 200, "application/json", instance_list(instance("node1")),
                   truncated=True))
    make_manager(write_cloud_config(directory + "/cloud.yaml", "unix://" + path))
    k8s.register("node1")
    until(lambda: k8s.events("node1", kind="Warning"), what="a warning")
    never_during(lambda: not is_tainted(k8s.node("node1")), 1)


def test_a_backend_that_never_answers_holds_up_nobody_else(k8s, directory, stage, make_manager):
    path = os.path.join(directory, "mute.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    try:
        manager = make_manager(write_cloud_config(directory + "/cloud.yaml", "unix://" + path))
        k8s.register("node1")
        until(lambda: k8s.events("node1", kind="Warning"), 60, "a warning")
        assert manager.is_alive()
        assert manager.process.terminate()[1] < 3
    finally:
        listener.close()
