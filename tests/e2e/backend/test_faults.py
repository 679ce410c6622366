"""Kills, restarts, hands of others in the kernel, and old copies of the store."""

import json
import os
import random
import shutil

import pytest

from conftest import condition
from harness.wait import never_during, until
from specs import inline, names


@pytest.fixture
def net(make_net):
    return make_net()


@pytest.fixture
def backend(net, make_backend):
    return make_backend(net)


def test_traffic_goes_on_while_it_is_killed_and_started_again(net, backend):
    address = backend.serve("web", inline(net))["status"]["addresses"][0]
    with net.asking(address, 80) as load:
        for _ in range(5):
            backend.infra.process.kill()
            backend.infra.start()
        counts = load.stop()
    assert counts["failed"] == 0 and counts["asked"] > 100, counts
    assert backend.get("web")["status"]["repairs"] == 0


def test_killed_at_any_moment_of_a_change_it_comes_to_the_same_end(net, backend):
    print("seed", seed := random.randrange(1 << 32))
    chance = random.Random(seed)
    steady = backend.serve("steady", inline(net))["status"]["addresses"][0]
    ports = {}
    with net.asking(steady, 80) as load:
        for turn in range(20):
            name = f"lb{turn % 5}"
            port = 1000 + turn
            backend.put(name, inline(net, port=port))
            ports[name] = port
            # From "nothing done yet" to "done": a change takes some ten milliseconds, with a probe
            # three hundred.
            never_during(lambda: False, chance.choice([0, 0.002, 0.01, 0.05, 0.3, 0.4]))
            backend.infra.process.kill()
            backend.infra.start()
        counts = load.stop()
    assert counts["failed"] == 0, counts
    for name, port in ports.items():
        said = backend.ready(name, backend.get(name)["metadata"]["generation"])
        names(net.ask(said["status"]["addresses"][0], port, count=3))
    held = {a for n in [*ports, "steady"] for a in backend.get(n)["status"]["addresses"]}
    assert net.bound() == held and len(held) == 6


def test_a_deletion_cut_short_is_carried_on(net, backend):
    for turn in range(6):
        backend.serve("web", inline(net))
        backend.delete("web")
        never_during(lambda: False, turn * 0.004)
        backend.infra.process.kill()
        backend.infra.start()
        until(lambda: backend.is_gone("web"))
        assert net.bound() == set()


def test_a_restart_with_everything_right_writes_nothing(net, backend):
    backend.serve("web", inline(net))
    before = ruleset_changes(net)

    backend.infra.process.terminate()
    backend.infra.start()
    backend.ready("web")

    assert ruleset_changes(net) == before


def ruleset_changes(net):
    """The kernel's own count, by a program of another's: handles only grow, so the dump with
    handles differs after any write."""
    return net.host.run("nft", "-a", "list", "table", "inet", "isthmus")


DAMAGE = {
    "table": ["nft", "delete", "table", "inet", "isthmus"],
    "everything": ["nft", "flush", "ruleset"],
}


@pytest.mark.parametrize("damage", ["table", "everything", "address"])
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


def test_what_is_others_stays(net, make_backend):
    net.host.run("nft", "add", "table", "inet", "theirs")
    net.host.run("nft", "add", "chain", "inet", "theirs", "c",
                 "{ type filter hook input priority 0; }")
    net.host.ip("address add 10.77.0.250/32 dev eth0", "route add 192.0.2.0/24 via 10.88.0.11")
    backend = make_backend(net)
    backend.serve("web", inline(net))
    backend.delete("web")
    until(lambda: backend.is_gone("web"))
    backend.infra.process.terminate()
    backend.infra.start()

    assert "theirs" in net.host.run("nft", "list", "tables")
    assert "10.77.0.250" in net.bound()
    assert "192.0.2.0/24" in net.host.run("ip", "route")


def test_an_address_somebody_answers_for_is_not_bound(net, backend):
    net.client.ip(f"address add {net.vip(3)}/24 dev eth0")

    backend.put("web", inline(net, addresses=[net.vip(3)]))

    backend.until_condition("web", "Programmed", "False", "AddressConflict")
    said = condition(backend.get("web"), "Programmed")
    mac = json.loads(net.client.run("ip", "-j", "link", "show", "eth0"))[0]["address"]
    assert mac in said["message"], said
    assert net.bound() == set()
    backend.serve("other", inline(net))

    # It asks again by itself after a while; whoever cannot wait changes the spec.
    net.client.ip(f"address del {net.vip(3)}/24 dev eth0")
    backend.serve("web", inline(net, port=81, addresses=[net.vip(3)]))


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


def test_an_old_copy_of_the_store_harms_nobody(net, make_backend, directory):
    backend = make_backend(net)
    kept = backend.serve("kept", inline(net))["status"]["addresses"][0]
    backend.infra.process.terminate()
    store = backend.infra.path("infra.db")
    shutil.copy(store, store + ".old")
    backend.infra.start()
    lost = backend.serve("lost", inline(net, port=82))["status"]["addresses"][0]
    for port in (83, 84, 85):
        backend.serve("kept", inline(net, port=port))
    backend.infra.process.terminate()
    for name in os.listdir(backend.infra.directory):
        if name.startswith("infra.db-"):
            os.unlink(backend.infra.path(name))
    os.replace(store + ".old", store)

    backend.infra.start()

    # Both keep serving as they did, the address is nobody else's, and it is told of.
    names(net.ask(lost, 82, count=3))
    names(net.ask(kept, 85, count=3))
    assert backend.metric("infra_orphans") == 2
    answer = backend.client.request(
        "PUT", backend.path("loadbalancers", "thief"),
        body={"metadata": {}, "spec": inline(net, addresses=[lost])})
    assert answer.status == 409, answer.text

    # Its owner puts it again: it has its address, above its generation.
    said = backend.serve("lost", inline(net, port=82))
    assert said["status"]["addresses"] == [lost]
    said = backend.serve("kept", inline(net, port=86))
    assert said["metadata"]["generation"] > 4
    names(net.ask(kept, 86, count=3))
    until(lambda: backend.metric("infra_orphans") == 0)


def test_the_second_on_one_store_refuses(net, backend, make_backend):
    second = make_backend(net, name="second", start=False,
                          store={"sqlite": backend.infra.path("infra.db")})
    second.infra.launch()

    assert second.infra.process.wait(10) != 0
    assert "in use" in second.infra.process.output() or "another" in second.infra.process.output()


def test_forwarding_that_is_off_is_named(net, make_backend):
    net.host.write_settings({"ipv4/ip_forward": 0})
    backend = make_backend(net, start=False)

    backend.infra.launch()

    assert backend.infra.process.wait(10) != 0
    assert "net.ipv4.ip_forward" in backend.infra.process.output()
