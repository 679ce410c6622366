"""Route tables: what they make of the host's kernel, and what others do to it."""

import http.client
import os
import threading

import pytest

from harness import isthmus
from harness.wait import until
from specs import names, problem
from tables import CIDRS, TOKENS, kernel_routes, ours, with_owners


@pytest.fixture
def backend(net, make_backend, directory):
    """Its client is the owner `one`, and it knows the machines."""
    return with_owners(net, make_backend, directory)


def test_a_table_is_changed_and_deleted(net, pods, backend, tables):
    tables.apply(pods.routes())
    before = tables.get()
    again = tables.put(list(reversed(pods.routes())), status=200)
    assert again == before, "their order says nothing"

    tables.apply(pods.routes(m2=net.machines[2].v4)[2:])
    assert pods.network(1, 4) not in ours(net)
    assert ours(net)[pods.network(2, 4)] == net.machines[2].v4

    assert tables.request("DELETE").status == 202
    until(lambda: tables.request("GET").status == 404, what="the table gone")
    assert ours(net) == {}
    assert tables.request("DELETE").status == 404
    log = backend.infra.process.output()
    assert 'kind="RouteTable" owner="one" name="pods"' in log or '"kind":"RouteTable"' in log


def test_tables_are_listed_planned_and_watched(net, pods, backend, tables):
    assert "routeTables" in backend.client.request("GET", "/v1").json()["capabilities"]
    path = backend.path("routetables")
    plan = tables.request("PUT", query={"dryRun": "true"}, body={
        "spec": {"clusterCIDRs": CIDRS, "routes": pods.routes()}})
    assert plan.json()["effect"] == "created" and tables.request("GET").status == 404

    tables.apply(pods.routes(), labels={"zone": "a"})

    listed = backend.client.request("GET", path, query={"labelSelector": "zone=a"}).json()
    assert listed["items"] == [tables.get()]
    status, lines = backend.client.stream(f"/v1/owners/{backend.owner}/watch",
                                          query={"from": listed["metadata"]["revision"]})
    assert status == 200
    tables.put(pods.routes()[:1], labels={"zone": "b"})
    event = until(lambda: next((e for e in lines.seen if e["type"] == "changed"), False))
    assert event["object"]["kind"] == "RouteTable"
    assert event["object"]["metadata"]["labels"] == {"zone": "b"}
    assert backend.client.contract.schema_errors("WatchEvent", event) == []
    lines.end()


def test_a_route_follows_the_address_of_its_machine(net, pods, backend, tables):
    tables.apply(pods.routes())
    moved = [isthmus.machine(machine.name, address=machine.v4) for machine in net.machines]
    moved[1]["addresses"][0]["address"] = net.machines[2].v4
    moved[2]["addresses"][0]["address"] = net.machines[1].v4

    backend.infra.set_machines(moved)

    until(lambda: ours(net)[pods.network(2, 4)] == net.machines[2].v4, what="the route moved")
    assert ours(net)[pods.network(2, 6)] == net.machines[1].v6, "unknown is not gone"
    assert tables.states()[pods.network(2, 6)] == "NoNextHop"


@pytest.fixture
def link_down(net):
    """link_down(): the host's link to the machines goes down; the answer takes it up again, with
    all that went with it but what is ours."""
    lost = ["address replace fd88::1/64 dev eth1 nodad",
            f"route replace 10.88.4.0/22 via {net.machines[0].v4}",
            f"route replace fd88:4::/64 via {net.machines[0].v6}"]

    def up():
        net.host.ip("link set eth1 up", *lost)

    def down():
        net.host.ip("link set eth1 down")
        return up
    yield down
    up()


def test_a_link_that_goes_down_and_up_gets_its_routes_back(net, pods, backend, tables, link_down):
    tables.apply(pods.routes())
    up = link_down()
    until(lambda: "LinkDown" in tables.states().values(), what="the link seen down")
    assert pods.network(1, 4) not in ours(net)

    up()

    tables.until(seconds=10)
    pods.must_talk()


