"""Wrong bodies: every wrong field is named by JSON pointer, all at once, and nothing is changed."""

from specs import inline, problem


def pointers(backend, spec, name="web", kind="invalid-spec", status=422):
    answer = backend.client.request("PUT", backend.path("loadbalancers", name),
                                    body={"metadata": {}, "spec": spec})
    said = problem(answer, status, kind)
    assert backend.is_gone(name)
    return {error["pointer"] for error in said.get("errors", [])}


def changed(net, path, value):
    """The inline spec with one place replaced: ("listeners", 0, "port")."""
    spec = inline(net)
    place = spec
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return spec


WRONG = [
    (("listeners", 0, "port"), 0),
    (("listeners", 0, "port"), 65536),
    (("listeners", 0, "port"), "80"),
    (("listeners", 0, "name"), "Not A Name"),
    (("listeners", 0, "name"), "x" * 64),
    (("listeners", 0, "name"), "../../etc"),
    (("listeners", 0, "protocol"), "ICMP"),
    (("listeners", 0, "targetGroup"), "nobody"),
    (("targetGroups", 0, "targets", 0, "address"), "::ffff:10.88.0.11"),
    (("targetGroups", 0, "targets", 0, "address"), "127.0.0.1"),
    (("targetGroups", 0, "targets", 0, "address"), "169.254.169.254"),
    (("targetGroups", 0, "targets", 0, "address"), "10.77.0.200"),  # Of a pool.
    (("targetGroups", 0, "targets", 0, "address"), "10.77.0.2"),  # The host's own.
    (("targetGroups", 0, "targets", 0, "address"), "10.88.0.11/24"),
    (("targetGroups", 0, "targets", 0, "port"), 0),
    (("targetGroups", 0, "targets", 0, "port"), 65536),
    (("targetGroups", 0, "targets", 0, "weight"), -1),
    (("targetGroups", 0, "targets", 0, "surprise"), True),
    (("targetGroups", 0, "healthCheck"), {"protocol": "HTTP", "path": "no-slash"}),
    (("allowedSources",), ["10.0.0.1/8"]),
    (("allowedSources",), ["::ffff:10.0.0.0/104"]),
    (("addresses",), ["::ffff:10.77.0.200"]),
    (("families",), ["IPv5"]),
    (("pool",), "nowhere"),
    (("affinity",), "Sometimes"),
    (("sourceAddress",), "invent"),
]


def test_the_wrong_field_is_named(net, backend):
    missed = []
    for path, value in WRONG:
        found = pointers(backend, changed(net, path, value))
        pointer = "/spec/" + "/".join(map(str, path))
        if not any(p.startswith(pointer) for p in found):
            missed.append((pointer, value, found))
    assert not missed


def test_everything_wrong_is_named_at_once(net, backend):
    spec = changed(net, ("listeners", 0, "port"), 0)
    spec["targetGroups"][0]["targets"][0]["port"] = 65536
    spec["allowedSources"] = ["10.0.0.1/8"]
    spec["colour"] = "red"

    found = pointers(backend, spec)

    assert found >= {"/spec/listeners/0/port", "/spec/targetGroups/0/targets/0/port",
                     "/spec/allowedSources/0", "/spec/colour"}


def test_sizes(net, backend):
    spec = inline(net)
    spec["listeners"] = [{"protocol": "TCP", "port": 1 + i, "targetGroup": "web"}
                         for i in range(500)]
    assert "/spec/listeners" in pointers(backend, spec)

    many = [{"address": f"10.{i // 62500}.{i // 250 % 250}.{1 + i % 250}", "port": 8080}
            for i in range(5001)]
    assert any(p.startswith("/spec/targetGroups/0/targets") for p in
               pointers(backend, changed(net, ("targetGroups", 0, "targets"), many)))
    backend.put("big", changed(net, ("targetGroups", 0, "targets"), many[:5000]), status=201)
    backend.put_set("big", [{"name": f"t{i}", "addresses": [t["address"]]}
                            for i, t in enumerate(many[:5000])])


def test_twins(net, backend):
    listener = {"protocol": "TCP", "port": 80, "targetGroup": "web"}
    assert any(p.startswith("/spec/listeners/1") for p in
               pointers(backend, changed(net, ("listeners",), [listener, listener])))
    target = {"address": "10.88.0.11", "port": 8080}
    assert any(p.startswith("/spec/targetGroups/0/targets/1") for p in pointers(
        backend, changed(net, ("targetGroups", 0, "targets"), [target, target])))


def test_what_the_driver_does_not_offer_is_named(net, backend):
    answer = backend.client.request(
        "PUT", backend.path("loadbalancers", "web"),
        body={"metadata": {}, "spec": inline(net, protocol="SCTP")})
    said = problem(answer, 422, "not-offered")
    assert "SCTP" in said["detail"] and "nft" in said["detail"], said


def test_hostile_names_are_refused(net, backend):
    for name in ("UPPER", "with%20space", "a" * 254, "..", "x%00y"):
        answer = backend.client.request("PUT", f"/v1/owners/local/loadbalancers/{name}",
                                        body={"metadata": {}, "spec": inline(net)})
        assert answer.status in (400, 404, 422), answer.text
        assert answer.headers["Content-Type"].startswith("application/problem+json")


def test_a_body_that_is_no_document(net, backend):
    for body in (b"", b"<html>", b"{", b"[]", b"{" * 100_000):
        answer = backend.client.request("PUT", backend.path("loadbalancers", "web"), body=body,
                                        headers={"Content-Type": "application/json"})
        assert answer.status in (400, 422), answer.text
    answer = backend.client.request(
        "PUT", backend.path("loadbalancers", "web"), headers={"Content-Type": "application/json"},
        body=b'{"spec": {"pool": "' + b"x" * 3_000_000 + b'"}}')
    assert answer.status == 413, answer.text


def test_an_unknown_target_set_is_named(net, backend):
    spec = inline(net)
    spec["targetGroups"] = [{"name": "web", "targetSet": "nobody", "port": 8080}]
    assert "/spec/targetGroups/0/targetSet" in pointers(backend, spec)


def test_another_owners_things_are_not_there(net, make_backend, directory):
    for name in ("one", "two", "admin"):
        with open(f"{directory}/{name}.token", "w", encoding="utf-8") as file:
            file.write(f"{name}-secret-token\n")
    backend = make_backend(
        net, adminTokenFile=f"{directory}/admin.token",
        owners=[{"name": n, "tokenFile": f"{directory}/{n}.token", "pools": ["public"]}
                for n in ("one", "two")])
    path = "/v1/owners/one/loadbalancers/web"
    body = {"metadata": {}, "spec": inline(net)}
    request = backend.client.request

    assert request("PUT", path, body=body, token="one-secret-token").status == 201
    for method in ("PUT", "GET", "DELETE"):
        answer = request(method, path, body=body if method == "PUT" else None,
                         token="two-secret-token")
        problem(answer, 403, "not-owner")
    assert request("GET", path, token="admin-secret-token").status == 200
    assert request("GET", path, token="wrong").status == 401
