"""The life of a load balancer through the API, and what its addresses do meanwhile."""

import threading

import pytest

from harness.wait import until
from specs import condition, inline, names, problem


def test_created_changed_deleted(net, backend):
    created = backend.put("web", inline(net), status=201)
    assert created["metadata"]["generation"] == 1
    address = backend.ready("web")["status"]["addresses"][0]
    assert net.bound() == {address}

    changed = backend.put("web", inline(net, port=81), status=200)
    assert changed["metadata"]["generation"] == 2
    backend.ready("web", 2)
    names(net.ask(address, 81))
    assert "error" in net.ask(address, 80, timeout=0.4)[0]

    backend.remove("web")
    assert net.bound() == set()
    assert "error" in net.ask(address, 81, timeout=0.4)[0]


def test_a_preferred_address_is_given_where_it_is_free_and_stays(net, backend):
    backend.put("other", inline(net, addresses=[net.vip(5)]))
    wish = {"preferAddresses": f"10.1.2.3,{net.vip(5)},{net.vip(7)}"}
    plan = backend.put("web", inline(net), query=wish | {"dryRun": "true"}, status=200)
    assert plan["addresses"] == [net.vip(7)]

    created = backend.put("web", inline(net), query=wish, status=201)
    assert created["status"]["addresses"] == [net.vip(7)]
    backend.ready("web")
    names(net.ask(net.vip(7), 80))

    again = backend.put("web", inline(net), query={"preferAddresses": net.vip(6)}, status=200)
    assert again["metadata"]["generation"] == 1 and again["spec"] == created["spec"]
    assert again["status"]["addresses"] == [net.vip(7)]
    refused = backend.client.request(
        "PUT", backend.path("loadbalancers", "new"), query={"preferAddresses": "10.1.2.3,web"},
        body={"metadata": {}, "spec": inline(net)})
    assert [e["pointer"] for e in problem(refused, 400, "invalid-request")["errors"]] == [
        "preferAddresses"]


def test_an_equal_spec_changes_nothing(net, backend):
    backend.serve("web", inline(net))
    before = backend.get("web")
    spec = inline(net)
    spec |= {"affinity": "None"}
    spec["listeners"][0]["name"] = "tcp-80"

    again = backend.put("web", spec, status=200)

    assert again["metadata"]["generation"] == 1
    assert again["metadata"]["revision"] == before["metadata"]["revision"]


def test_one_put_of_a_target_set_changes_every_load_balancer_that_uses_it(net, backend):
    def targets(machines):
        return [{"name": m.name, "addresses": [m.v4, m.v6]} for m in machines]
    backend.put_set("nodes", targets(net.machines[:1]))
    spec = inline(net)
    spec["targetGroups"] = [{"name": "web", "targetSet": "nodes", "port": net.PORT}]
    one = backend.serve("one", spec)["status"]["addresses"][0]
    two = backend.serve("two", {**spec, "families": ["IPv6"]})["status"]["addresses"][0]
    assert set(names(net.ask(one, 80, count=5)) + names(net.ask(two, 80, count=5))) == {"machine1"}

    backend.put_set("nodes", targets(net.machines[1:2]))

    for address in (one, two):
        until(lambda a=address: set(names(net.ask(a, 80, count=10))) == {"machine2"})
    assert backend.get("one")["metadata"]["generation"] == 1
    answer = backend.client.request("DELETE", backend.path("targetsets", "nodes"))
    assert "one" in problem(answer, 409, "target-set-in-use")["detail"]


def test_a_dry_run_says_what_would_be_and_stores_nothing(net, backend):
    said = backend.put("web", inline(net), query={"dryRun": "true"}, status=200)
    assert net.vip() in str(said)
    assert backend.is_gone("web")

    backend.serve("web", inline(net))
    said = backend.put("web", inline(net, port=81), query={"dryRun": "true"})
    changes = {change["pointer"] for change in said["changes"]}
    assert "/spec/listeners/0/port" in changes, said
    assert backend.get("web")["metadata"]["generation"] == 1
    answer = backend.client.request("DELETE", backend.path("loadbalancers", "web"),
                                    query={"dryRun": "true"})
    assert answer.status == 200 and answer.json()["effect"] == "deleted", answer.text
    assert "deletionRequestedAt" not in backend.get("web")["metadata"]


