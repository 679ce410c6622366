"""What a bound address lets through: its listeners' ports, echo requests, and nothing of the host's
own, with both drivers."""

import pytest

from harness.rules import Rules
from specs import HTTP_CHECK, condition, inline, names, serve_cells

DRIVERS = ["nft", "announce"]


@pytest.fixture
def net(make_net, rootless):
    return make_net(rootless=rootless)


@pytest.fixture
def host_service(net):
    """Something of the host itself that listens on every address."""
    service = net.start_responder("itself", net.host)
    yield service
    service.process.end()


def test_an_address_answers_on_its_ports_only(net, make_backend, host_service):
    addresses = serve_cells(make_backend(net), net)

    names(net.ask("10.77.0.2", net.PORT) + net.ask("fd77::2", net.PORT, udp=True))
    for (protocol, _), address in addresses.items():
        (answer,) = net.ask(address, net.PORT, udp=protocol == "UDP", timeout=0.5)
        assert answer.get("error") == "timed out", answer
        assert net.ping(address)


def test_an_announced_address_is_served_by_whoever_listens_here(net, make_backend, host_service):
    backend = make_backend(net, host={"name": "lb1", "driver": "announce"})

    backend.put("open", inline(net, port=net.PORT))
    backend.put("open6", inline(net, port=net.PORT, family=6, protocol="UDP"))
    backend.put("shut", inline(net, port=81))

    here, six, shut = (backend.ready(name)["status"]["addresses"][0]
                       for name in ("open", "open6", "shut"))
    assert net.bound() == {here, six, shut}
    assert set(names(net.ask(here, net.PORT, count=3))) == {"itself"}
    assert set(names(net.ask(six, net.PORT, udp=True, count=3))) == {"itself"}
    (answer,) = net.ask(shut, net.PORT, timeout=0.5)
    assert answer.get("error") == "timed out", answer
    assert net.ping(shut) and net.ping(six)
    # It is guarded, and nothing is sent anywhere.
    rules = Rules(net)
    assert rules.guarded() == {here, six, shut}
    assert rules.served() == {(here, "TCP", net.PORT), (six, "UDP", net.PORT), (shut, "TCP", 81)}
    assert not rules.listeners() and not rules.slots(here, "TCP", net.PORT)

    for name in ("open", "open6", "shut"):
        backend.remove(name)
    assert not net.bound() and not Rules(net).guarded()


def test_an_announcer_says_while_its_host_has_no_target_of_its_own(net, make_backend, host_service):
    backend = make_backend(net, host={"name": "lb1", "driver": "announce"})
    spec = inline(net, check=HTTP_CHECK, port=net.PORT)
    spec["targetGroups"][0]["targets"].append({"address": "10.88.0.1", "port": net.PORT})
    backend.serve("web", spec)
    backend.until_condition("web", "NoLocalTarget", "False", "LocalTarget")

    host_service.process.end()
    backend.until_condition("web", "NoLocalTarget", "True", "NoLocalTarget")
    said = condition(backend.get("web"), "NoLocalTarget")["message"]
    assert f"10.88.0.1:{net.PORT}/healthz" in said and "externalTrafficPolicy Local" in said
    assert condition(backend.get("web"), "Ready")["status"] == "True"
    # Nobody else is asked.
    health = backend.get("web")["status"]["targetHealth"]
    assert {t["health"] for t in health if t["address"] != "10.88.0.1"} == {"unchecked"}


@pytest.mark.parametrize("driver", DRIVERS)
def test_what_was_there_before_is_still_there_afterwards(net, make_backend, driver):
    before = net.host.run("ip", "-o", "address"), net.host.run("ip", "route")
    backend = make_backend(net, host={"name": "lb1", "driver": driver})

    backend.serve("web", inline(net))
    backend.remove("web")

    assert (net.host.run("ip", "-o", "address"), net.host.run("ip", "route")) == before