def test_what_other_hands_take_away_is_put_back(net, pods, backend, tables):
    tables.apply(pods.routes())
    repairs = backend.metric("infra_drift_repairs_total", kind="route") or 0
    net.host.ip(f"route del {pods.network(2, 4)} proto 66",
                f"route del {pods.network(2, 6)} proto 66")
    until(lambda: len(ours(net)) == 6, 5, "both routes back")
    pods.must_talk()
    assert backend.metric("infra_drift_repairs_total", kind="route") >= repairs + 2

    net.host.ip(f"route replace {pods.network(2, 4)} via {net.machines[2].v4} proto 66 metric 66")
    until(lambda: ours(net)[pods.network(2, 4)] == net.machines[1].v4, 5, "the next hop back")


def test_a_foreign_route_is_told_and_never_touched(net, pods, backend, tables):
    taken, shadowed = pods.network(2, 4), pods.network(3, 4)
    elsewhere = net.machines[0].v4
    net.host.ip(f"route add {taken} via {elsewhere} proto static metric 66",
                f"route add {shadowed} via {elsewhere} proto static")
    foreign = kernel_routes(net, "proto", "static")
    try:
        tables.put(pods.routes())

        table = tables.until("False", "RouteConflict")
        assert tables.states() == {taken: "ForeignRoute", shadowed: "Shadowed"}
        messages = {route["destination"]: route.get("message", "")
                    for route in table["status"]["routes"]}
        assert f"{taken} via {elsewhere} dev eth1 proto static metric 66" in messages[taken]
        assert f"{shadowed} via {elsewhere} dev eth1 proto static" in messages[shadowed]
        assert names(net.ask(pods.pod(1, 4))) == ["machine1"], "the others are made"
        assert tables.request("DELETE").status == 202
        until(lambda: ours(net) == {}, what="ours gone")
        assert kernel_routes(net, "proto", "static") == foreign
        tables.put(pods.routes())
        tables.until("False", "RouteConflict")
    finally:
        net.host.ip(f"route del {taken} proto static metric 66",
                    f"route del {shadowed} proto static")

    tables.apply(pods.routes(), labels={"again": "now"})
    pods.must_talk()


def test_killed_and_started_again_without_a_packet_lost(net, pods, backend, tables):
    tables.apply(pods.routes())
    with net.asking(pods.pod(2, 4)) as load:
        for turn in range(4):
            # Wherever in the change it is killed.
            change = threading.Thread(target=until_cut_off, args=(
                lambda turn=turn: tables.put(pods.routes()[:6 - turn % 2]),))
            change.start()
            backend.infra.process.kill()
            change.join(20)
            backend.infra.start()
        told = load.stop()
    assert told["failed"] == 0 and told["asked"] > 0, told
    writes = backend.infra.revision()
    tables.apply(pods.routes())
    backend.crash()
    assert len(ours(net)) == 6
    assert backend.infra.revision() <= writes + 4


def test_killed_in_the_middle_of_many_routes_the_next_one_finishes(net, backend, tables):
    def many(count, machine):
        return [{"destination": f"10.244.{i // 16}.{i % 16 * 16}/28", "nextHop": machine.v4}
                for i in range(count)]

    tables.apply(many(3000, net.machines[0]), CIDRS[:1])
    seen = set()
    for turn, milliseconds in enumerate((40, 80, 120, 160, 240)):
        # Some are new, some go elsewhere, and some go.
        count, machine = (1000, net.machines[1]) if turn % 2 == 0 else (3000, net.machines[0])
        change = threading.Thread(target=until_cut_off, args=(
            lambda routes=many(count, machine): tables.put(routes, CIDRS[:1]),))
        change.start()
        threading.Event().wait(milliseconds / 1000)
        backend.infra.process.kill()
        change.join(20)
        seen.add(len(ours(net)))
        backend.infra.start()
        wanted = {route["destination"]: route["nextHop"]
                  for route in tables.get()["spec"]["routes"]}
        until(lambda wanted=wanted: ours(net) == wanted, what=f"{len(wanted)} routes")
        tables.until()
    assert seen <= set(range(1000, 3001)), "none of those that stay was ever missing"


def until_cut_off(write):
    try:
        write()
    except (OSError, http.client.HTTPException):
        pass  # It was killed before it answered, or while it did.