def test_preconditions_hold_off_a_writer_that_did_not_look(net, backend):
    backend.serve("web", inline(net))
    path = backend.path("loadbalancers", "web")
    tag = backend.client.request("GET", path).headers["ETag"]

    answer = backend.client.request("PUT", path, headers={"If-None-Match": "*"},
                                    body={"metadata": {}, "spec": inline(net, port=81)})
    problem(answer, 412, "revision-conflict")

    backend.put("web", inline(net, port=81), headers={"If-Match": tag})
    answer = backend.client.request("PUT", path, headers={"If-Match": tag},
                                    body={"metadata": {}, "spec": inline(net, port=82)})
    problem(answer, 412, "revision-conflict")


def test_what_is_protected_is_not_deleted(net, backend):
    backend.serve("web", inline(net), deletionProtection=True)

    answer = backend.client.request("DELETE", backend.path("loadbalancers", "web"))

    problem(answer, 409, "deletion-protected")
    backend.put("web", inline(net))
    assert backend.delete("web").status == 202


def test_an_address_cools_down_and_is_its_last_holders_meanwhile(net, make_backend):
    backend = make_backend(net, pool={"coolDown": "1h"})
    first = backend.serve("web", inline(net))["status"]["addresses"]
    backend.remove("web")

    other = backend.serve("other", inline(net))["status"]["addresses"]
    revived = backend.serve("web", inline(net))

    assert other != first
    assert revived["status"]["addresses"] == first
    assert revived["metadata"]["generation"] > 1
    names(net.ask(first[0], 80))


def test_pools_say_who_holds_what(net, make_backend):
    small = {"ranges": [net.vip(0) + "/31"], "coolDown": "1h"}
    backend = make_backend(net, pool=small)
    for name in ("one", "two"):
        backend.serve(name, inline(net))

    answer = backend.client.request("PUT", backend.path("loadbalancers", "three"),
                                    body={"metadata": {}, "spec": inline(net)})
    assert "public" in problem(answer, 409, "pool-exhausted")["detail"]

    answer = backend.client.request(
        "PUT", backend.path("loadbalancers", "three"),
        body={"metadata": {}, "spec": inline(net, addresses=[net.vip(0)])})
    assert "one" in problem(answer, 409, "address-in-use")["detail"]

    answer = backend.client.request(
        "PUT", backend.path("loadbalancers", "three"),
        body={"metadata": {}, "spec": inline(net, addresses=["192.0.2.1"])})
    assert "192.0.2.1" in problem(answer, 409, "address-not-in-pool")["detail"]


def test_a_sharing_key_shares_an_address_by_ports(net, backend):
    spec = inline(net, addresses=[net.vip(5)], sharingKey="front")
    backend.serve("web", spec)
    other = inline(net, addresses=[net.vip(5)], sharingKey="front", protocol="UDP")
    backend.serve("dns", other)

    names(net.ask(net.vip(5), 80))
    names(net.ask(net.vip(5), 80, udp=True))

    answer = backend.client.request("PUT", backend.path("loadbalancers", "third"),
                                    body={"metadata": {}, "spec": spec})
    problem(answer, 409, "address-in-use")
    backend.remove("web")
    names(net.ask(net.vip(5), 80, udp=True))


def test_the_watch_tells_of_specs_and_statuses_and_goes_on_where_it_was_cut(net, backend):
    path = backend.path("watch")
    start = backend.client.request("GET", backend.path("loadbalancers")).json()
    start = start["metadata"]["revision"]
    status, lines = backend.client.stream(path, query={"from": start})
    assert status == 200
    with lines:
        backend.serve("web", inline(net))

        def has_told():
            seen = [line["object"] for line in lines.seen if line["type"] == "changed"
                    and line["object"]["kind"] == "LoadBalancer"]
            assert any((condition(o, "Ready") or {}).get("status") == "True" for o in seen), seen
        until(has_told)
    revision = lines.seen[-1]["revision"]

    backend.delete("web")

    status, lines = backend.client.stream(path, query={"from": revision})
    with lines:
        until(lambda: any(line["type"] == "removed" and
                          line["object"]["metadata"]["name"] == "web" for line in lines.seen))
    errors = [backend.client.contract.schema_errors("WatchEvent", line) for line in lines.seen]
    assert not any(errors), errors


