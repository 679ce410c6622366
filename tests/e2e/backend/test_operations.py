"""Every operation on load balancers and what belongs to them, each answer checked against the
OpenAPI document."""

import pytest

from harness.wait import until
from specs import inline, names, problem

TOKENS = {"one": "one-secret-token", "two": "two-secret-token", "admin": "admin-secret-token"}


@pytest.fixture
def backend(net, make_backend, directory):
    """Its client is the owner `one`."""
    for name, token in TOKENS.items():
        with open(f"{directory}/{name}.token", "w", encoding="utf-8") as file:
            file.write(token + "\n")
    backend = make_backend(
        net, adminTokenFile=f"{directory}/admin.token",
        pools=[net.pool(), {"name": "hidden", "ranges": ["192.0.2.0/28"], "interface": "eth0"}],
        owners=[{"name": n, "tokenFile": f"{directory}/{n}.token", "pools": ["public"]}
                for n in ("one", "two")])
    backend.owner = "one"
    backend.infra.client.token = TOKENS["one"]
    return backend


@pytest.fixture
def get(backend):
    """get(path, **query): the document, which must be there."""
    def ask(path, token=None, **query):
        answer = backend.client.request("GET", path, token=token, query=query)
        assert answer.status == 200, answer.text
        return answer.json()
    return ask


def item_names(document):
    return [item["metadata"]["name"] for item in document["items"]]


def test_load_balancers_are_listed_by_page_and_label(net, backend, get):
    for i in range(5):
        backend.put(f"lb{i}", inline(net), labels={"turn": str(i % 2)})
    path = backend.path("loadbalancers")

    first = get(path, limit=2)
    backend.put("lb9", inline(net))
    second = get(path, limit=2, **{"continue": first["metadata"]["continue"]})
    last = get(path, limit=2, **{"continue": second["metadata"]["continue"]})

    assert item_names(first) + item_names(second) + item_names(last) == [
        f"lb{i}" for i in range(5)]
    assert first["metadata"]["revision"] == last["metadata"]["revision"]
    assert item_names(get(path, labelSelector="turn=1")) == ["lb1", "lb3"]
    assert item_names(get(path))[-1] == "lb9"
    plan = backend.client.request("DELETE", path + "/lb9", query={"dryRun": "true"})
    assert plan.json()["effect"] == "deleted", plan.text
    backend.remove("lb9")


def test_target_sets_live(net, backend, get):
    backend.put_set("nodes", [{"name": "m1", "addresses": [net.machines[0].v4], "weight": 2}],
                    status=201)
    path = backend.path("targetsets", "nodes")
    read = backend.client.request("GET", path)
    assert read.json()["spec"]["targets"][0]["weight"] == 2
    backend.put_set("nodes", [{"name": "m1", "addresses": [net.machines[0].v4]}], status=200)
    stale = backend.client.request("DELETE", path, headers={"If-Match": read.headers["ETag"]})
    problem(stale, 412, "revision-conflict")
    assert item_names(get(backend.path("targetsets"))) == ["nodes"]

    plan = backend.client.request("DELETE", path, query={"dryRun": "true"}).json()
    assert plan["kind"] == "Plan" and plan["effect"] == "deleted"
    assert backend.client.request("DELETE", path).status == 200
    problem(backend.client.request("GET", path), 404, "target-set-not-found")


def test_addresses_and_pools_say_who_holds_them(net, backend, get):
    said = backend.serve("web", inline(net, addresses=[net.vip(7)]))
    assert said["status"]["addresses"] == [net.vip(7)]

    (address,) = get(backend.path("addresses"))["items"]
    assert address["metadata"]["name"] == net.vip(7)
    assert address["status"]["holders"] == ["web"] and address["status"]["host"] == "lb1"
    assert item_names(get("/v1/pools")) == ["public"]
    four, six = get("/v1/pools/public")["status"]["use"]
    assert (four["held"], four["free"], six["held"]) == (1, four["total"] - 1, 0)
    problem(backend.client.request("GET", "/v1/pools/hidden"), 404, "pool-not-found")
    assert item_names(get("/v1/pools", TOKENS["admin"])) == ["hidden", "public"]


def test_owners_see_their_own(net, backend, get):
    backend.put("web", inline(net))

    assert item_names(get("/v1/owners")) == ["one"]
    assert "one" in item_names(get("/v1/owners", TOKENS["admin"]))
    for kind in ("loadbalancers", "targetsets", "addresses", "watch?from=0"):
        answer = backend.client.request("GET", "/v1/owners/one/" + kind, token=TOKENS["two"])
        problem(answer, 403, "not-owner")
    problem(backend.client.request("GET", "/v1/orphans"), 403, "forbidden")
    problem(backend.client.request("DELETE", "/v1/orphans/one/web"), 403, "forbidden")


def test_everybody_is_told_who_they_are(backend, get):
    said = {name: get("/v1", token=token).get("owner") for name, token in TOKENS.items()}
    assert said == {"one": "one", "two": "two", "admin": None}


def test_a_watch_tells_of_all_kinds(net, backend, get):
    start = get(backend.path("loadbalancers"))["metadata"]["revision"]
    backend.put_set("nodes", [{"name": "m1", "addresses": [net.machines[0].v4]}])
    backend.serve("web", inline(net))
    config = backend.infra.read_config()
    config["pools"][0]["ranges"].append("10.77.0.128/28")
    backend.infra.write_config(config)

    status, lines = backend.client.stream(backend.path("watch"), query={"from": start})

    assert status == 200
    with lines:
        until(lambda: {"LoadBalancer", "TargetSet", "Address", "Pool"} <= {
            line["object"]["kind"] for line in lines.seen if line["type"] == "changed"})
    for line in lines.seen:
        assert not backend.client.contract.schema_errors("WatchEvent", line), line
    gone = backend.client.request("GET", backend.path("watch"), query={"from": start + 10**6})
    assert gone.status in (400, 410), gone.text


def test_an_orphan_is_listed_and_given_up(net, backend, get):
    address = backend.serve("web", inline(net))["status"]["addresses"][0]
    backend.infra.process.kill()
    backend.infra.write_config(backend.infra.read_config() | {
        "store": {"sqlite": backend.infra.path("another.db")}})
    backend.infra.start()
    names(net.ask(address, 80))

    (orphan,) = get("/v1/orphans", TOKENS["admin"])["items"]
    assert orphan["metadata"]["owner"] == "one" and orphan["status"]["addresses"] == [address]
    gone = backend.client.request("DELETE", "/v1/orphans/one/web", token=TOKENS["admin"])
    assert gone.status == 202, gone.text
    until(lambda: not get("/v1/orphans", TOKENS["admin"])["items"])


def test_every_operation_was_checked(contract):
    """Last in this file: the tests above have asked all there is about load balancers."""
    asked = {operation for operation, status in contract.checked if status < 300} | {"watchOwner"}
    documented = {operation["operationId"] for item in contract.document["paths"].values()
                  for method, operation in item.items() if method != "parameters"
                  and operation["tags"][0] in ("loadbalancers", "addresses")}
    assert documented <= asked, documented - asked
