"""The backend's API, each answer checked against the OpenAPI document it serves."""

import os
import subprocess

import pytest
import yaml

from harness import programs, rest
from harness.isthmus import machine
from harness.openapi import CheckedClient, Contract
from harness.processes import free_port
from harness.wait import until

ADMIN = "admin-secret-token"
OWNER = "owner-secret-token"


@pytest.fixture(scope="module")
def contract():
    path = os.path.join(programs.ROOT, "isthmus/infra/api/openapi.yaml")
    with open(path, encoding="utf-8") as file:
        return Contract(yaml.safe_load(file))


@pytest.fixture
def api(make_infra, directory, contract):
    """api(machines): (infra, checked client with the admin's token)."""
    def make(machines=(), **config):
        infra = make_infra(machines, **with_tokens(directory), **config)
        client = rest.Client(infra.url, token=ADMIN)
        return infra, CheckedClient(client, contract)
    return make


def with_tokens(directory):
    """Configuration keys for an admin and one owner."""
    for name, token in (("admin", ADMIN), ("owner", OWNER)):
        with open(f"{directory}/{name}.token", "w", encoding="utf-8") as file:
            file.write(token + "\n")
    return {"adminTokenFile": directory + "/admin.token",
            "owners": [{"name": "prod", "tokenFile": directory + "/owner.token"}]}


def body(name, **spec):
    return {"metadata": {"name": name}, "spec": spec}


def problem(answer, status, kind):
    assert answer.status == status, answer.text
    said = answer.json()
    assert said["type"] == "https://isthmus.dev/problems/" + kind
    assert said["status"] == status
    return said


def test_the_served_document_is_the_written_one(api, contract):
    _, client = api()
    assert client.request("GET", "/openapi.json", token="").json() == contract.document


def test_the_server_says_what_it_is(api):
    info = api()[1].request("GET", "/v1").json()
    assert info["protocolVersion"] == "v1"
    assert info["providerName"] == "isthmus"
    assert info["providerIDScheme"] == "isthmus"
    assert {"instances", "instances.watch"} <= set(info["capabilities"])


def test_the_inventory_is_served(api):
    _, client = api([machine("node1", address="10.0.0.1", type="r640", zone="z", region="r",
                             labels={"rack": "7"}, power="running")])

    got = client.request("GET", "/v1/instances/uid-node1").json()

    assert got["metadata"]["name"] == "node1"
    assert got["metadata"]["labels"] == {"rack": "7"}
    assert got["spec"]["addresses"] == [{"type": "InternalIP", "address": "10.0.0.1"}]
    assert (got["spec"]["type"], got["spec"]["zone"], got["spec"]["region"]) == ("r640", "z", "r")
    assert got["status"]["power"] == "running"
    assert got["status"]["presence"] == "present"
    assert client.request("GET", "/v1/instances").json()["items"] == [got]


def test_pages_of_a_list_are_read_at_one_revision(api):
    infra, client = api([machine(f"node{i:03}") for i in range(25)])
    first = client.request("GET", "/v1/instances?limit=10").json()

    infra.set_machines([machine(f"node{i:03}") for i in range(5)])
    until(lambda: infra.revision(ADMIN) > first["metadata"]["revision"])
    names = [item["metadata"]["name"] for item in first["items"]]
    page = first
    while "continue" in page["metadata"]:
        page = client.request("GET", "/v1/instances", query={
            "limit": 10, "continue": page["metadata"]["continue"]}).json()
        assert page["metadata"]["revision"] == first["metadata"]["revision"]
        assert all(item["status"]["presence"] == "present" for item in page["items"])
        names += [item["metadata"]["name"] for item in page["items"]]

    assert names == [f"node{i:03}" for i in range(25)]


@pytest.mark.parametrize("selector, names", [
    ("rack=7", ["a"]), ("rack!=7", ["b", "c"]), ("disk", ["a", "b"]), ("!disk", ["c"]),
    ("rack in (7,8)", ["a", "b"]), ("rack notin (7)", ["b", "c"]), ("rack=8,disk=hdd", ["b"]),
    ("rack==8", ["b"]),
])
def test_a_label_selector_selects(api, selector, names):
    _, client = api([machine("a", labels={"rack": "7", "disk": "ssd"}),
                     machine("b", labels={"rack": "8", "disk": "hdd"}),
                     machine("c", labels={"rack": "9"})])
    got = client.request("GET", "/v1/instances", query={"labelSelector": selector}).json()
    assert [item["metadata"]["name"] for item in got["items"]] == names


