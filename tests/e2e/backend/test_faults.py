"""Hands of others in the kernel: what they take is put back, what is theirs stays."""

import json
import socket

import pytest

from harness.wait import until
from specs import condition, inline, names
from wrapped import Wrapped


DAMAGE = {
    "table": ["nft", "delete", "table", "inet", "isthmus"],
    "everything": ["nft", "flush", "ruleset"],
    "rules": ["nft", "flush", "table", "inet", "isthmus"],
}


@pytest.mark.parametrize("damage", ["table", "everything", "rules", "address"])
def test_what_others_take_away_is_put_back_and_told(net, backend, damage):
    address = backend.serve("web", inline(net))["status"]["addresses"][0]

    if damage == "address":
        net.host.run("ip", "address", "del", address + "/32", "dev", "eth0")
    else:
        net.host.run(*DAMAGE[damage])

    def is_repaired():
        status = backend.get("web")["status"]
        assert status["repairs"] >= 1 and status["lastRepair"], status
    until(is_repaired, 40)
    assert net.bound() == {address}
    names(net.ask(address, 80, count=5))
    assert backend.metric("infra_drift_repairs_total") >= 1


def test_what_was_put_back_is_counted_once_and_told_to_who_watches(net, backend):
    address = backend.serve("web", inline(net))["status"]["addresses"][0]
    backend.serve("other", inline(net))
    listed = backend.client.request("GET", backend.path("loadbalancers")).json()
    _, lines = backend.client.stream(backend.path("watch"),
                                     query={"from": listed["metadata"]["revision"]})
    with lines:
        net.host.run("ip", "address", "del", address + "/32", "dev", "eth0")

        def told():
            return [line["object"] for line in lines.seen if line["type"] == "changed"
                    and line["object"]["status"].get("repairs")]
        until(told, 60)

    assert {balancer["metadata"]["name"] for balancer in told()} == {"web"}
    status = told()[-1]["status"]
    assert status["repairs"] == 1 and address in status["lastRepair"]["reason"], status
    assert backend.metric("infra_drift_repairs_total", kind="address") == 1
    assert backend.get("other")["status"]["repairs"] == 0


@pytest.mark.parametrize("damage", ["table", "address"])
def test_what_others_take_from_an_announcer_is_put_back(net, make_backend, damage):
    service = net.start_responder("itself", net.host)
    backend = make_backend(net, host={"name": "lb1", "driver": "announce"})
    address = backend.serve("web", inline(net, port=net.PORT))["status"]["addresses"][0]
    shut = net.PORT + 1

    if damage == "address":
        net.host.run("ip", "address", "del", address + "/32", "dev", "eth0")
    else:
        net.host.run(*DAMAGE[damage])

    until(lambda: backend.get("web")["status"]["repairs"] >= 1, 60)
    assert net.bound() == {address}
    assert set(names(net.ask(address, net.PORT, count=3))) == {"itself"}
    assert "error" in net.ask(address, shut, timeout=0.4)[0]
    assert address in backend.get("web")["status"]["lastRepair"]["reason"]
    service.process.end()


def test_one_that_is_put_again_has_no_past(net, backend):
    address = backend.serve("web", inline(net))["status"]["addresses"][0]
    net.host.run("ip", "address", "del", address + "/32", "dev", "eth0")
    until(lambda: backend.get("web")["status"]["repairs"] == 1, 60)
    backend.remove("web")

    backend.serve("web", inline(net))

    assert backend.get("web")["status"]["repairs"] == 0
    assert "lastRepair" not in backend.get("web")["status"]


def test_readiness_names_what_keeps_packets_away(net, make_backend):
    net.host.run("nft", "add table ip filter; add chain ip filter FORWARD "
                 "{ type filter hook forward priority 0; policy drop; }")
    backend = make_backend(net)
    backend.put("web", inline(net))
    backend.ready("web")

    def readyz():
        return backend.infra.client.request("GET", "/readyz").text
    assert "[+] host: " in readyz() and "ip filter FORWARD" in readyz()
    assert "error" in net.ask(net.vip(), 80, timeout=0.4)[0]

    net.host.write_settings({"ipv4/ip_forward": 0})
    until(lambda: "[!] host: " in readyz() and "ForwardingOff" in readyz())
    net.host.write_settings({"ipv4/ip_forward": 1})
    until(lambda: "[+] host" in readyz())


def test_silent_connections_shut_nobody_out(net, make_backend):
    backend = make_backend(net, start=False)
    backend.infra.inside = Wrapped(net.host, ["prlimit", "--nofile=160:160", "--"])
    backend.infra.start()
    silent = []
    try:
        for _ in range(200):
            silent.append(socket.socket(socket.AF_UNIX))
            silent[-1].settimeout(5)
            silent[-1].connect(backend.infra.socket)
            silent[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: infra\r\n\r\n")
            assert b" 200 " in silent[-1].recv(4096)

        backend.serve("web", inline(net))
        names(net.ask(net.vip(), 80))
    finally:
        for one in silent:
            one.close()


def test_what_is_others_stays(net, make_backend):
    net.host.run("nft", "add", "table", "inet", "theirs")
    net.host.run("nft", "add", "chain", "inet", "theirs", "c",
                 "{ type filter hook input priority 0; }")
    net.host.ip("address add 10.77.0.250/32 dev eth0", "route add 192.0.2.0/24 via 10.88.0.11")
    backend = make_backend(net)
    backend.serve("web", inline(net))
    backend.remove("web")
    backend.restart()

    try:
        assert "theirs" in net.host.run("nft", "list", "tables")
        assert "10.77.0.250" in net.bound()
        assert "192.0.2.0/24" in net.host.run("ip", "route")
    finally:
        net.host.ip("route del 192.0.2.0/24")


@pytest.mark.parametrize("family", [4, 6])
def test_an_address_somebody_answers_for_is_not_bound(net, backend, family):
    wanted = net.vip(3, family)
    with net.claimed(wanted):
        backend.put("web", inline(net, family=family, addresses=[wanted]))

        backend.until_condition("web", "Programmed", "False", "AddressConflict")
        said = condition(backend.get("web"), "Programmed")
        mac = json.loads(net.client.run("ip", "-j", "link", "show", "eth0"))[0]["address"]
        assert mac in said["message"], said
        assert net.bound() == set()
        backend.serve("other", inline(net))

    # It asks again by itself after a while; whoever cannot wait changes the spec.
    backend.serve("web", inline(net, family=family, port=81, addresses=[wanted]))
    names(net.ask(wanted, 81))


def test_a_table_of_our_name_that_is_not_ours_is_left_alone(net, make_backend):
    net.host.run("nft", "add", "table", "inet", "isthmus")
    net.host.run("nft", "add", "chain", "inet", "isthmus", "somebody")
    backend = make_backend(net)

    backend.put("web", inline(net))

    backend.until_condition("web", "Programmed", "False", "ForeignTable")
    assert "isthmus" in condition(backend.get("web"), "Programmed")["message"]
    assert "somebody" in net.host.run("nft", "list", "table", "inet", "isthmus")
    net.host.run("nft", "delete", "table", "inet", "isthmus")
    backend.until_condition("web", "Ready", "True", seconds=90)


def test_forwarding_that_is_off_is_named(net, make_backend):
    net.host.write_settings({"ipv4/ip_forward": 0})
    backend = make_backend(net, start=False)

    backend.infra.launch()

    assert backend.infra.process.wait(10) != 0
    assert "net.ipv4.ip_forward" in backend.infra.process.output()