def test_a_waiting_reader_is_answered_when_it_is_ready(net, backend):
    backend.put("web", inline(net))
    answers = []
    reader = threading.Thread(
        target=lambda: answers.append(backend.client.request(
            "GET", backend.path("loadbalancers", "web"),
            query={"waitFor": "Ready", "generation": 2, "timeout": "20s"})))
    reader.start()

    backend.put("web", inline(net, port=81))

    reader.join(15)
    (answer,) = answers
    assert condition(answer.json(), "Ready")["observedGeneration"] == 2


def test_pools_are_changed_while_it_runs(net, make_backend):
    backend = make_backend(net)
    backend.serve("web", inline(net))
    config = backend.infra.read_config()

    config["pools"][0]["ranges"] = ["10.77.0.128/28"]
    backend.infra.write_config(config)
    until(lambda: "still held: 10.77.0.192 (local/web)" in backend.infra.process.output())
    names(net.ask(backend.get("web")["status"]["addresses"][0], 80))

    config["pools"][0]["ranges"] = ["10.77.0.192/26", "10.77.0.128/28"]
    backend.infra.write_config(config)

    def has_grown():
        pool = backend.client.request("GET", "/v1/pools/public").json()
        assert "10.77.0.128/28" in pool["spec"]["ranges"], pool
    until(has_grown)
    backend.serve("new", inline(net, addresses=["10.77.0.130"]))


def test_an_address_of_no_network_here_needs_to_be_told_its_interface(net, make_backend):
    backend = make_backend(net, pools=[
        {"name": "told", "ranges": ["192.0.2.0/28"], "interface": "eth0", "autoAssign": False},
        {"name": "untold", "ranges": ["198.51.100.0/28"], "autoAssign": False}])
    net.client.ip("route replace 192.0.2.0/28 via 10.77.0.2")

    said = backend.serve("web", inline(net, pool="told"))

    address = said["status"]["addresses"][0]
    assert address.startswith("192.0.2.") and net.bound() == {address}
    names(net.ask(address, 80, count=3))
    backend.put("lost", inline(net, pool="untold"))
    backend.until_condition("lost", "Programmed", "False", "NoInterface")


@pytest.mark.parametrize("family", [4, 6])
def test_neighbours_are_told_where_an_address_is(net, backend, family):
    address = net.vip(9, family)
    somebody = "02:00:00:00:00:99"
    net.client.ip(f"neigh replace {address} lladdr {somebody} dev eth0 nud stale")

    backend.serve("web", inline(net, family=family, addresses=[address]))

    until(lambda: somebody not in net.client.run("ip", "neigh", "show", address))
    names(net.ask(address, 80, count=3))


def test_a_configuration_that_contradicts_itself_is_refused_with_all_its_mistakes(
        net, make_backend):
    backend = make_backend(net, start=False, pools=[
        {"name": "one", "ranges": ["10.77.0.192/28"]},
        {"name": "two", "ranges": ["10.77.0.200/29"]},
        {"name": "bits", "ranges": ["10.77.0.129/28"]}])

    backend.infra.launch()

    assert backend.infra.process.wait(10) != 0
    said = backend.infra.process.output()
    assert "10.77.0.200/29" in said and "10.77.0.192/28" in said, said
    assert "10.77.0.129/28" in said and "pools" in said, said


def test_one_request_is_followed_from_the_put_to_the_kernel(net, backend):
    answer = backend.client.request("PUT", backend.path("loadbalancers", "web"),
                                    body={"metadata": {}, "spec": inline(net)},
                                    headers={"X-Request-ID": "follow-me-17"})
    assert answer.status == 201, answer.text
    backend.ready("web")

    log = backend.infra.process.output().splitlines()
    mine = [line for line in log if 'name="web"' in line or "follow-me-17" in line]
    assert any("follow-me-17" in line and "audit" in line for line in mine), log
    assert any("generation" in line and "follow-me-17" not in line for line in mine), log