def test_an_instance_is_put_changed_and_put_again_without_effect(api):
    _, client = api()
    path = "/v1/instances/u1"

    created = client.request("PUT", path, body=body("node1", zone="z1"))
    same = client.request("PUT", path, body=body("node1", zone="z1"))
    echoed = client.request("PUT", path, body=created.json())
    changed = client.request("PUT", path, body=body("node1", zone="z2"))

    assert [answer.status for answer in (created, same, echoed, changed)] == [201, 200, 200, 200]
    assert same.json() == created.json() == echoed.json()
    assert same.headers["ETag"] == created.headers["ETag"] != changed.headers["ETag"]
    assert created.json()["metadata"]["generation"] == 1
    assert changed.json()["metadata"]["generation"] == 2
    assert client.request("GET", path).json() == changed.json()


def test_preconditions_hold(api):
    _, client = api()
    path = "/v1/instances/u1"
    absent = client.request("PUT", path, body=body("n"), headers={"If-Match": "*"})
    problem(absent, 412, "revision-conflict")
    created = client.request("PUT", path, body=body("n"), headers={"If-None-Match": "*"})
    assert created.status == 201
    tag = created.headers["ETag"]
    again = client.request("PUT", path, body=body("m"), headers={"If-None-Match": "*"})
    problem(again, 412, "revision-conflict")
    assert client.request("PUT", path, body=body("m"), headers={"If-Match": tag}).status == 200
    stale = client.request("DELETE", path, headers={"If-Match": tag})
    problem(stale, 412, "revision-conflict")


def test_a_deleted_instance_is_gone_for_good(api):
    _, client = api()
    client.request("PUT", "/v1/instances/u1", body=body("n"))

    deleted = client.request("DELETE", "/v1/instances/u1")

    assert deleted.json()["status"]["presence"] == "absent"
    assert deleted.json()["spec"]["state"] == "retired"
    problem(client.request("GET", "/v1/instances/u1"), 404, "instance-retired")
    problem(client.request("DELETE", "/v1/instances/u1"), 404, "instance-retired")
    problem(client.request("PUT", "/v1/instances/u1", body=body("n")), 409, "uid-retired")
    problem(client.request("GET", "/v1/instances/never"), 404, "instance-not-found")
    assert client.request("GET", "/v1/instances").json()["items"] == []


def test_a_vanished_line_is_unknown_and_a_retired_one_is_gone(api):
    infra, client = api([machine("node1"), machine("node2")])

    infra.set_machines([machine("node2", state="retired")])

    until(lambda: client.request("GET", "/v1/instances/uid-node2").status == 404)
    problem(client.request("GET", "/v1/instances/uid-node2"), 404, "instance-retired")
    assert client.request("GET", "/v1/instances/uid-node1").json()["status"]["presence"] == (
        "unknown")


def test_the_inventory_file_has_the_last_word_on_its_machines(api):
    _, client = api([machine("node1")])
    answer = client.request("PUT", "/v1/instances/uid-node1", body=body("other"))
    problem(answer, 409, "managed-by-inventory-file")
    problem(client.request("DELETE", "/v1/instances/uid-node1"), 409, "managed-by-inventory-file")


def test_a_watch_tells_every_change_in_order(api, contract):
    infra, client = api([machine("node1")])
    start = infra.revision(ADMIN)
    status, watch = client.stream("/v1/watch", query={"from": start})
    assert status == 200
    with watch:
        client.request("PUT", "/v1/instances/u1", body=body("a"))
        client.request("PUT", "/v1/instances/u1", body=body("b"))
        client.request("DELETE", "/v1/instances/u1")
        until(lambda: len(changes(watch)) == 3)
        told = changes(watch)
        for event in watch.seen:
            assert not contract.schema_errors("WatchEvent", event)

    assert [event["type"] for event in told] == ["changed", "changed", "removed"]
    assert [event["object"]["metadata"]["name"] for event in told] == ["a", "b", "b"]
    revisions = [event["revision"] for event in told]
    assert revisions == sorted(set(revisions)) and revisions[0] > start
    # From the middle on, the rest comes again.
    status, rest_of_it = client.stream("/v1/watch", query={"from": revisions[0]})
    with rest_of_it:
        until(lambda: len(changes(rest_of_it)) == 2)
        assert changes(rest_of_it) == told[1:]


def changes(watch):
    return [event for event in watch.seen if event["type"] != "bookmark"]


def test_a_watch_from_a_revision_yet_to_come_is_refused(api):
    infra, client = api()
    answer = client.request("GET", "/v1/watch", query={"from": infra.revision(ADMIN) + 1000})
    assert answer.status in (400, 410), answer.text