def test_what_no_table_knows_stays_until_one_names_it_and_no_longer_does(
        net, pods, backend, tables):
    """As after an old copy of the store was restored."""
    via = net.machines[0].v4
    adopted = [{"destination": "10.244.9.0/24", "nextHop": via}]
    tables.apply(pods.routes())
    backend.infra.process.kill()
    net.host.ip(f"route add 10.244.9.0/24 via {via} proto 66 metric 66",
                f"route add 10.99.0.0/24 via {via} proto 66 metric 66")
    backend.infra.start()
    assert len(ours(net)) == 8
    assert backend.metric("infra_orphan_routes") == 2

    tables.apply(pods.routes()[:5])
    assert ours(net)["10.244.9.0/24"] == via, "whoever wrote that does not know of it"
    assert tables.get()["status"]["orphans"] == adopted, "the other is in nobody's cluster CIDR"

    assert "orphans" not in tables.apply(pods.routes()[:5] + adopted)["status"]
    assert ours(net)["10.244.9.0/24"] == via
    tables.apply(pods.routes())
    assert "10.244.9.0/24" not in ours(net)
    assert "10.99.0.0/24" in ours(net)
    assert backend.metric("infra_orphan_routes") == 1


def test_a_lost_store_takes_no_route_away(net, pods, backend, tables):
    tables.apply(pods.routes())
    before = ours(net)
    backend.infra.process.terminate()
    for name in os.listdir(backend.infra.directory):
        if name.startswith("infra.db"):
            os.unlink(backend.infra.path(name))
    backend.infra.start()
    assert tables.request("GET").status == 404

    told = tables.apply(pods.routes()[:1])["status"]["orphans"]

    assert ours(net) == before
    assert {orphan["destination"]: orphan["nextHop"] for orphan in told} == {
        destination: via for destination, via in before.items()
        if destination != pods.routes()[0]["destination"]}


def test_refused_is_what_cannot_be(net, pods, backend, tables):
    def refused(status, kind, routes, cidrs=None, **more):
        answer = tables.request("PUT", body={"spec": {
            "clusterCIDRs": cidrs or CIDRS, "routes": routes}}, **more)
        return [error["pointer"] for error in problem(answer, status, kind).get("errors", [])]

    route = {"destination": "10.244.1.0/24", "instance": "uid-machine1"}
    assert refused(422, "invalid-spec", [
        route, route | {"nextHop": "fe80::1"},
        {"destination": "10.99.0.0/24", "nextHop": "10.88.0.1"},
        {"destination": "10.244.2.1/24", "instance": "x"}, {"destination": "10.244.3.0/24"},
        route | {"destination": "10.244.4.0/24", "metric": 1}]) == [
            "/spec/routes/1/destination", "/spec/routes/1/nextHop", "/spec/routes/2/destination",
            "/spec/routes/3/destination", "/spec/routes/4", "/spec/routes/5/metric"]
    assert refused(422, "invalid-spec", [], ["0.0.0.0/0"]) == ["/spec/clusterCIDRs/0"]
    assert refused(422, "invalid-spec", [
        {"destination": f"10.244.{i // 16}.{i % 16 * 16}/28", "instance": "x"}
        for i in range(5001)]) == ["/spec/routes"]
    assert refused(403, "routes-not-allowed", [], ["10.244.0.0/16", "10.0.0.0/9"]) == [
        "/spec/clusterCIDRs/1"]
    assert refused(403, "routes-not-allowed", [route], owner="two", token=TOKENS["two"]) == []
    assert refused(403, "not-owner", [route], token=TOKENS["two"]) == []
    tables.apply([route])
    answer = tables.request("PUT", "other", body={"spec": {
        "clusterCIDRs": ["10.244.128.0/17"], "routes": []}})
    errors = problem(answer, 409, "cluster-cidr-in-use")["errors"]
    assert [error["pointer"] for error in errors] == ["/spec/clusterCIDRs/0"]
    assert len(ours(net)) == 1


def test_what_an_owner_may_route_is_read_again(net, pods, backend, tables):
    config = backend.infra.read_config()
    config["owners"][1]["routes"] = {"destinations": ["10.250.0.0/16"]}
    path = "/v1/owners/two/routetables/pods"
    body = {"spec": {"clusterCIDRs": ["10.250.0.0/16"], "routes": []}}
    assert backend.client.request("PUT", path, body=body, token=TOKENS["two"]).status == 403

    backend.infra.write_config(config)

    until(lambda: backend.client.request("PUT", path, body=body, token=TOKENS["two"]).status == 201,
          what="the new configuration")
