"""What packets do: which machine answers, and with which client address it was asked."""

import collections

import pytest

from harness.wait import until
from specs import HTTP_CHECK, inline, names


@pytest.fixture(params=["routed", "flat"])
def net(request, make_net, rootless):
    return make_net(flat=request.param == "flat", rootless=rootless)


@pytest.fixture
def routed(make_net, rootless):
    return make_net(rootless=rootless)


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_every_machine_answers_and_sees_the_host(net, make_backend, family, protocol):
    backend = make_backend(net)

    said = backend.serve("web", inline(net, family=family, protocol=protocol))

    address = said["status"]["addresses"][0]
    answers = net.ask(address, 80, udp=protocol == "UDP", count=60)
    assert set(names(answers)) == {"machine1", "machine2", "machine3"}
    # Masquerade is the default: the way back is right wherever the gateway is.
    host = {"client": net.prefix6 + "::2" if family == 6 else net.prefix4 + ".2"}
    inner = {"client": "fd88::1" if family == 6 else "10.88.0.1"}
    assert {answer["client"] for answer in answers} == {(host if net.flat else inner)["client"]}


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_keep_shows_the_machines_who_asks(routed, make_backend, family, protocol):
    backend = make_backend(routed)

    said = backend.serve("web", inline(routed, family=family, protocol=protocol,
                                       sourceAddress="keep"))

    answers = routed.ask(said["status"]["addresses"][0], 80, udp=protocol == "UDP", count=20)
    assert len(set(names(answers))) > 1
    assert {a["client"] for a in answers} == {"fd77::10" if family == 6 else "10.77.0.10"}


def test_keep_where_the_way_back_is_elsewhere_is_named(make_net, make_backend):
    flat = make_net(flat=True)
    backend = make_backend(flat)

    said = backend.serve("web", inline(flat, sourceAddress="keep"))

    address = said["status"]["addresses"][0]
    names(flat.ask(address, 80, count=3))  # Neighbours' answers come back; the host sees to it.
    answers = flat.ask(address, 80, count=3, timeout=1, namespace=flat.far)
    assert all("error" in answer for answer in answers), answers
    backend.until_condition("web", "ReturnPathMissing", "True", seconds=60)


def test_both_families_by_one_load_balancer(net, make_backend):
    backend = make_backend(net)
    spec = inline(net)
    spec["families"] = ["IPv4", "IPv6"]
    spec["targetGroups"][0]["targets"] += inline(net, family=6)["targetGroups"][0]["targets"]

    addresses = backend.serve("web", spec)["status"]["addresses"]

    assert len(addresses) == 2
    for address in addresses:
        assert set(names(net.ask(address, 80, count=60))) == {"machine1", "machine2", "machine3"}


def test_weights_are_shares_of_new_flows(routed, make_backend):
    backend = make_backend(routed)

    said = backend.serve("web", inline(routed, weights=[6, 2, 0]))

    got = collections.Counter(names(routed.ask(said["status"]["addresses"][0], 80, count=800)))
    # 600 +- 61 are five standard deviations.
    assert 539 <= got["machine1"] <= 661, got
    assert got["machine2"] == 800 - got["machine1"]


@pytest.mark.parametrize("targets", [100, 1000])
def test_many_targets_have_equal_shares(make_net, make_backend, targets):
    net = make_net(machines=1)
    machine = net.machines[0]
    addresses = [f"10.88.{4 + i // 250}.{1 + i % 250}" for i in range(targets)]
    net.add_address(machine, *(address + "/32" for address in addresses))
    net.host.ip("route add 10.88.4.0/22 via " + machine.v4)
    backend = make_backend(net)
    spec = inline(net)
    spec["targetGroups"][0]["targets"] = [{"address": address, "port": net.PORT}
                                          for address in addresses]

    said = backend.serve("web", spec)

    flows = 6400
    answers = net.ask(said["status"]["addresses"][0], 80, count=flows)
    names(answers)
    got = collections.Counter(answer["local"] for answer in answers)
    serving = min(targets, 128)
    # Each slot is 50 flows of 6,400, give or take seven; a target owns one slot or two.
    assert len(got) == serving, f"{len(got)} of {targets} machines answered"
    assert max(got.values()) <= (2 if targets < 128 else 1) * 50 * 1.9, got.most_common(3)
    assert said["status"]["targets"] == {"total": targets, "healthy": targets, "serving": serving}