@pytest.mark.parametrize("bad, pointers", [
    ({}, ["/metadata"]),
    ({"metadata": {"name": "Bad_Name"}}, ["/metadata/name"]),
    ({"metadata": {"name": "n", "uid": "other"}}, ["/metadata/uid"]),
    ({"metadata": {"name": "n", "labels": {"a b": "x", "c": "!"}}, "spec": {"zone": 7},
      "colour": 1},
     ["/metadata/labels/a b", "/metadata/labels/c", "/spec/zone", "/colour"]),
    ({"metadata": {"name": "n"}, "spec": {"addresses": [
        {"type": "IP", "address": "10.0.0.1"}, {"type": "InternalIP", "address": "10.0.0.300"}]}},
     ["/spec/addresses/0/type", "/spec/addresses/1/address"]),
    ({"metadata": {"name": "n"}, "status": {"power": "off"}}, ["/status/power"]),
])
def test_every_wrong_field_is_named_at_once(api, bad, pointers):
    _, client = api()
    said = problem(client.request("PUT", "/v1/instances/u1", body=bad), 422, "invalid-spec")
    assert sorted(error["pointer"] for error in said["errors"]) == sorted(pointers)
    problem(client.request("GET", "/v1/instances/u1"), 404, "instance-not-found")


def test_requests_that_make_no_sense_get_a_problem(api):
    _, client = api([machine("node1")])
    put = {"Content-Type": "application/json"}
    cases = [
        (("GET", "/v1/nothing"), {}, 404, "path-not-found"),
        (("PATCH", "/v1/instances/u1"), {"body": {}}, 405, "method-not-allowed"),
        (("GET", "/v1/instances?limit=0"), {}, 400, "invalid-request"),
        (("GET", "/v1/instances?limit=x"), {}, 400, "invalid-request"),
        (("GET", "/v1/instances?labelSelector=a%20b"), {}, 400, "invalid-request"),
        (("GET", "/v1/instances?continue=nonsense"), {}, 400, "invalid-request"),
        (("GET", "/v1/watch"), {}, 400, "invalid-request"),
        (("PUT", "/v1/instances/u1"), {"body": b"{", "headers": put}, 400, "invalid-request"),
        (("PUT", "/v1/instances/u1"), {"body": b"x=1", "headers": {
            "Content-Type": "text/plain"}}, 415, "unsupported-media-type"),
        (("PUT", "/v1/instances/u1"), {"body": b" " * (4 << 20), "headers": put}, 413,
         "body-too-large"),
    ]
    for (method, path), arguments, status, kind in cases:
        problem(client.request(method, path, **arguments), status, kind)


def test_tokens_decide_who_may_do_what(api):
    _, client = api([machine("node1")])
    problem(client.request("GET", "/v1/instances", token="wrong"), 401, "unauthenticated")
    problem(client.request("GET", "/v1/instances", token=""), 401, "unauthenticated")
    assert client.request("GET", "/v1/instances", token=OWNER).status == 200
    problem(client.request("PUT", "/v1/instances/u1", body=body("n"), token=OWNER), 403,
            "forbidden")
    problem(client.request("DELETE", "/v1/instances/uid-node1", token=OWNER), 403, "forbidden")
    for path in ("/livez", "/readyz", "/metrics", "/openapi.json"):
        assert client.request("GET", path, token="").status == 200


def test_secrets_are_in_no_log(api):
    infra, client = api([machine("node1")])
    client.request("GET", "/v1/instances")
    client.request("GET", "/v1/instances", token="wrong-token-of-somebody")
    infra.process.terminate()
    log = infra.process.output()
    for secret in (ADMIN, OWNER, "wrong-token-of-somebody"):
        assert secret not in log


def test_https_is_served_with_the_configured_certificate(api, directory, contract):
    key, cert = make_certificate(directory)
    port = free_port()
    infra, _ = api([machine("node1")],
                   listen=[f"unix:{directory}/infra/infra.sock", f"https://127.0.0.1:{port}"],
                   tls={"certFile": cert, "keyFile": key})
    assert infra.process.running

    client = rest.Client(f"https://127.0.0.1:{port}", token=OWNER, ca=cert)

    assert CheckedClient(client, contract).request("GET", "/v1/instances").status == 200
    problem(client.request("GET", "/v1/instances", token=""), 401, "unauthenticated")


def make_certificate(directory):
    """(key, certificate): self-signed, for 127.0.0.1."""
    key, cert = directory + "/tls.key", directory + "/tls.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=infra",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    return key, cert


def test_a_thousand_machines_come_and_change_in_one_step(api):
    machines = [machine(f"node{i}", zone="a") for i in range(1000)]
    infra, client = api(machines)
    status, watch = client.stream("/v1/watch", query={"from": infra.revision(ADMIN)})
    assert status == 200
    with watch:
        infra.set_machines([line | {"zone": "b"} for line in machines])
        until(lambda: len(changes(watch)) == 1000)
    assert {event["object"]["spec"]["zone"] for event in changes(watch)} == {"b"}


def test_every_operation_was_checked(contract):
    """Last in this file: the tests above have asked every operation on machines and the server."""
    asked = {operation for operation, _ in contract.checked} | {"watch"}
    documented = {operation["operationId"] for item in contract.document["paths"].values()
                  for method, operation in item.items()
                  if method != "parameters" and operation["tags"][0] in ("instances", "server")}
    assert documented <= asked, documented - asked
