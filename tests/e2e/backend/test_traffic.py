"""What packets do: which machine answers, and with which client address it was asked."""

import pytest

from harness.rules import Rules
from specs import CELLS, inline, names, serve_cells

ALL = {"machine1", "machine2", "machine3"}


@pytest.fixture(params=["routed", "flat"])
def net(request, make_net, rootless):
    return make_net(flat=request.param == "flat", rootless=rootless)


@pytest.fixture
def routed(make_net, rootless):
    return make_net(rootless=rootless)


@pytest.fixture
def flat(make_net, rootless):
    return make_net(flat=True, rootless=rootless)


def test_every_machine_answers_and_sees_the_host(net, make_backend):
    addresses = serve_cells(make_backend(net), net)

    for (protocol, family), address in addresses.items():
        answers = net.ask(address, 80, udp=protocol == "UDP", count=60)
        assert set(names(answers)) == ALL
        # Masquerade is the default: the way back is right wherever the gateway is.
        assert {answer["client"] for answer in answers} == {net.host_address(family)}
    rules = Rules(net)
    listeners = {(address, protocol, 80) for (protocol, _), address in addresses.items()}
    assert rules.listeners() == rules.masqueraded() == listeners
    assert rules.guarded() == net.bound() == set(addresses.values())
    assert rules.notes() == {f"local/{p.lower()}{f} 1" for p, f in CELLS}


def test_keep_shows_the_machines_who_asks(routed, make_backend):
    addresses = serve_cells(make_backend(routed), routed, sourceAddress="keep")

    for (protocol, family), address in addresses.items():
        source = routed.clients[family][0]
        answers = routed.ask(address, 80, udp=protocol == "UDP", count=20, sources=[source])
        assert len(set(names(answers))) > 1
        assert {answer["client"] for answer in answers} == {source}
    assert not Rules(routed).masqueraded()


def test_keep_serves_neighbours_whose_answers_would_go_another_way(flat, make_backend):
    addresses = serve_cells(make_backend(flat), flat, sourceAddress="keep")

    for (protocol, family), address in addresses.items():
        answers = flat.ask(address, 80, udp=protocol == "UDP", count=20)
        assert len(set(names(answers))) > 1
        assert {answer["client"] for answer in answers} == {flat.host_address(family)}


def test_keep_where_the_way_back_is_elsewhere_is_named(make_net, make_backend):
    flat = make_net(flat=True)
    backend = make_backend(flat)
    address = backend.serve("web", inline(flat, sourceAddress="keep"))["status"]["addresses"][0]

    answers = flat.ask(address, 80, count=4, timeout=0.5, namespace=flat.far)

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
        assert set(names(net.ask(address, 80, count=60))) == ALL


def test_affinity_keeps_a_client_at_one_machine(routed, make_backend):
    addresses = serve_cells(make_backend(routed), routed, affinity="ClientIP")

    for (protocol, family), address in addresses.items():
        sources = routed.clients[family]
        got = names(routed.ask(address, 80, udp=protocol == "UDP", count=4, sources=sources))
        chosen = [set(got[4 * i:4 * i + 4]) for i in range(len(sources))]
        assert all(len(one) == 1 for one in chosen), chosen
        # Twenty clients of one machine would be a chance of one in a thousand million.
        assert len(set.union(*chosen)) > 1


def test_sources_that_are_not_allowed_hear_nothing(routed, make_backend):
    backend = make_backend(routed)
    four, six = routed.clients[4], routed.clients[6]
    addresses = {}
    for family, sources in ((4, [four[0] + "/32", "10.77.0.22/31"]),
                            (6, [six[0] + "/128", "fd77::22/127"])):
        cells = [cell for cell in CELLS if cell[1] == family]
        addresses |= serve_cells(backend, routed, cells, allowedSources=sources)

    for (protocol, family), address in addresses.items():
        clients, udp = routed.clients[family], protocol == "UDP"
        names(routed.ask(address, 80, udp=udp, sources=[clients[0], clients[2], clients[3]]))
        (answer,) = routed.ask(address, 80, udp=udp, sources=[clients[1]], timeout=0.5)
        assert answer.get("error") == "timed out", answer


def test_a_machine_reaches_itself_through_the_load_balancer(net, make_backend):
    addresses = serve_cells(make_backend(net), net)

    for (protocol, _), address in addresses.items():
        got = names(net.ask(address, 80, udp=protocol == "UDP", count=40,
                            namespace=net.machines[0].namespace))
        assert set(got) == ALL


def test_the_host_itself_reaches_the_machines_too(net, make_backend):
    for (protocol, _), address in serve_cells(make_backend(net), net).items():
        got = names(net.ask(address, 80, udp=protocol == "UDP", count=40, namespace=net.host))
        assert set(got) == ALL


@pytest.mark.parametrize("how", ["drained", "taken out"])
@pytest.mark.parametrize("family", [4, 6])
def test_a_machine_that_leaves_keeps_its_connections_and_gets_no_new_ones(
        net, make_backend, family, how):
    backend = make_backend(net)
    first, *others = net.machines
    said = backend.serve("web", inline(net, family=family, machines=[first]))
    address = said["status"]["addresses"][0]
    with net.talk(address, 80) as talk:
        assert talk.say()["machine"] == "machine1"

        backend.serve("web", inline(net, family=family, drained=[first]) if how == "drained"
                      else inline(net, family=family, machines=others))

        assert set(names(net.ask(address, 80, count=40))) == {"machine2", "machine3"}
        assert talk.say()["machine"] == "machine1"


@pytest.mark.parametrize("family", [4, 6])
def test_datagrams_leave_a_machine_that_is_taken_out(net, make_backend, family):
    backend = make_backend(net)
    first, *others = net.machines
    spec = {"family": family, "protocol": "UDP"}
    said = backend.serve("dns", inline(net, machines=[first], **spec))
    with net.talk(said["status"]["addresses"][0], 80, udp=True) as talk:
        assert talk.say()["machine"] == "machine1"

        backend.serve("dns", inline(net, machines=others, **spec))

        assert talk.say()["machine"] in ("machine2", "machine3")