def test_affinity_keeps_a_client_at_one_machine(routed, make_backend):
    routed.client.ip(*(f"address add 10.77.0.{20 + i}/24 dev eth0" for i in range(20)))
    backend = make_backend(routed)

    said = backend.serve("web", inline(routed, affinity="ClientIP", sourceAddress="keep"))

    address = said["status"]["addresses"][0]
    chosen = set()
    for i in range(20):
        one = set(names(routed.ask(address, 80, count=5, source=f"10.77.0.{20 + i}")))
        assert len(one) == 1, one
        chosen |= one
    assert len(chosen) > 1


def test_sources_that_are_not_allowed_hear_nothing(routed, make_backend):
    routed.client.ip("address add 10.77.0.99/24 dev eth0")
    backend = make_backend(routed)

    said = backend.serve("web", inline(routed, allowedSources=["10.77.0.10/32", "10.77.0.64/27"]))

    address = said["status"]["addresses"][0]
    names(routed.ask(address, 80, count=5, source="10.77.0.10"))
    for answer in routed.ask(address, 80, count=2, source="10.77.0.99", timeout=1):
        assert answer.get("error") == "timed out", answer


def test_a_machine_reaches_itself_through_the_load_balancer(net, make_backend):
    backend = make_backend(net)

    said = backend.serve("web", inline(net))

    got = names(net.ask(said["status"]["addresses"][0], 80, count=60,
                        namespace=net.machines[0].namespace))
    assert set(got) == {"machine1", "machine2", "machine3"}


def test_a_drained_machine_gets_no_new_flows_and_keeps_its_connections(routed, make_backend):
    backend = make_backend(routed)
    first = routed.machines[0]
    said = backend.serve("web", inline(routed, machines=[first]))
    address = said["status"]["addresses"][0]
    with routed.talk(address, 80) as talk:
        assert talk.say()["machine"] == "machine1"

        put = backend.put("web", inline(routed, drained=[first]))
        backend.ready("web", put["metadata"]["generation"])

        assert "machine1" not in names(routed.ask(address, 80, count=40))
        assert talk.say()["machine"] == "machine1"


def test_udp_flows_leave_a_machine_that_is_taken_out(routed, make_backend):
    backend = make_backend(routed)
    first = routed.machines[0]
    said = backend.serve("dns", inline(routed, protocol="UDP", machines=[first]))
    address = said["status"]["addresses"][0]
    with routed.talk(address, 80, udp=True) as talk:
        assert talk.say()["machine"] == "machine1"

        put = backend.put("dns", inline(routed, protocol="UDP", machines=routed.machines[1:]))
        backend.ready("dns", put["metadata"]["generation"])

        assert talk.say()["machine"] in ("machine2", "machine3")


@pytest.mark.parametrize("fault", ["dead link", "stopped process", "sick"])
def test_a_machine_that_is_not_well_gets_no_new_flows(net, make_backend, fault):
    backend = make_backend(net)
    said = backend.serve("web", inline(net, check=HTTP_CHECK))
    address = said["status"]["addresses"][0]
    backend.until_condition("web", "TargetsHealthy", "True")
    broken = net.machines[1]

    if fault == "dead link":
        broken.cut()
    elif fault == "stopped process":
        broken.process.send(19)  # SIGSTOP: the kernel goes on accepting for it.
    else:
        broken.set_health(503)

    def is_left_alone():
        seen = backend.get("web")["status"]["targets"]
        assert seen == {"total": 3, "healthy": 2, "serving": 2}
    until(is_left_alone)
    assert set(names(net.ask(address, 80, count=60))) == {"machine1", "machine3"}
    health = {t["address"]: t for t in backend.get("web")["status"]["targetHealth"]}
    assert health[broken.v4]["health"] == "unhealthy" and health[broken.v4]["reason"]


def test_where_all_are_sick_all_are_kept(routed, make_backend):
    backend = make_backend(routed)
    said = backend.serve("web", inline(routed, check=HTTP_CHECK))
    for machine in routed.machines:
        machine.set_health(503)

    backend.until_condition("web", "TargetsHealthy", "False")

    names(routed.ask(said["status"]["addresses"][0], 80, count=20))
    assert backend.get("web")["status"]["targets"]["serving"] == 3


def test_an_address_answers_on_its_ports_only(routed, make_backend):
    backend = make_backend(routed)
    said = backend.serve("web", inline(routed))
    address = said["status"]["addresses"][0]
    # Something of the host itself that listens everywhere.
    routed.start_responder("itself", routed.host)

    names(routed.ask("10.77.0.2", routed.PORT))

    (answer,) = routed.ask(address, routed.PORT, timeout=1)
    assert answer.get("error") == "timed out", answer
    assert routed.ping(address)

